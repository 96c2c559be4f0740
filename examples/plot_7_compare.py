"""
Which respondent is better?
===========================

These are real answers of one small model, SmolLM2-135M, under 22 system prompts, to 480 questions.
Twenty-two scores make 231 pairs, and some pairs differ by chance alone.
"""

# %%
# Scores, ranks and tiers
# -----------------------
#
# Each score has an interval, and the bounds of ranks are simultaneous.

import matplotlib.pyplot as plt

import psychollm as psy

example = psy.load_example("smollm2")
found = psy.compare(example.correctness, rng=1)
print(found)

# %%
# The figure shows scores with intervals, and the bounds of ranks.

found.plot()
plt.show()

# %%
# Power
# -----
#
# Pairs without a significant difference are either equivalent or inconclusive. For inconclusive
# pairs the last column gives the number of questions needed to detect the difference.

shown = ["first", "second", "value", "lower", "upper", "adjusted", "needed"]
print(found.pairs()[shown].head(8).round(3).to_string(index=False))

# %%
# Questions in clusters
# ---------------------
#
# The questions come from eight domains. To generalise to other questions of these domains, compute
# standard errors over questions. To generalise to other domains, compute them over the eight
# domains.

domains = [question.rsplit("-", 1)[0] for question in example.correctness.questions]
print(psy.compare(example.correctness, clusters=domains, rng=1))
