"""
An evaluation on one page
=========================

Eight simulated models from three families answer 300 questions in three domains. The card gives
the accuracy of each model on these questions and in the question population, and the sources of
variance.
"""

# %%
# A table of binary scores
# ------------------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import psychollm as psy

rng = np.random.default_rng(4)
families = ["north", "north", "north", "south", "south", "south", "west", "west"]
domains = np.repeat(["code", "law", "maths"], 100)
level = np.array([1.4, 1.1, 1.0, 0.5, 0.3, 0.2, -0.2, -0.9])
ease = rng.normal(0, 1.2, 300) + np.repeat([0.5, 0.0, -0.5], 100)
right = rng.random((8, 300)) < 1 / (1 + np.exp(-(level[:, None] + ease)))
table = pd.DataFrame(right.astype(int), index=[f"model {name}" for name in "abcdefgh"])

# %%
# Two accuracies, ranks and tiers
# -------------------------------
#
# Thick lines refer to these questions, thin lines to the question population. Only thin lines show
# whether a ranking generalises.

card = psy.evaluation_card(table, domains=domains, families=families, rng=1)
card.plot()
plt.show()

# %%
# Variance components
# -------------------
#
# The crossed logistic mixed model decomposes the variance of one answer. The reliability is the
# proportion of the variance between mean scores that would replicate with other questions.

print(card.mixed.summary())

# %%
# Limits of the data
# ------------------

for gap in card.gaps:
    print("*", gap)
