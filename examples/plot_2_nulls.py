"""
Two nulls, two questions
========================

Do the models share anything? Is there a second factor? Each question needs its own null model.
"""

# %%
# Nineteen simulated models have one factor and yes rates from 1 to 99 %.

import matplotlib.pyplot as plt
import numpy as np

import psychollm as psy

responses = psy.simulate_factor(
    loadings=np.full(19, 0.85), thresholds=np.linspace(-2.33, 2.33, 19), n_questions=1000, rng=3
).responses
shuffled = psy.permutation_null(responses, scheme="within_model", n_null=500, rng=1, n_jobs=2)
one_factor = psy.one_factor_null(responses, n_null=500, rng=1, n_jobs=2)

# %%
# Shuffling each model's answers preserves its yes rate and destroys all dependence between models.
# The first eigenvalue is far above this null distribution, so the models have a common factor. The
# second eigenvalue also seems to be above it.

print(shuffled)

# %%
# However, shuffling has also destroyed the first factor, and with it the empty cells that bias the
# second eigenvalue. Compared with simulated tables that have exactly one factor and the same
# thresholds, the second eigenvalue is not significant.

print(one_factor)

# %%

fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
for which, ax in enumerate(axes):
    draws = [null.draws[:, which] for null in (shuffled, one_factor)]
    bins = np.histogram_bin_edges(np.concatenate(draws), 60)
    for values, label in zip(draws, ("shuffled within models", "one factor"), strict=True):
        ax.hist(values, bins=bins, alpha=0.7, label=label)
    ax.axvline(shuffled.observed[which], color="black", label="observed")
    ax.set(title=f"eigenvalue {which + 1}", xlabel="value", yticks=[])
axes[1].legend()
plt.show()
