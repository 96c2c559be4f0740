"""One call of each public function: the one that its docstring shows, made quick."""

import copy
import doctest
import functools
import inspect
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import psychollm as psy
from psychollm.data.responses import Responses

# What draws nothing to learn from, or asks models: their functions have tests of their own.
_ROOMS = sorted(set(psy._SUBMODULES) - {"errors", "plots", "reports", "collect", "integrations"})

# Few draws are enough to show what a function reads and that its parts fit together.
_QUICK = {"bootstrap": 25, "n_null": 19, "n_draws": 200, "rng": 0}
_QUICKER: dict[str, dict[str, Any]] = {
    "bayesian_2pl": {"n_draws": 100},
    "irt.bootstrap_fit": {"n_null": 9},
    "irt.shuffle_null": {"n_null": 9},
    "irt.slope_null": {"n_null": 9},
    "predict_answers": {"n_folds": 2},
    "steering_match": {"n_splits": 2, "steps": 2},
    "studies.fit_gate": {"n_folds": 2},
}
# So are few rows or columns, where many take long.
_FEWER: dict[str, dict[str, Any]] = {
    "irt.fit_factors": {"responses": np.s_[:, :60]},
    "irt.fit_multidimensional": {"responses": np.s_[:200]},
    "predict_answers": {"responses": np.s_[:, :24]},
    "question_audit": {"choices": np.s_[:100], "key": np.s_[:100]},
    "retention": {"data": np.s_[:, :100]},
    **dict.fromkeys(
        ("shared_confidence", "shared_confidence_by"),
        dict.fromkeys(("confidence", "correctness"), np.s_[:8]),
    ),
    "steering_match": {"targets": np.s_[:6]},
    "stitch_benchmarks": {"scores": np.s_[:12]},
    "studies.private_signal": dict.fromkeys(
        ("confidence", "correctness", "loadings", "thresholds"), np.s_[:3]
    ),
}

# Their examples need a language model, or a sampler that only an extra brings.
WITHOUT_EXAMPLE = {
    "irt.build_model",
    "steering.answer_logits",
    "steering.decoder_layers",
    "steering.hidden_states",
    "steering.reply_likelihood",
    "steering.scan_layers",
    "steering.steer",
    "steering.sweep",
    "steering.sweep_directions",
}

_FOLDER = tempfile.TemporaryDirectory()  # where examples write the files that they read

# A parameter with such an annotation may hold an array, a table or one label for each question.
_OPEN = re.compile(r"Any|Array|Responses|Frame|Table|Sequence|Iterable")


class _Called(BaseException):
    """Ends an example where it calls the function that it is an example of."""


@cache
def public_functions() -> dict[str, Callable[..., Any]]:
    """Return the public functions by their shortest public name: "brier_skill" has its room."""
    functions: dict[Callable[..., Any], str] = {}
    for room in ("", *_ROOMS):
        module = import_module(f"psychollm.{room}".rstrip("."))
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value):
                functions.setdefault(value, f"{room}.{name}".lstrip("."))
    return {name: function for function, name in functions.items()}


def open_parameters(name: str) -> list[str]:
    """Return the parameters of a function whose annotation lets an array through."""
    parameters = inspect.signature(public_functions()[name]).parameters.values()
    return [one.name for one in parameters if _OPEN.search(str(one.annotation))]


def example_call(name: str) -> dict[str, Any]:
    """Return the arguments by name: a copy of those in the docstring, made quick.

    Raises
    ------
    LookupError
        If no example of the function, or of a class beside it, calls it.
    """
    return copy.deepcopy(_example_call(name))


@cache
def _example_call(name: str) -> dict[str, Any]:
    function = public_functions()[name]
    module = sys.modules[function.__module__]
    beside = [one for one in vars(module).values() if inspect.isclass(one)]
    beside = [one for one in beside if one.__module__ == module.__name__]
    for owner in (function, *beside):
        arguments = _first_call(function, inspect.getdoc(owner) or "", module)
        if arguments is not None:
            known = inspect.signature(function).parameters
            quick = {key: value for key, value in _QUICK.items() if key in known}
            quick = {key: value for key, value in quick.items() if arguments.get(key, 1) != 0}
            few = {key: _cut(arguments[key], at) for key, at in _FEWER.get(name, {}).items()}
            return {**arguments, **few, **quick, **_QUICKER.get(name, {})}
    msg = f"no example in the docstring of {name} calls it"
    raise LookupError(msg)


def _cut(table: Any, at: Any) -> Any:
    """Return some rows or columns of a table, or some models of responses."""
    return table.select(models=table.models[at]) if isinstance(table, Responses) else table[at]


def _first_call(
    function: Callable[..., Any], docstring: str, module: ModuleType
) -> dict[str, Any] | None:
    """Run an example up to the first call of the function, and return the arguments of that."""
    arguments: dict[str, Any] = {}
    source = f"<example of {function.__name__}>"

    @functools.wraps(function)
    def noted(*args: Any, **options: Any) -> Any:
        if sys._getframe(1).f_code.co_filename != source:
            return function(*args, **options)
        arguments.update(inspect.signature(function).bind(*args, **options).arguments)
        raise _Called

    with _replaced(function, noted):
        names = {**vars(module), "getfixture": lambda _: Path(_FOLDER.name)}
        try:
            for example in doctest.DocTestParser().get_examples(docstring):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    exec(compile(example.source, source, "exec"), names)  # noqa: S102 (ours)
        except _Called:
            return arguments
    return None


@contextmanager
def _replaced(function: Callable[..., Any], by: Callable[..., Any]) -> Iterator[None]:
    """Put another function under the public names of one."""
    homes = [psy, sys.modules[function.__module__]]
    homes += [import_module(f"psychollm.{room}") for room in _ROOMS]
    homes = [home for home in homes if vars(home).get(function.__name__) is function]
    for home in homes:
        setattr(home, function.__name__, by)
    try:
        yield
    finally:
        for home in homes:
            setattr(home, function.__name__, function)
