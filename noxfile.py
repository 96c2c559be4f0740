"""Seven words for daily work, and what a release must show besides.

``nox -s format``, ``lint``, ``test``, ``fuzz``, ``mutants``, ``bench``, ``docs``; what follows
``--`` goes to the tool, as in ``nox -s test -- tests/factor``. Another Python: ``nox -s test
--force-python 3.13``. Before a release: ``nox -s core extras minimum package``.
"""

import tomllib
from pathlib import Path

import nox

ROOT = Path(__file__).parent
EXTRAS = tomllib.loads((ROOT / "tests" / "packaging" / "extras.toml").read_text(encoding="utf-8"))

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "test"]


def prepare(session: nox.Session, extras: str, *more: str) -> None:
    """Install this tree as it stands, with some of its extras."""
    session.install("-e", f".[{extras}]", *more)
    # One thread per process: tests run side by side.
    session.env.update(MPLBACKEND="Agg", OPENBLAS_NUM_THREADS="1")


@nox.session(name="format")
def format_(session: nox.Session) -> None:
    """Sort imports, mend what a tool can mend, lay out."""
    prepare(session, "lint")
    session.run("ruff", "check", "--fix", "--exit-zero", *session.posargs)
    session.run("ruff", "format", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, layout and types."""
    prepare(session, "lint,plot,io,text,collect")
    session.run("ruff", "check", *session.posargs)
    session.run("ruff", "format", "--check", *session.posargs)
    session.run("mypy")


@nox.session
def test(session: nox.Session) -> None:
    """Run all tests and the examples of all docstrings."""
    prepare(session, "plot,test")
    session.run("pytest", *(session.posargs or ["-n", "auto"]))


@nox.session
def fuzz(session: nox.Session) -> None:
    """Try properties on fresh draws, ten times as many as usual; an hour."""
    prepare(session, "plot,test")
    session.env["PSYCHOLLM_FUZZ"] = "1"
    session.run("pytest", "-m", "hypothesis or thorough", *(session.posargs or ["-n", "auto"]))


@nox.session
def bench(session: nox.Session) -> None:
    """Run every benchmark once; ``-- -b Wheel`` for those whose name matches."""
    prepare(session, "bench,test")
    python = f"existing:{Path(session.bin) / 'python'}"
    session.run("asv", "check", "-E", python)
    session.run("asv", "run", "-E", python, "--quick", "--show-stderr", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Break the library in 200 places, one at a time: nine of ten must fail a test; hours."""
    prepare(session, "plot,test,bench")
    session.run("python", "-m", "validation.mutants", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation; a warning, a broken link or an unlinked name is an error."""
    prepare(session, "docs,test-core")
    html = "docs/_build/html"
    session.run("sphinx-build", "-W", *session.posargs, "docs", html)
    session.run("pytest", "-q", "tests/docs", env={"PSYCHOLLM_HTML": html})


@nox.session
@nox.parametrize("extra", list(EXTRAS), ids=list(EXTRAS))
def extras(session: nox.Session, extra: str) -> None:
    """Install one extra alone: its packages import, and its own tests pass, the thorough apart."""
    prepare(session, f"{extra},test-core")
    session.run("python", "-c", f"import {', '.join(EXTRAS[extra]['modules'])}")
    session.run("pytest", "-q", "-m", "not thorough", *EXTRAS[extra]["tests"], *session.posargs)


@nox.session
def core(session: nox.Session) -> None:
    """Install no extra: the whole suite passes, skipping what needs one."""
    prepare(session, "test-core")
    session.run("pytest", "-q", *(session.posargs or ["-n", "auto"]))


@nox.session
def minimum(session: nox.Session) -> None:
    """Test with the oldest version of every dependency that is allowed."""
    prepare(session, "plot,test", "-c", "constraints/minimum.txt")
    # Kernels compiled by an old Numba would displace those of the one in daily use.
    session.env["NUMBA_CACHE_DIR"] = str(Path(session.create_tmp()) / "numba")
    # Old packages may complain of new ones that are none of our business: told, no errors.
    told = [f"-Wdefault::{kind}" for kind in ("DeprecationWarning", "FutureWarning")]
    session.run("pytest", "-q", *told, *(session.posargs or ["-n", "auto"]))


@nox.session
def package(session: nox.Session) -> None:
    """Build wheel and sdist, check them, and try each in an empty environment."""
    session.install("build", "twine", "hatchling", "pytest")
    made = Path(session.create_tmp()) / "dist"
    session.run("python", "-m", "build", "--outdir", str(made))
    files = [str(path) for path in sorted(made.iterdir())]
    session.run("twine", "check", "--strict", *files)
    for file in files:
        session.run("python", "benchmarks/first_figure.py", file)
