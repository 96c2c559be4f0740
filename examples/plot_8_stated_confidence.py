"""
What a small model's confidence is worth
========================================

Real answers: before each of 480 questions, SmolLM2-135M was asked whether it would answer it
correctly. The probability that it gave to "yes" is its confidence, under three system prompts.
"""

# %%
# Two tables
# ----------

import matplotlib.pyplot as plt
import pandas as pd

import psychollm as psy
from psychollm.plots import plot_reliability_grid

example = psy.load_example("smollm2")
chosen = ["plain", "modest", "bold"]
stated = pd.DataFrame(
    example.stated, index=example.confidence.models, columns=example.confidence.questions
)
confidence = stated.loc[chosen]
correctness = example.correctness.to_frame().loc[chosen]

# %%
# Does it tell right from wrong?
# ------------------------------
#
# An AUROC of one half says nothing. These are above it, and not by much.

print(psy.calibration.auroc(confidence, correctness, bootstrap=500, rng=1))

# %%
# Does it mean what it says?
# --------------------------
#
# All three say more than they are right. Discrimination and calibration are two things: the first
# cannot be mended afterwards, the second can.

print(psy.calibration.overconfidence(confidence, correctness, bootstrap=500, rng=1))
panel = psy.calibration_panel(
    confidence, correctness, metrics=["smooth_ece"], bootstrap=200, rng=1
)
curves = panel.curves(n_draws=300)
plot_reliability_grid(curves.reliability, error=curves.error, columns=3)
plt.show()

# %%
# Is that the model, or the questions?
# ------------------------------------
#
# The domains differ more than the prompts do: it says yes to opposites, most of which it knows,
# and to French words, most of which it does not.

domains = pd.Series(confidence.columns).str.rsplit("-", n=1).str[0].to_numpy()
table = pd.DataFrame(
    {
        "says yes": (stated.loc["plain"] > 0.5).groupby(domains).mean(),
        "is right": correctness.loc["plain"].groupby(domains).mean(),
    }
)
print(table.round(2).sort_values("is right"))
