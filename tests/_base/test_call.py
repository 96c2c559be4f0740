"""Calls that commands make, and print for others to run."""

import re
import subprocess
import sys
from pathlib import Path

import psychollm


def test_every_called_name_is_public_in_a_new_process() -> None:
    # A module that an earlier import loaded would hide a name that a script cannot reach.
    texts = [path.read_text("utf-8") for path in Path(psychollm.__file__).parent.rglob("*.py")]
    named = r"""["'](psy(?:\.[a-z]\w*)+)["'(]"""
    names = sorted({name for text in texts for name in re.findall(named, text)})
    assert "psy.data.read_table" in names
    code = "import psychollm as psy\n" + "\n".join(names)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
