"""
A spurious second factor
========================

Nineteen simulated models have one common factor and no second one. Their yes rates range from 1 to
99 %. The plain spectrum of their tetrachoric correlations nevertheless shows a second factor.
"""

# %%
# One factor, by construction
# ---------------------------
#
# Loadings are between .75 and .97 and independent of the thresholds.

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
# Effect of the continuity correction
# -----------------------------------
#
# Half of all pairs of models have an empty cell. Without a continuity correction, the correlation
# of such a pair is 1 or -1, and each correction gives a different spectrum.

correlation = psy.tetrachoric(responses, empty_cells="add_half")
print(correlation.sensitivity())

# %%
# By default, R's psych package adds half a question to each empty cell. The second component then
# explains a proportion of variance that many studies would report as a second factor. Its loadings
# follow the thresholds, and loadings on the first component seem to fall off along a parabola.

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
# The verdict
# -----------
#
# `dimensionality` does not use this spectrum for its decision. It fits one factor to the pair
# tables, where an empty cell needs no correction, and tests the residuals.

verdict = psy.dimensionality(responses, empty_cells="add_half", n_null=199, rng=1, n_jobs=2)
print(verdict.summary())

# %%
# The loadings of that fit are close to the true loadings at every threshold.

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
