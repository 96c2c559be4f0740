"""Try a kit on models of known truth: ``python run.py KIT``; no key is needed, nothing is paid.

The plan of the kit is carried out as it stands by ``psychollm run``, only that an endpoint on this
machine takes the place of its own. Then what is true is held against what was found. Prompts,
store, tables and reports go into the folder --out. Interrupted, the same command goes on.
"""

import argparse
import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from endpoint import HERE, load  # beside this file

from psychollm.cli import main as psychollm

MISSES = 0.2  # of the truths; intervals of 95 % miss one in twenty


def plan_of(kit, folder, *, small):
    """Return the text of a kit's plan, files named in full; small, with less to ask."""
    text = (folder / "plan.toml").read_text(encoding="utf-8")
    text = text.replace('"../..', f'"{folder.parents[1].as_posix()}')
    for name, value in (kit.SMALL if small else {}).items():
        text = re.sub(rf"(?m)^{name} = .*$", f"{name} = {json.dumps(value)}", text)
    return text


@contextmanager
def simulated(kit, plan):
    """Serve the truth of a kit in a process of its own, and give its address."""
    command = [sys.executable, str(HERE / "endpoint.py"), kit, str(plan)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 -- our own
    try:
        port = process.stdout.readline().strip()
        if not port:
            sys.exit("the simulated endpoint has not started")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.communicate()


def compare(rows):
    """Print what is true beside what was found, and return both as a table."""
    truths = []
    for what, true, found, *interval in rows:
        low, high = interval or (found, found)
        if found is None or low is None:
            print(f"? {what}: true {shown(true)}, nothing found")
            continue
        truths.append(
            {"what": what, "true": true, "found": found, "holds": bool(low <= true <= high)}
        )
        within = f" [{shown(low)}, {shown(high)}]" if interval else ""
        mark = " " if truths[-1]["holds"] else "!"
        print(f"{mark} {what}: true {shown(true)}, found {shown(found)}{within}")
    missed = sum(not one["holds"] for one in truths)
    print(f"{len(truths)} truths, {missed} missed")
    return {"missed": missed, "truths": truths}


def shown(value):
    """Return a number as it is printed."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("kit", choices=sorted(path.parent.name for path in HERE.glob("*/kit.py")))
    parser.add_argument("--small", action="store_true", help="fewer questions and resamples")
    parser.add_argument("--out", type=Path, help="folder of the results (default: KIT-simulated)")
    typed = parser.parse_args()
    kit, out = load(typed.kit), typed.out or Path(f"{typed.kit}-simulated")
    if out.is_file():
        parser.error(f"--out {out} is a file: name a folder")
    out.mkdir(parents=True, exist_ok=True)
    plan = out / "plan.toml"
    text = plan_of(kit, HERE / typed.kit, small=typed.small)
    plan.write_text(text, encoding="utf-8")
    with simulated(typed.kit, plan) as url:
        here = re.sub(r"(?m)^url = .*\nkey = .*$", f'url = "{url}"', text)
        plan.write_text(here, encoding="utf-8")
        less = ["--bootstrap", "160", "--null", "40"] if typed.small else []
        ended = psychollm(["run", kit.STUDY, str(plan), "--simulated", "--out", str(out), *less])
    if ended:
        return ended
    table = compare(kit.truth(out))
    (out / "truth.json").write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return int(table["missed"] > MISSES * len(table["truths"]))


if __name__ == "__main__":
    sys.exit(main())
