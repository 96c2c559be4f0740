"""Which keys are wrong, and which questions are at fault otherwise."""
