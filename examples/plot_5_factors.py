"""
How many factors, and what loads on them?
=========================================

Twelve simulated models of two families say whether they can answer 1,500 questions. Two factors
that correlate .5 are behind it: what the models of a family share, and no other structure.
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
# Counting
# --------
#
# Eight rules count, each beside the others. The eigenvalues behind parallel analysis stand beside
# those of tables whose answers were shuffled: within each model, which keeps its yes-rate and
# nothing else; and within each question, which keeps how many models said yes.

found = psy.retention(answers, n_null=100, rng=1)
print(found)
plot_scree(found.parallel)
plt.show()

# %%

plot_retention(found)
plt.show()

# %%
# Shuffled within models, the second eigenvalue stands above the bar: two factors.
# One rule looks for variables that load on a single factor, and counts too few; none of them is a
# test.
#
# Loadings, with their errors
# ---------------------------
#
# Errors come from the covariance matrix of the correlations, thresholds included.

correlation = psy.polychoric(answers)
covariance = correlation.covariance()
solution = psy.factor_analysis(correlation, 2, covariance=covariance)
errors = loading_errors(solution, covariance=covariance)
print(solution.summary())
plot_loadings(solution, errors=errors)
plt.show()

# %%
# What was simulated
# ------------------
#
# The two factors correlate, and most intervals hold the loading that was simulated.

turned = solution.permuted(list(np.abs(solution.loadings).argmax(axis=0).argsort()))
ends = loading_errors(turned, covariance=covariance).interval
inside = (ends[..., 0] < loadings) & (loadings < ends[..., 1])
print(f"correlation of the factors: {turned.factor_correlation[0, 1]:.2f}")
print(f"loadings within their interval: {inside.mean():.0%}")

# %%
# The same as a hypothesis
# ------------------------
#
# With the families given in advance, each model loads on its own factor alone, and the test says
# whether that is enough.

model = confirmatory_factors(correlation, {"alder": names[:6], "birch": names[6:]})
print(model.summary())
