"""Simulations and comparisons behind the figures of the documentation, and programs by peers.

``python -m validation.index`` lists what each script shows, which pages use it, and how long it
takes.
"""
