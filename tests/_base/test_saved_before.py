"""A file of each result class, saved before (tests/golden/saved.zip), loads and says the same.

`PSYCHOLLM_UPDATE_GOLDEN=1` adds the classes that are new; the files that are there stay.
"""

import json
import os
import zipfile
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from psychollm._base.result import Result, load
from tests._base.every_result import BASES, PROBES, every_class
from tests.goldens import FOLDER, differences, flat

MOST = 200  # numbers and words of one result
SAVED = FOLDER / "saved.zip"


def said(result: Result) -> dict[str, Any]:
    """Return what a result says, in few numbers and words."""
    return dict(islice(flat(result.to_dict()), MOST))


def add(results: dict[str, list[Result]], folder: Path) -> None:
    """Keep the smaller file of each class that is not kept yet."""
    held = set(zipfile.ZipFile(SAVED).namelist()) if SAVED.exists() else set()
    with zipfile.ZipFile(SAVED, "a") as archive:
        for name in sorted(set(results) & set(every_class())):
            if f"{name}.psy" in held:
                continue
            files = [one.save(folder / f"{k}.psy") for k, one in enumerate(results[name])]
            file = min(files, key=lambda one: one.stat().st_size)
            text = json.dumps(said(load(file)), allow_nan=False)
            for end, data in ((".psy", file.read_bytes()), (".json", text.encode())):
                member = zipfile.ZipInfo(name + end)  # with a date of its own: the same bytes
                archive.writestr(member, data, zipfile.ZIP_LZMA)


def names() -> list[str]:
    return [name.removesuffix(".psy") for name in zipfile.ZipFile(SAVED).namelist()
            if name.endswith(".psy")]  # fmt: skip


def test_a_file_of_each_class_is_kept(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if os.environ.get("PSYCHOLLM_UPDATE_GOLDEN"):
        add(request.getfixturevalue("made"), tmp_path)
    absent = set(every_class()) - set(BASES) - set(PROBES) - set(names())
    assert not absent, f"run with PSYCHOLLM_UPDATE_GOLDEN=1, which adds a file of {sorted(absent)}"


@pytest.mark.parametrize("name", names())
def test_a_saved_file_loads_and_says_the_same(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(SAVED) as archive:
        file = Path(archive.extract(f"{name}.psy", tmp_path))
        kept = json.loads(archive.read(f"{name}.json"))
    found = load(file)
    assert type(found).__name__ == name
    # What later versions added is not in the file: its default says nothing.
    now = {path: one for path, one in said(found).items() if path in kept or one is not None}
    assert not differences(kept, now, rel=1e-9)
