"""
How many questions are needed?
==============================

The pilot study has real answers to 480 questions. Required sample sizes are computed from the
variance of the difference between two respondents.
"""

# %%
# A pilot
# -------

import matplotlib.pyplot as plt
import numpy as np

import psychollm as psy

example = psy.load_example("smollm2")
pilot = psy.reliability.pilot_variance(example.correctness, "French", "plain")
print(pilot)

# %%
# Questions needed to detect three points with 80 % power
# -------------------------------------------------------

print(psy.reliability.questions_needed(0.03, pilot, target=0.8))

# %%
# Power by number of questions
# ----------------------------
#
# Pairing removes the variance of question difficulty. With separate questions for each respondent,
# more questions would be needed.

numbers = np.unique(np.geomspace(50, 20_000, 40).astype(int))
unpaired = psy.reliability.pilot_variance(
    example.correctness, "French", "plain", design="unpaired"
)
for variance, label in [(pilot, "the same questions"), (unpaired, "separate questions")]:
    power = [
        float(psy.reliability.comparison_power(0.03, int(n), variance).power) for n in numbers
    ]
    plt.semilogx(numbers, power, label=label)
plt.axhline(0.8, color="0.7", lw=1)
plt.gca().set(xlabel="questions", ylabel="power for three points", ylim=(0, 1))
plt.legend()
plt.show()
