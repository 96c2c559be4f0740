"""The models that lavaan fitted, fitted here once for all files."""

import pytest

from psychollm.factor.invariance.fit import fit_sample
from tests.factor.invariance.tables import LAVAAN, MODELS, as_lavaan


@pytest.fixture(scope="session")
def fits():
    """Return the fits by lavaan's name, on lavaan's covariance of the moments."""
    samples = {name: as_lavaan(name) for name in MODELS}
    found = {}
    for key, row in LAVAAN["fits"].items():
        name = key.split("_")[0]
        sample, pattern = samples[name]
        free = (row["free"],) if row["free"] else ()
        kinds = (row["level"], free, "scaled_shifted")
        found[key] = fit_sample(sample, pattern, tuple(MODELS[name]), *kinds)
    return found
