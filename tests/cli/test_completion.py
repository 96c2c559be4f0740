"""``psychollm completion``: real shells complete by what it prints."""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from psychollm.cli import UNUSABLE
from psychollm.cli.parser import build_parser, script

SHELLS = ("bash", "zsh", "fish")
ASK = """
source "$1"
COMP_WORDS=($2); COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
[ "${2: -1}" = " " ] && COMP_WORDS+=("") && COMP_CWORD=$(( COMP_CWORD + 1 ))
complete -p psychollm >/dev/null || exit 3
name=$(complete -p psychollm | sed -E "s/.*-F ([^ ]+).*/\\1/")
$name psychollm "${COMP_WORDS[COMP_CWORD]}" "" 2>/dev/null
printf "%s\\n" "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory) -> Path:
    pytest.importorskip("shtab")
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        (folder / shell).write_text(script(build_parser(), shell))
    return folder


def shell(name: str, *arguments: str, cwd: Path | None = None) -> list[str]:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    found = subprocess.run([name, *arguments], capture_output=True, text=True, cwd=cwd, timeout=60)
    assert found.returncode == 0, found.stderr
    return found.stdout.split()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("psychollm st", {"study"}),
        ("psychollm ", {"study", "calibrate", "import", "completion"}),
        ("psychollm study --emp", {"--empty-cells"}),
        ("psychollm study --empty-cells ", {"keep_margins", "add_half"}),
        ("psychollm instrument ru", {"rule-world"}),
        ("psychollm instrument rule-world --sk", {"--skin"}),
        ("psychollm kit ", {"list", "copy"}),
        ("psychollm kit copy sh", {"shared_confidence"}),
        ("psychollm study sa", {"said.csv"}),
    ],
)
def test_bash(scripts: Path, tmp_path: Path, typed: str, offered: set[str]) -> None:
    (tmp_path / "said.csv").write_text("")
    found = shell("bash", "-c", ASK, "ask", str(scripts / "bash"), typed, cwd=tmp_path)
    assert offered <= set(found)
    if not typed.endswith(" "):
        assert all(word.startswith(typed.split()[-1]) for word in found)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("psychollm st", "study"), ("psychollm study --empty-cells ", "keep_margins")],
)
def test_fish(scripts: Path, typed: str, offered: str) -> None:
    ask = f"source {scripts / 'fish'}; complete -C '{typed}'"
    assert offered in shell("fish", "--no-config", "-c", ask)


def test_zsh_reads_it(scripts: Path) -> None:
    ask = (
        f"autoload -U compinit; compinit -D; source {scripts / 'zsh'}; whence -w _shtab_psychollm"
    )
    assert shell("zsh", "-f", "-c", ask) == ["_shtab_psychollm:", "function"]


def test_the_command_itself(call) -> None:
    pytest.importorskip("shtab")
    found = call("completion", "bash")
    assert found.returncode == 0
    assert found.stdout == script(build_parser(), "bash")


def test_other_shells_are_one_line(call) -> None:
    found = call("completion", "cmd")
    assert found.returncode == UNUSABLE
    (line,) = found.stderr.splitlines()
    assert "bash" in line


def test_without_shtab_the_extra_is_named(call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    found = call("completion", "zsh")
    assert found.returncode == UNUSABLE
    (line,) = found.stderr.splitlines()
    assert 'pip install "psychollm[completion]"' in line


def test_files_are_offered_where_paths_are_taken(scripts: Path) -> None:
    del scripts  # only for shtab
    parser = argparse.ArgumentParser(prog="p")
    parser.add_argument("table", type=Path)
    script(parser, "bash")
    assert parser._actions[1].complete["bash"] == "_shtab_compgen_files"
