"""
The study of shared confidence
==============================

Does the confidence of models follow one common factor, or does each model also predict its own
correctness? The two tables are simulated, so the true answer is known.
"""

# %%
# Two tables, one call
# --------------------

import matplotlib.pyplot as plt

import psychollm as psy
from psychollm.estimates.resampling import Bootstrap

example = psy.load_example("shared_confidence")
study = psy.shared_confidence(
    example.confidence, example.correctness, n_null=199, bootstrap=Bootstrap(500, n_jobs=2), rng=1
)
print(study.summary())

# %%
# Four figures
# ------------
#
# The first figure shows confidence as a classifier of correctness for different costs of errors,
# with a baseline that always answers yes. The second shows confidence against accuracy of the
# models. The third shows loadings against thresholds, with the eigenvalues and their null
# distributions inset. The fourth compares each model's own answer with the factor score.

study.plot()
plt.show()

# %%
# Does confidence predict correctness beyond the common factor?
# -------------------------------------------------------------
#
# The factor score of a question is computed from all models except one, and compared with the
# answer of that model.

study.plot(figure="individuation")
plt.show()

# %%
# Two of the simulated models have self-knowledge. The study detects both.

knowing = zip(example.truth.models, example.truth.self_knowledge, strict=True)
print({model: float(weight) for model, weight in knowing if weight})
print(study.private_signal.to_frame().round(3).to_string(index=False))

# %%
# ``study.report("report.html")`` writes all results as one page that needs no network.
