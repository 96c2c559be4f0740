"""
The confidence of a small model
===============================

These are real answers. Before each of 480 questions, SmolLM2-135M was asked whether it would
answer correctly. Its probability of "yes" is its confidence, under three system prompts.
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
# Does confidence discriminate right from wrong answers?
# ------------------------------------------------------
#
# An AUROC of one half means no discrimination. The AUROCs of these respondents are slightly
# higher.

print(psy.calibration.auroc(confidence, correctness, bootstrap=500, rng=1))

# %%
# Is confidence calibrated?
# -------------------------
#
# All three respondents are overconfident. Recalibration can correct calibration, but not
# discrimination.

print(psy.calibration.overconfidence(confidence, correctness, bootstrap=500, rng=1))
panel = psy.calibration_panel(
    confidence, correctness, metrics=["smooth_ece"], bootstrap=200, rng=1
)
curves = panel.curves(n_draws=300)
plot_reliability_grid(curves.reliability, error=curves.error, columns=3)
plt.show()

# %%
# Differences between domains
# ---------------------------
#
# Domains differ more than prompts do. The model predicts that it can answer opposites, most of
# which it solves, and French words, most of which it misses.

domains = pd.Series(confidence.columns).str.rsplit("-", n=1).str[0].to_numpy()
table = pd.DataFrame(
    {
        "says yes": (stated.loc["plain"] > 0.5).groupby(domains).mean(),
        "is right": correctness.loc["plain"].groupby(domains).mean(),
    }
)
print(table.round(2).sort_values("is right"))
