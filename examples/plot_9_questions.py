"""
Which questions are hard, useless or faulty?
============================================

These are real answers of one small model under 22 system prompts to 480 questions. Which questions
distinguish the respondents?
"""

# %%
# Proportions of right answers
# ----------------------------
#
# A question that all respondents solve, or all miss, carries no information about differences.

import matplotlib.pyplot as plt

import psychollm as psy

example = psy.load_example("smollm2")
correct = example.correctness
share = correct.to_frame().mean()
print(f"{(share == 0).sum()} questions nobody got right, {(share == 1).sum()} everybody did")

# %%
# A Rasch model
# -------------
#
# The Rasch model puts questions and respondents on one scale. With 22 respondents the data do not
# determine a slope for each question.

living = correct.to_frame().loc[:, (share > 0) & (share < 1)]
fit = psy.fit_irt(living, model="rasch")
abilities = psy.ability(fit, living)
psy.plots.plot_wright_map(fit, abilities)
plt.show()

# %%
# Miskeyed or only hard?
# ----------------------
#
# The screen flags questions that better respondents miss more often. With so few respondents it
# has little power and should flag few questions.

print(psy.irt.item_screen(fit, living).to_frame().head(8).to_string(index=False))

# %%
# Test information
# ----------------
#
# A question is most informative about respondents who solve it with a probability of one half.
# These questions are too hard for most respondents.

psy.plots.plot_test_information(fit)
plt.show()
