"""What can be read off a model's hidden states, beside what can be seen without them."""
