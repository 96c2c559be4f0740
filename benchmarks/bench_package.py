"""Size of the download, and time of the import."""

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def source(folder: Path) -> Path:
    """Return the tree of the commit that is measured, or this one outside of asv."""
    commit = os.environ.get("ASV_COMMIT")
    if commit is None:
        return HERE
    command = ["git", "-C", os.environ.get("ASV_CONF_DIR", str(HERE)), "archive", commit]
    packed = subprocess.run(command, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder / "source", filter="data")
    return folder / "source"


def fresh(program: str) -> str:
    """Return what a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    return done.stdout.decode()


class Wheel:
    """A newly built wheel."""

    timeout = 600

    def setup_cache(self) -> tuple[int, int]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
            tree = source(folder)
            subprocess.run([*command, "-d", str(folder / "dist")], cwd=tree, check=True,
                           capture_output=True)  # fmt: skip
            (wheel,) = (folder / "dist").iterdir()
            with zipfile.ZipFile(wheel) as archive:
                installed = sum(member.file_size for member in archive.infolist())
            return wheel.stat().st_size, installed

    def track_wheel_size(self, sizes: tuple[int, int]) -> int:
        return sizes[0]

    def track_installed_size(self, sizes: tuple[int, int]) -> int:
        return sizes[1]

    track_wheel_size.unit = "bytes"  # type: ignore[attr-defined]
    track_installed_size.unit = "bytes"  # type: ignore[attr-defined]


class Import:
    """`import psychollm` in a new interpreter, excluding the modules of the interpreter itself."""

    program = (
        "import sys, time; before = set(sys.modules); start = time.process_time(); "
        "import psychollm; print(time.process_time() - start, len(set(sys.modules) - before))"
    )

    def track_cpu_time(self) -> float:
        return min(float(fresh(self.program).split()[0]) for _ in range(5))

    def track_modules(self) -> int:
        return int(fresh(self.program).split()[1])

    def track_modules_of_the_surface(self) -> int:
        names = "import psychollm as psy, sys; [getattr(psy, name) for name in dir(psy)]; "
        return int(fresh(names + "print(len(sys.modules))"))

    track_cpu_time.unit = "seconds"  # type: ignore[attr-defined]
    track_modules.unit = "modules"  # type: ignore[attr-defined]
    track_modules_of_the_surface.unit = "modules"  # type: ignore[attr-defined]
