"""
What an evaluation shows, on one page
=====================================

Eight simulated models of three families answer 300 questions of three domains. The card gives each
its accuracy on these questions and on questions like these, and says where the answers vary.
"""

# %%
# A table of right and wrong answers
# ----------------------------------

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
# Thick lines are for these questions, thin ones for others like them: only the latter tell how a
# ranking would come out elsewhere.

card = psy.evaluation_card(table, domains=domains, families=families, rng=1)
card.plot()
plt.show()

# %%
# Where the answers vary
# ----------------------
#
# Shares of the variance of one answer, by a crossed logistic mixed model, and the share of the
# differences between models that other questions would show again.

print(card.mixed.summary())

# %%
# What the table cannot show
# --------------------------

for gap in card.gaps:
    print("*", gap)
