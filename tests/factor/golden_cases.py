"""Factor solutions of other programs and polished optima, with the matrices they are of."""

import json
from pathlib import Path

import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "psychometrics"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "golden" / "psychometrics"


def cases(folder, inputs):
    """Return name, row and matrix of each solution; none where the folder is absent."""
    if not (folder / "fa.json").is_file():
        return []
    matrices = {row["id"]: row for row in json.loads(inputs.read_text())["rows"]}
    rows = json.loads((folder / "fa.json").read_text())["rows"]
    # The polished optimum of this row is a local one: `test_extract` compares it from one start.
    local = ("bin12_tet", 3, ("ml", "truth_ml"))
    rows = [r for r in rows if (r["R"], r["nfactors"]) != local[:2] or r["fm"] not in local[2]]
    return [(row["id"], row, matrices[row["R"]]) for row in rows]


SHIPPED = cases(GOLDEN, GOLDEN / "fa_inputs.json")
NAMES = {name for name, _, _ in SHIPPED}
ALL = SHIPPED + [c for c in cases(SHARED, SHARED / "data" / "fa_inputs.json") if c[0] not in NAMES]


def where(test):
    """Return the cases whose row passes a test, as parameters."""
    return [pytest.param(row, given, id=name) for name, row, given in ALL if test(row)]
