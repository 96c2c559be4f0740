"""
Which questions are hard, dead or broken
========================================

Real answers: 22 system prompts of one small model on 480 questions. Which of the questions tell
the respondents apart at all?
"""

# %%
# Shares first
# ------------
#
# A question that everybody gets right, or nobody, says nothing about who is better.

import matplotlib.pyplot as plt

import psychollm as psy

example = psy.load_example("smollm2")
correct = example.correctness
share = correct.to_frame().mean()
print(f"{(share == 0).sum()} questions nobody got right, {(share == 1).sum()} everybody did")

# %%
# A model of one ability
# ----------------------
#
# The Rasch model puts questions and respondents on one scale. With 22 respondents a slope of its
# own for each question would be more than the data can say.

living = correct.to_frame().loc[:, (share > 0) & (share < 1)]
fit = psy.fit_irt(living, model="rasch")
abilities = psy.ability(fit, living)
psy.plots.plot_wright_map(fit, abilities)
plt.show()

# %%
# Broken, or only hard?
# ---------------------
#
# The screen names questions that are answered against the trend: better respondents get them wrong
# more often. With so few respondents it should name few.

print(psy.irt.item_screen(fit, living).to_frame().head(8).to_string(index=False))

# %%
# Where the test measures
# -----------------------
#
# Questions tell most about respondents whose chance is one half. These are too hard for most.

psy.plots.plot_test_information(fit)
plt.show()
