"""The ledger of headlines: its rules, its small entries, and the page that is published."""

from pathlib import Path

import numpy as np
import pytest

from validation.ledger.__main__ import SOURCES, entry
from validation.ledger.claim import beyond, correlation, inside, resampled, shown

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
PAGE = (ROOT / "docs" / "ledger_tables.md").read_text(encoding="utf-8")


def test_rules() -> None:
    assert inside(0.81, (0.6, 0.9)) == "reproduced"
    assert inside(0.95, (0.6, 0.9)) == "not reproduced"
    assert beyond((0.1, 0.3)) == beyond((-0.3, -0.1), above=False) == "reproduced"
    assert beyond((-0.3, -0.1)) == "not reproduced"
    assert beyond((-0.1, 0.3)) == "inconclusive"
    assert shown(0.5, (0.25, 0.75), 1).split() == ["0.5", "[0.2,", "0.8]"]


def test_intervals_are_for_whole_clusters() -> None:
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(20), 10)
    x = rng.normal(size=20)[cluster]
    y = x + rng.normal(size=20)[cluster]
    single, whole = (
        resampled("r", lambda w: correlation(x, y, w), x.size, clusters=clusters)
        for clusters in (None, cluster)
    )
    assert single.value[0] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert np.ptp(whole.interval) > 2.0 * np.ptp(single.interval)


def test_the_page_has_every_source() -> None:
    assert len(SOURCES) >= 8
    assert [name for name in SOURCES if f"--only {name}`" not in PAGE] == []


@pytest.mark.parametrize(
    "name", ["mmlu_pro", "gastro", "moore_lab", "llmfao", "judges", "seed_vornish"]
)
def test_small_entries_are_as_published(name: str) -> None:
    if name != "seed_vornish" and not DATA.is_dir():
        pytest.skip("no public tables beside this folder")
    text, claims = entry(name, DATA)
    assert claims
    assert text in PAGE
