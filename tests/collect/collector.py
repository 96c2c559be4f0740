"""A collector in a process of its own: ``python collector.py PLAN.toml``."""

import sys
from pathlib import Path

from psychollm.collect.client import collect
from psychollm.collect.plan import read_plan

if __name__ == "__main__":
    found = collect(read_plan(Path(sys.argv[1])))
    sys.stdout.write(found.summary())
    sys.exit(0 if found.complete else 3)
