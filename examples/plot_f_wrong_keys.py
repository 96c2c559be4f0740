"""
Which keys are wrong?
=====================

Twelve simulated models answer 300 questions with four options each, and six keys are wrong. The
audit looks at who chose what, and says how likely each key is to be the wrong one.
"""

# %%
# Choices and a key with faults
# -----------------------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import psychollm as psy

rng = np.random.default_rng(1)
truth = rng.integers(4, size=300)
ability = rng.uniform(0.65, 0.95, size=12)
guesses = rng.integers(4, size=(300, 12))
chosen = np.where(rng.random((300, 12)) < ability, truth[:, None], guesses)
key = truth.copy()
wrong = [17, 60, 111, 180, 222, 281]
key[wrong] = (truth[wrong] + 1) % 4
models = [f"model {name}" for name in "abcdefghijkl"]
choices = pd.DataFrame(chosen, columns=models).map(lambda option: "ABCD"[option])

# %%
# Worst first
# -----------
#
# The questions at the top have keys that were put wrong; what speaks for it stands beside. A key
# may be wrong, or a question have two right answers: the audit knows that choices alone hardly
# tell these apart, and gives the chance of any fault, too.

audit = psy.question_audit(choices, ["ABCD"[option] for option in key], rng=1)
worst = audit.worst()[:8]
print(
    audit.to_frame()
    .set_index("question")
    .loc[worst, ["p_wrong_key", "p_flawed", "reason"]]
    .to_string()
)
print("put wrong:", wrong)

# %%
# As a picture
# ------------

audit.plot()
plt.show()

# %%
# What to look at
# ---------------
#
# Twelve models are few. That no more than one in five of what is flagged is a false discovery can
# be said of no question; that no more than half is, of those that were put wrong.

for fdr in (0.2, 0.5):
    print(fdr, list(audit.flagged(fdr=fdr, fault="any")))
