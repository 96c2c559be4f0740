"""
The study of shared confidence
==============================

From two tables to a verdict: does the confidence of models tell one thing, shared by all, or does
each know something of its own? The tables here are simulated, so the right answers are known.
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
# Confidence as a classifier over attitudes to risk, with the baselines that any always-yes model
# reaches; confidence against accuracy between models; loadings against thresholds, with the
# spectrum and its nulls inset; and each model's own answer against the shared score.

study.plot()
plt.show()

# %%
# Does a model know more about itself than the others tell?
# ----------------------------------------------------------
#
# The score of a question on the shared factor is computed from all models but one, and set against
# that model's own answer.

study.plot(figure="individuation")
plt.show()

# %%
# Two of the simulated models were given a private signal. The study, which does not know, finds
# them.

knowing = zip(example.truth.models, example.truth.self_knowledge, strict=True)
print({model: float(weight) for model, weight in knowing if weight})
print(study.private_signal.to_frame().round(3).to_string(index=False))

# %%
# ``study.report("report.html")`` writes all of this, and the rest, as one page that needs no
# network.
