"""
Is stated confidence reliable?
==============================

Six simulated models answer 800 questions and state a confidence in steps of five per cent. Five of
them have a known defect, which the metrics should detect.
"""

# %%
# Six models
# ----------
#
# Each model has a probability of being correct on each question. The first model states this
# probability. The second states a higher value, the third a more extreme one, and the fourth
# nearly always the same value. The fifth model states a mixture of its probability and noise, and
# the sixth inverts its confidence.

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
# All metrics on the same resamples
# ---------------------------------
#
# Every metric uses the same resamples of questions, so that any two models can be compared on any
# metric.

panel = psy.calibration_panel(confidence, correctness, bootstrap=500, rng=1)
print(panel.summary())

# %%
# Reliability diagrams
# --------------------
#
# The line is the recalibrated curve; the grey band is its range for a calibrated model. Only the
# curve of the first model is within the band. Each calibration error is shown with its expected
# value for a calibrated model, because an error above zero alone is not informative.

curves = panel.curves(n_draws=500)
plot_reliability_grid(curves.reliability, error=curves.error, columns=3)
plt.show()

# %%
# Calibration and discrimination
# ------------------------------
#
# The bold and the extreme model rank their answers about as well as the calibrated one, and
# recalibration would make them as good as the calibrated model. The monotonous model has lost some
# discrimination, because it states few distinct values. The loss of the distracted model cannot be
# corrected. The inverted model is informative, but in the wrong direction.

plot_type2_roc(curves.roc)
plt.show()

# %%
# Answering only where confident
# ------------------------------
#
# The risk-coverage curve shows the gain from omitting questions: a level curve means no gain.

plot_risk_coverage(curves.risk_coverage)
plt.show()

# %%
# Any metric over models
# ----------------------
#
# Discrimination (DSC) measures how well confidence separates right from wrong answers,
# miscalibration (MCB) the loss from inaccurate statements.

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
# Differences are paired on the same questions and adjusted for the number of pairs. A dot marks a
# significant difference.

compared = compare_all(panel["brier"], adjustment="max_t")
plot_comparisons(compared)
plt.show()

# %%
# ``panel.report("report.html")`` writes all results as one page that needs no network; ``psychollm
# calibrate`` does the same from files.
