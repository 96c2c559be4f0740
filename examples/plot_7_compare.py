"""
Which respondent is better, and who cannot be told apart
========================================================

Real answers: one small model, SmolLM2-135M, under 22 system prompts, on 480 questions. Twenty-two
scores make 231 pairs, and some of them differ by luck alone.
"""

# %%
# Scores, ranks and tiers
# -----------------------
#
# Each score has its interval, and each rank has bounds that hold for all of them at once.

import matplotlib.pyplot as plt

import psychollm as psy

example = psy.load_example("smollm2")
found = psy.compare(example.correctness, rng=1)
print(found)

# %%
# The picture: scores with their intervals, and the ranks that are possible.

found.plot()
plt.show()

# %%
# What the questions could show
# -----------------------------
#
# Pairs without a significant difference are of two kinds: equivalent, and inconclusive, with too
# few questions to say. For the second kind the last column says how many questions it would take.

shown = ["first", "second", "value", "lower", "upper", "adjusted", "needed"]
print(found.pairs()[shown].head(8).round(3).to_string(index=False))

# %%
# Questions that go together
# --------------------------
#
# The questions come from eight domains. If a comparison is to speak for other questions of these
# domains, questions count one by one; if it is to speak for other domains, there are but eight.

domains = [question.rsplit("-", 1)[0] for question in example.correctness.questions]
print(psy.compare(example.correctness, clusters=domains, rng=1))
