"""
A second factor that is not there
=================================

Nineteen simulated models share one signal and nothing else. Their yes-rates run from 1 to 99 %.
The plain spectrum of their tetrachoric correlations shows a second factor nevertheless.
"""

# %%
# One factor, by construction
# ---------------------------
#
# Loadings lie between .75 and .97 and have nothing to do with the thresholds.

import matplotlib.pyplot as plt
import numpy as np

import psychollm as psy

rng = np.random.default_rng(7)
truth = psy.simulate_factor(
    loadings=rng.uniform(0.75, 0.97, 19),
    thresholds=np.linspace(-2.33, 2.33, 19),
    n_questions=1000,
    rng=rng,
)
responses = truth.responses

# %%
# What each rule for empty cells makes of it
# ------------------------------------------
#
# Half of all pairs of models have an empty cell. Something must be put there, or the
# correlation is 1 or -1, and each choice gives another spectrum.

correlation = psy.tetrachoric(responses, empty_cells="add_half")
print(correlation.sensitivity())

# %%
# With half a question in each empty cell, as R's psych package does by default, the second
# component takes a share that would be published. Its loadings follow the thresholds, and so does
# the fall-off of the first: a parabola fits it closely.

spectrum = psy.spectrum(correlation)
order = np.argsort(truth.thresholds)
tau = correlation.thresholds[order]

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
first = spectrum.loadings[order, 0]
grid = np.linspace(tau.min(), tau.max(), 200)
left.plot(grid, np.polyval(np.polyfit(tau, first, 2), grid), color="0.6", label="parabola")
left.plot(tau, first, "o", label="first component")
left.plot(tau, truth.loadings[order], "x", color="black", label="truth")
left.set(xlabel="threshold", ylabel="loading", title="Loadings seem to fall off")
left.legend()
right.axhline(0, color="0.8")
right.plot(tau, spectrum.loadings[order, 1], "s", color="C1")
right.set(xlabel="threshold", ylabel="loading", title="A second component")
plt.show()

# %%
# What the verdict says
# ---------------------
#
# `dimensionality` does not decide by this spectrum. It fits one factor to the pair tables, where
# an empty cell needs no rule, and asks whether anything is left.

verdict = psy.dimensionality(responses, empty_cells="add_half", n_null=199, rng=1, n_jobs=2)
print(verdict.summary())

# %%
# The loadings of that fit are close to the truth, at every threshold.

fig, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
ax.errorbar(
    tau,
    verdict.pairwise.loadings[order],
    yerr=1.96 * verdict.pairwise.se[order],
    fmt="o",
    label="precision-weighted fit, 95 % interval",
)
ax.plot(tau, truth.loadings[order], "x", color="black", label="truth")
ax.set(xlabel="threshold", ylabel="loading", ylim=(0, 1.05))
ax.legend(loc="lower center")
plt.show()
