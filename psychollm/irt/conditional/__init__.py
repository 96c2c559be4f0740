"""The Rasch model by conditional maximum likelihood, without a distribution of abilities."""
