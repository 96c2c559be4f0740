"""What is shipped: the wheel is small and is the package alone; the sdist holds all the rest."""

import email
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import psychollm

pytest.importorskip("hatchling")

ROOT = Path(__file__).resolve().parents[2]
LARGEST_WHEEL = 3_000_000  # bytes: more would be a file that does not belong there
NEVER_SHIPPED = ("psychollm-report", "__pycache__", "_build", "generated", ".asv", ".venv")


def build(target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", tmp_path_factory.mktemp("sdist"))


def in_wheel(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def in_sdist(sdist: Path) -> set[str]:
    with tarfile.open(sdist) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def tracked() -> set[str]:
    """Return what version control knows and is still there."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    said = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)
    names = said.stdout.decode().split("\0")
    return {name for name in names if name and (ROOT / name).is_file()}


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST_WHEEL


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "psychollm").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    shipped = {name for name in in_wheel(wheel) if ".dist-info/" not in name}
    assert shipped == sources
    assert {"psychollm/py.typed", "psychollm/__init__.pyi"} <= shipped


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    folder = f"psychollm-{psychollm.__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = email.message_from_bytes(archive.read(f"{folder}/METADATA"))
        commands = archive.read(f"{folder}/entry_points.txt").decode()
    assert metadata["Version"] == psychollm.__version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert "psychollm = psychollm.cli:main" in commands
    assert f"{folder}/licenses/LICENSE" in in_wheel(wheel)


def test_the_sdist_holds_all_that_version_control_holds(sdist: Path) -> None:
    assert tracked() - in_sdist(sdist) == set()


def test_nothing_made_by_running_is_shipped(wheel: Path, sdist: Path) -> None:
    parts = {part for name in in_wheel(wheel) | in_sdist(sdist) for part in Path(name).parts}
    assert parts.isdisjoint(NEVER_SHIPPED)
