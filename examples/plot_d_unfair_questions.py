"""
Is a question harder for one family?
====================================

Two simulated families of models differ in ability, and two of twenty questions are harder for one
of them at equal ability. Plain shares cannot tell the two apart.
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
# Shares mislead
# --------------
#
# The second family is abler, so that it does better nearly everywhere; the two unfair questions
# are those where it hardly does.

gain = answers[family == "second"].mean(axis=0) - answers[family == "first"].mean(axis=0)
colours = np.where(unfair > 0, "C3", "C0")
plt.bar(np.arange(20), gain, color=colours)
plt.gca().set(xlabel="question", ylabel="second family minus first", xticks=range(20))
plt.show()

# %%
# At equal ability
# ----------------
#
# Each question is compared between the families at equal ability, on a scale set by those that
# turn out to be fair.

found = psy.irt.differential_items(answers, family)
print(found)
