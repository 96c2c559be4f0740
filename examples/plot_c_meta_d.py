"""
Accuracy and metacognitive sensitivity
======================================

Three simulated models answer yes/no questions equally well. Their M-ratios are 1, .5 and .1.
"""

# %%
# Three models of equal accuracy
# ------------------------------
#
# d' measures how well a model discriminates the two kinds of questions. meta-d' is the d' that
# would explain how well its confidence discriminates right from wrong answers. The ratio meta-d' /
# d' is 1 if confidence uses all information that the answer is based on.

import matplotlib.pyplot as plt

import psychollm as psy
from psychollm.plots import plot_forest, plot_type2_roc

made = psy.data.simulate_meta_d(
    d_prime=[1.5, 1.5, 1.5], m_ratio=[1.0, 0.5, 0.1], n_questions=2000, rng=1
)
print(made.correct.mean(axis=1).round(2), "right")

# %%
# Equal d', different meta-d'
# ---------------------------

found = psy.calibration.meta_d(made.stimulus, made.response, made.rating, bootstrap=200, rng=1)
plot_forest([found.d_prime, found.meta_d], names=["d': the answers", "meta-d': the confidence"])
plt.show()

# %%
# The ratio, and its differences
# ------------------------------

print(found.m_ratio)
print(found.m_ratio.difference(0, 1))

# %%
# The type-2 ROC curve does not assume a model. It shows the proportions of right and wrong answers
# with a rating at or above each value.

plot_type2_roc(psy.calibration.type2_roc(made.rating, made.correct))
plt.show()
