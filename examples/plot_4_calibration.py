"""
Can what models state be believed?
==================================

Six simulated models answer 800 questions and state how sure they are, in steps of five percent.
What is wrong with each of them is known, so that it can be looked for in the numbers.
"""

# %%
# Six models
# ----------
#
# Each model has a chance of being correct on each question. The first states it. The second adds
# to it, the third exaggerates, the fourth always says much the same, the fifth states a mixture
# of its chance and noise, and the sixth has its confidence upside down.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import psychollm as psy
from psychollm.estimates.comparisons import compare_all
from psychollm.plots import (
    plot_comparisons,
    plot_forest,
    plot_reliability_grid,
    plot_risk_coverage,
    plot_type2_roc,
)

rng = np.random.default_rng(3)
log_odds = rng.normal(0.9, 1.4, 800) + rng.normal(0.0, 0.6, (6, 800))


def chance(odds):
    return 1.0 / (1.0 + np.exp(-odds))


noise = rng.normal(0.0, 1.8, 800)
stated = {
    "calibrated": chance(log_odds[0]),
    "bold": chance(log_odds[1] + 1.2),
    "extreme": chance(2.5 * log_odds[2]),
    "monotonous": chance(0.15 * log_odds[3] + 1.6),
    "distracted": chance(0.4 * log_odds[4] + noise + 0.5),
    "inverted": chance(0.9 - log_odds[5]),
}
correct = rng.uniform(size=log_odds.shape) < chance(log_odds)
confidence = pd.DataFrame(stated).T.mul(20).round().div(20)
correctness = pd.DataFrame(correct.astype(int), index=confidence.index)

# %%
# All metrics at once
# -------------------
#
# Every metric is computed on the same resamples of questions, so that any two models can be
# compared on any of them.

panel = psy.calibration_panel(confidence, correctness, bootstrap=500, rng=1)
print(panel.summary())

# %%
# Reliability diagrams
# --------------------
#
# The line is the recalibrated curve; the grey band is where it would run, by chance alone, if the
# model were calibrated. Only the first model stays inside. Beside every calibration error stands
# what a calibrated model would show: an error above zero says nothing by itself.

curves = panel.curves(n_draws=500)
plot_reliability_grid(curves.reliability, error=curves.error, columns=3)
plt.show()

# %%
# Calibration is one thing, knowledge another
# -------------------------------------------
#
# The bold and the extreme model rank their answers about as well as the calibrated one:
# recalibrated, they would be as good. The monotonous model has lost some of it, for it says only
# a few different things. What the distracted model has lost cannot be brought back, and the
# inverted one knows much and says the contrary.

plot_type2_roc(curves.roc)
plt.show()

# %%
# Answering only where confident
# ------------------------------
#
# The same shows in what is gained by leaving questions out: a level curve gains nothing.

plot_risk_coverage(curves.risk_coverage)
plt.show()

# %%
# Any metric over models
# ----------------------
#
# Discrimination (DSC) is what a model knows, miscalibration (MCB) what it loses by the way it
# states it.

plot_forest(
    [panel["corp_dsc"], panel["corp_mcb"]],
    names=["discrimination", "miscalibration"],
    reference=0.0,
    x="part of the Brier score",
)
plt.show()

# %%
# Which models differ
# -------------------
#
# Paired differences on the same questions, adjusted for the number of pairs; a dot where two
# models differ.

compared = compare_all(panel["brier"], adjustment="max_t")
plot_comparisons(compared)
plt.show()

# %%
# ``panel.report("report.html")`` writes all of this, and the rest, as one page that needs no
# network; ``psychollm calibrate`` does the same from files.
