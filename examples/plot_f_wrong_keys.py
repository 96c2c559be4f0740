"""
Which keys are wrong?
=====================

Twelve simulated models answer 300 questions with four options each, and six keys are wrong. From
the chosen options, the audit estimates the probability that each key is wrong.
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
# Questions in order of suspicion
# -------------------------------
#
# The first questions have corrupted keys; the table gives the reason for each flag. Choices barely
# distinguish a wrong key from a question with two right answers, so the audit also gives the
# probability of any fault.

audit = psy.question_audit(choices, ["ABCD"[option] for option in key], rng=1)
worst = audit.worst()[:8]
print(
    audit.to_frame()
    .set_index("question")
    .loc[worst, ["p_wrong_key", "p_flawed", "reason"]]
    .to_string()
)
print("corrupted:", wrong)

# %%
# The figure
# ----------

audit.plot()
plt.show()

# %%
# False discovery rates
# ---------------------
#
# With only twelve models, no question is flagged at a false discovery rate of .2. At a rate of .5
# exactly the six corrupted questions are flagged.

for fdr in (0.2, 0.5):
    print(fdr, list(audit.flagged(fdr=fdr, fault="any")))
