"""Probes need scikit-learn."""

import pytest

pytest.importorskip("sklearn")
