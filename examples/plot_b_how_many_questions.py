"""
How many questions does it take?
================================

Real answers as a pilot: 480 questions, and the variance of the difference between two respondents.
Arithmetic does the rest.
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
# How many for a difference of three points, found four times in five?
# --------------------------------------------------------------------

print(psy.reliability.questions_needed(0.03, pilot, target=0.8))

# %%
# The whole curve
# ---------------
#
# Pairing helps: what is hard for both cancels. Had each respondent been asked questions of its
# own, it would take more.

numbers = np.unique(np.geomspace(50, 20_000, 40).astype(int))
unpaired = psy.reliability.pilot_variance(
    example.correctness, "French", "plain", design="unpaired"
)
for variance, label in [(pilot, "the same questions"), (unpaired, "questions of its own")]:
    power = [
        float(psy.reliability.comparison_power(0.03, int(n), variance).power) for n in numbers
    ]
    plt.semilogx(numbers, power, label=label)
plt.axhline(0.8, color="0.7", lw=1)
plt.gca().set(xlabel="questions", ylabel="chance to find three points", ylim=(0, 1))
plt.legend()
plt.show()
