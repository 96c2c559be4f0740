"""
Is a question harder for one family?
====================================

Two simulated families of models differ in ability, and two of twenty questions are harder for one
family at equal ability. Proportions of right answers cannot separate the two effects.
"""

# %%
# Two families
# ------------

import matplotlib.pyplot as plt
import numpy as np

import psychollm as psy

rng = np.random.default_rng(1)
family = np.repeat(["first", "second"], 400)
ability = rng.normal(np.where(family == "first", 0.0, 0.7))
difficulty = np.linspace(-1.5, 1.5, 20)
unfair = np.zeros(20)
unfair[[4, 11]] = 1.2  # harder for the second family
harder = np.where(family[:, None] == "second", unfair, 0.0)
chance = 1 / (1 + np.exp(-1.3 * (ability[:, None] - difficulty - harder)))
answers = (rng.uniform(size=chance.shape) < chance).astype(int)

# %%
# Proportions of right answers mislead
# ------------------------------------
#
# The second family is more able, so it does better on nearly all questions. On the two unfair
# questions its advantage is small.

gain = answers[family == "second"].mean(axis=0) - answers[family == "first"].mean(axis=0)
colours = np.where(unfair > 0, "C3", "C0")
plt.bar(np.arange(20), gain, color=colours)
plt.gca().set(xlabel="question", ylabel="second family minus first", xticks=range(20))
plt.show()

# %%
# Comparison at equal ability
# ---------------------------
#
# For each question, the families are compared at equal ability. The unflagged questions define the
# ability scale.

found = psy.irt.differential_items(answers, family)
print(found)
