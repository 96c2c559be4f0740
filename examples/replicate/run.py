"""Redo a study: ``python run.py KIT``, with the key and the budget that its plan.toml names.

    python run.py rule_world                        # the plan as it stands: asks, and costs money
    python run.py rule_world --dry-run              # what would be asked, and the most it can cost
    python run.py rule_world --simulated            # an endpoint on this machine of known truth
    python run.py rule_world --simulated --size small
    python run.py rule_world --url http://127.0.0.1:8080/v1 --served NAME --size local

Prompts, store, tables and reports go into the folder --out. Interrupted, the same command goes on.
"""

import argparse
import json
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psychollm as psy
from psychollm.collect.client import collect
from psychollm.collect.plan import read_plan
from psychollm.collect.preview import preview
from psychollm.collect.roster import Endpoint, Model
from psychollm.collect.store import Store
from psychollm.reports import write_report

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from kits import load, names, prompts_of  # beside this file

# One small model under several system prompts, each a respondent of its own.
SYSTEMS = {
    "plain": None,
    "modest": "You are modest and careful, and you admit what you do not know.",
    "bold": "You are bold and sure of yourself. You know a great deal.",
    "professor": "You are a professor who has read every book.",
}


@contextmanager
def simulated(kit, size):
    """Serve the truth of a kit in a process of its own, and give its address."""
    command = [sys.executable, str(HERE / "endpoint.py"), kit, size]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 -- our own
    try:
        port = process.stdout.readline().strip()
        if not port:
            sys.exit("the simulated endpoint has not started")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.communicate()


def ask(prompts, typed, store, url, *, only=None, parameters=None):
    """Ask the prompts, of all models or of one; `parameters` go before those of the plan."""
    typed.out.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(one.to_dict(), ensure_ascii=False) + "\n" for one in prompts)
    (typed.out / "prompts.jsonl").write_text(lines, encoding="utf-8")
    text = (HERE / typed.kit / "plan.toml").read_text(encoding="utf-8")
    (typed.out / "plan.toml").write_text(text, encoding="utf-8")
    plan = replace(read_plan(typed.out / "plan.toml"), store=store)
    if url:
        at_once = 4 if typed.served else 32  # a small server on this machine has few slots
        here = Endpoint(name="here", url=url, concurrency=at_once, timeout=600.0)
        models = tuple(replace(one, endpoint="here") for one in plan.models)
        if typed.served:
            models = tuple(
                Model(name=name, endpoint="here", model=typed.served, system=system,
                      parameters=plan.models[0].parameters)
                for name, system in SYSTEMS.items()
            )  # fmt: skip
        plan = replace(plan, endpoints={"here": here}, models=models, budget=None)
    if parameters:
        models = [replace(one, parameters={**one.parameters, **parameters}) for one in plan.models]
        plan = replace(plan, models=tuple(models))
    if only is not None:
        plan = replace(plan, models=plan.models[only : only + 1])
    if typed.dry_run:
        print(preview(plan).summary())
        return False
    began = time.perf_counter()
    found = collect(plan)
    seconds = time.perf_counter() - began
    print(found.summary())
    print(f"{len(plan.models) * len(prompts):,} requests in {seconds:.0f} s")
    return True


def study(kit, settings, typed, url):
    """Ask, study what came back, write the reports, and return the studies."""
    store = typed.out / "run.sqlite"
    asked = {"parameters": settings.get("parameters")}
    if not ask(prompts_of(kit, settings), typed, store, url, **asked):
        return {}
    if hasattr(kit, "second_stage"):
        with Store(store, create=False) as first:
            prompts = kit.second_stage(first, settings)
        ask(prompts, typed, typed.out / "second.sqlite", url, only=kit.JUDGE, **asked)
    began = time.perf_counter()
    try:
        studies = kit.analyse(typed.out, settings)
    except psy.errors.PsychollmError as error:  # such as replies that are all alike
        sys.exit(f"These replies cannot be studied. {error}")
    for name, one in studies.items():
        page = write_report(
            one, typed.out / f"{name}.html", source=kit.SOURCE, simulated=typed.simulated
        )
        one.to_frame().to_csv(typed.out / f"{name}.csv", index=False)
        print(f"\n{one.summary()}\n\nReport: {page}")
    print(f"studied in {time.perf_counter() - began:.0f} s")
    return studies


def compare(rows):
    """Print what is true beside what was found."""
    for what, true, found, holds in rows:
        print(f"{'  ' if holds else '! '}{what}: true {true}, found {found}")
    missed = sum(not holds for *_, holds in rows)
    print(f"{len(rows)} truths, {missed} missed")
    return missed


def main():
    parser = argparse.ArgumentParser(
        description=(__doc__ or ""), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kit", choices=names())
    parser.add_argument("--size", default="full", help="a table of the kit's settings.toml")
    parser.add_argument("--simulated", action="store_true", help="models of known truth")
    parser.add_argument("--url", help="an endpoint in place of that of the plan")
    parser.add_argument("--served", help="the one model that it serves, under system prompts")
    parser.add_argument("--dry-run", action="store_true", help="ask nothing; show what it costs")
    parser.add_argument("--out", type=Path, help="folder of the results (default: KIT-SIZE)")
    typed = parser.parse_args()
    typed.out = typed.out or Path(f"{typed.kit}-{typed.size}")
    kit, settings = load(typed.kit, typed.size)
    if not typed.simulated:
        study(kit, settings, typed, typed.url)
        return 0
    with simulated(typed.kit, typed.size) as url:
        studies = study(kit, settings, typed, url)
    rows = kit.truth(studies)
    missed = compare(rows)
    columns = ("what", "true", "found", "holds")
    table = {"missed": missed, "truths": [dict(zip(columns, row, strict=True)) for row in rows]}
    (typed.out / "truth.json").write_text(json.dumps(table, indent=1, default=str) + "\n")
    return int(missed > kit.MISSES * len(rows))


if __name__ == "__main__":
    sys.exit(main())
