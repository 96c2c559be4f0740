"""The command itself: help, version, how light it starts."""

import subprocess
import sys

import pytest

import psychollm
from psychollm.cli import main
from psychollm.cli.doctor import Version


@pytest.mark.parametrize("where", ["run", "call"])
def test_version(request, where: str) -> None:
    """In a process of its own, and in this one."""
    found = request.getfixturevalue(where)("--version" if where == "run" else "version")
    assert found.returncode == 0
    assert found.stdout.startswith(f"psychollm {psychollm.__version__} (Python ")


def test_help_without_a_command(capsys) -> None:
    assert main([]) == 0
    assert "study" in capsys.readouterr().out


def test_help_of_a_command_without_a_description(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["version", "--help"])
    told = Version.HELP[0].upper() + Version.HELP[1:]
    assert f"\n\n{told}.\n" in capsys.readouterr().out


def test_help_names_every_option_and_needs_no_numpy() -> None:
    program = (
        "import sys; from psychollm.cli import main\n"
        "try:\n    main(['study', '--help'])\nexcept SystemExit as end:\n    assert not end.code\n"
        "sys.stderr.write(str('numba' in sys.modules or 'pandas' in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stderr == "False"
    for option in ("--threshold", "--empty-cells", "--missing", "--null", "--seed", "--json"):
        assert option in found.stdout


def test_the_command_imports_little() -> None:
    program = (
        "import sys, psychollm; before = set(sys.modules); import psychollm.cli;"
        "print(*sorted(set(sys.modules) - before))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    own = [name for name in found.stdout.split() if name.startswith("psychollm")]
    assert "psychollm.cli" in own
    assert len(own) <= 6
    assert len(found.stdout.split()) <= 30
