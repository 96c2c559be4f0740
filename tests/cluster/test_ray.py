"""Ray, through joblib's backend: the same bits as here."""

import subprocess
import sys

import pytest

pytest.importorskip("ray")

# In a process of its own: Ray starts a dozen, and leaves with this one.
PROGRAM = """
import joblib, numpy as np, pandas as pd, ray
import psychollm as psy
from psychollm.nulls.permutation import permutation_null
from ray.util.joblib import register_ray

rng = np.random.default_rng(8)
model, question = np.nonzero(rng.random((40, 2_000)) < 0.3)
value = rng.random(model.size) < 1.0 / (1.0 + np.exp(-rng.normal(size=40)[model]))
scan = psy.data.scan(
    pd.DataFrame({"model": model, "question": question, "value": value.astype(int)})
)
table = (0.7 * rng.normal(size=120) + rng.normal(size=(12, 120)) > 0.2).astype(int)
fit = psy.fit_irt(scan, n_jobs=1)
null = permutation_null(table, n_null=150, rng=3, n_jobs=1)
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
register_ray()
with joblib.parallel_config(backend="ray"):
    assert np.array_equal(psy.fit_irt(scan).parameters, fit.parameters)
    assert np.array_equal(permutation_null(table, n_null=150, rng=3).draws, null.draws)
print("the same")
"""


def test_a_fit_and_a_null():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.strip().endswith("the same"), done.stderr[-3000:]
