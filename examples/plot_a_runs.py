"""
The same model asked twice
==========================

Real answers: two of the 22 respondents are the same model, without a system prompt, at temperature
1. Whatever differs between them is chance.
"""

# %%
# Two runs of one model
# ---------------------

import matplotlib.pyplot as plt

import psychollm as psy
from psychollm.plots import plot_forest

example = psy.load_example("smollm2")
said = example.confidence.to_frame()
right = example.correctness.to_frame()
runs = ["plain, hot", "plain, hot again"]

# %%
# How often it says the same
# --------------------------
#
# Agreement beyond chance is the number to look at: two coins agree half of the time.

print(psy.reliability.agreement([said.loc[[run]].rename({run: "SmolLM2"}) for run in runs]))

# %%
# What chance does to an accuracy
# -------------------------------
#
# The two differ by less than their intervals are wide, as they should.

accuracy = psy.reliability.mean_score(right)
print(psy.reliability.score_differences(right, pairs=[tuple(runs)]))
plot_forest([accuracy], names=["share of right answers"])
plt.show()
