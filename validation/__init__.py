"""Simulations and comparisons behind the figures of the documentation, and programs by peers.

``python -m validation.index`` lists them: what each shows, where its tables stand, and how long
it takes.
"""
