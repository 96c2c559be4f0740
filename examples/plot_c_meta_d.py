"""
Skill, and insight into it
==========================

Three simulated models answer yes-or-no questions equally well. One knows when it is right, one
half as well, and one hardly.
"""

# %%
# Three models of one skill
# -------------------------
#
# d' is how well a model tells the two kinds of questions apart; meta-d' is the d' that its
# confidence would fit to. Their ratio is 1 if nothing is lost between answer and confidence.

import matplotlib.pyplot as plt

import psychollm as psy
from psychollm.plots import plot_forest, plot_type2_roc

made = psy.data.simulate_meta_d(
    d_prime=[1.5, 1.5, 1.5], m_ratio=[1.0, 0.5, 0.1], n_questions=2000, rng=1
)
print(made.correct.mean(axis=1).round(2), "right")

# %%
# The same skill, another insight
# -------------------------------

found = psy.calibration.meta_d(made.stimulus, made.response, made.rating, bootstrap=200, rng=1)
plot_forest([found.d_prime, found.meta_d], names=["d': the answers", "meta-d': the confidence"])
plt.show()

# %%
# The ratio, and whether it differs
# ---------------------------------

print(found.m_ratio)
print(found.m_ratio.difference(0, 1))

# %%
# The curve that says the same without a model: how many right and wrong answers pass each rating.

plot_type2_roc(psy.calibration.type2_roc(made.rating, made.correct))
plt.show()
