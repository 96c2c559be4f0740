"""
Item response theory of 24 questions
====================================

400 simulated respondents answer 24 questions. One question is miskeyed, and one is answered
correctly by all.
"""

# %%
# Answers
# -------

import matplotlib.pyplot as plt
import numpy as np

import psychollm as psy
from psychollm.irt import item_screen, short_form
from psychollm.plots import (
    plot_item_curves,
    plot_posterior_forest,
    plot_test_information,
    plot_wright_map,
)

rng = np.random.default_rng(11)
ability = rng.normal(size=(400, 1))
slopes = rng.lognormal(0.2, 0.4, 24)
difficulties = np.linspace(-2.0, 2.0, 24)
log_odds = slopes * (ability - difficulties)
log_odds[:, 17] *= -1.0  # the wrong answer is marked as correct
log_odds[:, 0] = 40.0  # everybody knows
correct = rng.uniform(size=log_odds.shape) < 1.0 / (1.0 + np.exp(-log_odds))
questions = [f"q{j + 1:02d}" for j in range(24)]
answers = psy.Responses(correct.astype(int), questions=questions)

# %%
# Faulty questions
# ----------------
#
# For the question that all respondents answer correctly, the screen gives a reason instead of an
# estimate. The miskeyed question has a negative slope, which does not occur in shuffled answers.

fit = psy.fit_irt(answers, priors=None)
print(fit.summary())
print(item_screen(fit, answers).summary())
print(fit.to_frame().iloc[[0, 1, 17]].round(2).to_string(index=False))

# %%
# Curves
# ------

plot_item_curves(fit, items=["q03", "q12", "q18", "q22"])
plt.show()

# %%

plot_test_information(fit)
plt.show()

# %%
# Respondents and questions on one scale
# --------------------------------------

scores = psy.ability(fit, answers, method="eap")
plot_wright_map(fit, scores)
plt.show()

# %%
# Eight questions for twenty-four
# -------------------------------
#
# In five-fold cross-validation, the questions are selected with four fifths of the respondents and
# evaluated on the other fifth.

usable = answers.to_frame().drop(columns=["q01", "q18"])
print(short_form(usable, 8, rng=1).summary())

# %%
# Precision
# ---------
#
# The figure shows posteriors of the slopes, with abilities integrated out. The prior allows
# negative slopes, so that the miskeyed question is visible.

priors = psy.irt.HierarchicalPriors(log_slope=None)
bayes = psy.bayesian_2pl(answers, priors=priors, n_draws=1000, rng=1)
plot_posterior_forest(bayes.slope, reference=0.0)
plt.show()
