"""The page of growth: kept figures, exponents and bounds."""

import numpy as np
import pytest

from benchmarks import growth
from benchmarks.growth import JOBS, child, exponents, keep, page, peer_of, rows_of
from benchmarks.growth_peers import in_r

COMPARE = next(job for job in JOBS if job.name == "compare")


def row(size: tuple[int, int], after: str, before: str = "") -> dict[str, str]:
    names = {"job": "compare", "models": str(size[0]), "questions": str(size[1])}
    now = {"after_s": after, "after_mb": "200", "peer_s": "3"}
    return names | {"before_s": before, "before_mb": ""} | now


@pytest.fixture
def rows() -> dict[tuple[str, int, int], dict[str, str]]:
    times = ("0.2", "6", "> 150")
    return {
        ("compare", *size): row(size, after, "9")
        for size, after in zip(COMPARE.sizes, times, strict=True)
    }


def test_kept_figures_are_read_back(tmp_path, rows) -> None:
    keep(rows, tmp_path / "growth.csv")
    assert rows_of(tmp_path / "growth.csv") == rows
    assert rows_of(tmp_path / "absent.csv") == {}


def test_exponents_compare_neighbouring_sizes(rows) -> None:
    # Thirty times the cells and thirty times the seconds; none from what was stopped.
    assert list(exponents(COMPARE, rows)) == ["", "1.00", ""]
    rows["compare", *COMPARE.sizes[0]]["after_s"] = "0.01"
    assert list(exponents(COMPARE, rows)) == ["", "", ""]


def test_page(monkeypatch, rows) -> None:
    rate = dict.fromkeys(("byte", "product", "exp", "add", "word"), (2.0, "as measured"))
    monkeypatch.setattr(growth, "rates", lambda: rate)
    text = page(rows)
    # 200 products and a byte of each of 20,000 cells, at two nanoseconds.
    assert "| `compare` | 20\u00a0x\u00a01,000 | 9 | 0.2 | 3 | 200 |  | 0.00044 |" in text
    assert "| `compare` | 300\u00a0x\u00a030,000 | 9 | > 150 | 3 | 200 |  | 2.7 |" in text
    assert "`fit_irt` |" not in text
    assert "product 2 ns (as measured)" in text


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_tables_have_the_size_that_they_are_called_by(job, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("GROWTH_FOLDER", str(tmp_path))
    for table in job.make(6, 40):
        if not isinstance(table, str):
            assert table.shape in {(6, 40), (40, 6), (40,)}
    assert all(job.least(*size).values() for size in job.sizes)


def test_a_peer_that_is_not_installed_leaves_its_cell_empty(monkeypatch, capsys) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ModuleNotFoundError, match="Rscript"):
        in_r("omega", np.zeros((2, 2)))
    omega = next(job for job in JOBS if job.name == "omega (models as items)")
    child(omega, 6, 40, 1.0, peer=True)
    assert capsys.readouterr().out == '["", ""]\n'


def test_every_peer_is_defined() -> None:
    assert all(callable(peer_of(job)) for job in JOBS if job.peer is not None)
