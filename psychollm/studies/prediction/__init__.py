"""Predictions of answers that nobody has, with what held-out answers say of them."""
