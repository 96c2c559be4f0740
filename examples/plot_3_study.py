"""
The study of shared confidence
==============================

Does the confidence of models follow one common factor, or does each model also predict its own
correctness? The two tables are simulated, so the truth is known.
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
# The figures show confidence as a classifier over attitudes to risk, with baselines that always
# answer yes; confidence against accuracy between models; loadings against thresholds, with the
# spectrum and its nulls inset; and each model's own answer against the factor score.

study.plot()
plt.show()

# %%
# Does confidence predict correctness beyond the common factor?
# -------------------------------------------------------------
#
# The factor score of a question is computed from all models but one, and compared with that
# model's own answer.

study.plot(figure="individuation")
plt.show()

# %%
# Two of the simulated models have self-knowledge. The study detects both.

knowing = zip(example.truth.models, example.truth.self_knowledge, strict=True)
print({model: float(weight) for model, weight in knowing if weight})
print(study.private_signal.to_frame().round(3).to_string(index=False))

# %%
# ``study.report("report.html")`` writes all results as one page that needs no network.
