"""
The same model asked twice
==========================

These are real answers. Two of the 22 respondents are the same model, without a system prompt, at
temperature 1. All differences between them are due to chance.
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
# Agreement of the two runs
# -------------------------
#
# Use coefficients of agreement beyond chance, because even two tossed coins agree half of the
# time.

print(psy.reliability.agreement([said.loc[[run]].rename({run: "SmolLM2"}) for run in runs]))

# %%
# Chance variation of accuracy
# ----------------------------
#
# As expected, the two accuracies differ by less than the width of their intervals.

accuracy = psy.reliability.mean_score(right)
print(psy.reliability.score_differences(right, pairs=[tuple(runs)]))
plot_forest([accuracy], names=["proportion of right answers"])
plt.show()
