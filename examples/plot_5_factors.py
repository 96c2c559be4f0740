"""
The number of factors, and their loadings
=========================================

Twelve simulated models of two families state whether they can answer 1,500 questions. Each family
has one factor; the two factors correlate .5, and there is no other structure.
"""

# %%
# Twelve models, two factors
# --------------------------

import matplotlib.pyplot as plt
import numpy as np

import psychollm as psy
from psychollm.factor import confirmatory_factors, loading_errors
from psychollm.plots import plot_loadings, plot_retention, plot_scree

rng = np.random.default_rng(8)
names = [f"{family}-{size}b" for family in ("alder", "birch") for size in (1, 3, 7, 13, 34, 70)]
loadings = np.zeros((12, 2))
loadings[:6, 0] = loadings[6:, 1] = np.linspace(0.55, 0.85, 6)
shared = np.linalg.cholesky([[1.0, 0.5], [0.5, 1.0]]) @ rng.normal(size=(2, 1500))
own = np.sqrt(1 - (loadings**2).sum(axis=1))[:, None] * rng.normal(size=(12, 1500))
says_yes = loadings @ shared + own > rng.uniform(-1, 1, size=(12, 1))
answers = psy.Responses(says_yes.astype(int), models=names)

# %%
# Number of factors
# -----------------
#
# Eight rules are reported together. Parallel analysis compares eigenvalues with tables of shuffled
# answers. Shuffling within each model keeps only its yes rate; shuffling within each question
# keeps the number of models that answered yes.

found = psy.retention(answers, n_null=100, rng=1)
print(found)
plot_scree(found.parallel)
plt.show()

# %%

plot_retention(found)
plt.show()

# %%
# The second eigenvalue is larger than in tables shuffled within models, which indicates two
# factors. One rule counts variables that load on a single factor, and underestimates the number of
# factors. None of the rules is a test.
#
# Loadings and their errors
# -------------------------
#
# Standard errors are computed from the covariance matrix of the correlations and allow for the
# estimation of thresholds.

correlation = psy.polychoric(answers)
covariance = correlation.covariance()
solution = psy.factor_analysis(correlation, 2, covariance=covariance)
errors = loading_errors(solution, covariance=covariance)
print(solution.summary())
plot_loadings(solution, errors=errors)
plt.show()

# %%
# Comparison with the simulated values
# ------------------------------------
#
# The estimated factors correlate, and most intervals cover the simulated loading.

turned = solution.permuted(list(np.abs(solution.loadings).argmax(axis=0).argsort()))
ends = loading_errors(turned, covariance=covariance).interval
inside = (ends[..., 0] < loadings) & (loadings < ends[..., 1])
print(f"correlation of the factors: {turned.factor_correlation[0, 1]:.2f}")
print(f"loadings within their interval: {inside.mean():.0%}")

# %%
# A confirmatory model
# --------------------
#
# In this model the families are specified in advance, and each model loads only on the factor of
# its family. The chi-square test shows whether this model fits.

model = confirmatory_factors(correlation, {"alder": names[:6], "birch": names[6:]})
print(model.summary())
