"""Where the kits are, and what is in them."""

import importlib.util
import tomllib
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).parent
# Settings that are none of the instrument: the length of replies, what goes to the endpoint beside
# the plan's parameters, and the resamples of the analysis.
OTHERS = {"limit", "parameters", "bootstrap"}


def names():
    """Return the names of the kits."""
    return sorted(path.parent.name for path in HERE.glob("*/kit.py"))


def load(name, size):
    """Return the module of a kit, and its settings at one size."""
    path = HERE / name / "kit.py"
    spec = importlib.util.spec_from_file_location(f"kit_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings = tomllib.loads((HERE / name / "settings.toml").read_text(encoding="utf-8"))
    return module, settings[size]


def model_names(name):
    """Return what the endpoint of a kit's plan calls its models."""
    plan = tomllib.loads((HERE / name / "plan.toml").read_text(encoding="utf-8"))
    return [model["model"] for model in plan["models"]]


def prompts_of(kit, settings):
    """Return the prompts of a kit at one size; `limit` shortens what may be replied."""
    options = {name: one for name, one in settings.items() if name not in OTHERS}
    limit = settings.get("limit")
    made = kit.prompts(options)
    return made if limit is None else tuple(replace(one, max_tokens=limit) for one in made)
