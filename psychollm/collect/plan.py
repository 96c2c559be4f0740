"""Plans: TOML files that specify prompts, models, endpoints and budget.

Examples
--------
A plan with all settings::

    prompts = ["items.jsonl"]       # one prompt per line, as `Prompt.to_dict` writes it
    store = "run.sqlite"            # created if missing; relative to the plan
    repeats = 1                     # administrations of each prompt
    budget = 5.0                    # upper limit, in the currency of the prices

    order = "turns"                 # alternate models; "models": one by one, which suits caches

    [study]                         # instead of prompts, only for 'psychollm run'

    [adaptive]                      # send only prompts selected by an item bank; omit to send all
    bank = "bank.psy"               # as `ItemBank.save` writes it
    half_width = 0.03               # stop at this margin of error, or
    size = 300                      # after this number of questions
    seed = 1                        # seed of the selection
    batch = 20                      # questions selected at a time

    [parameters]                    # shared by all models, which can add their own
    temperature = 0.0
    max_tokens = 64                 # of the answer
    thinking = "low"                # "off", "high", 4000, ...: in addition to the answer

    [endpoints.here]
    url = "http://127.0.0.1:8080/v1"
    wire = "openai-chat"            # or another of `WIRES`; transformers has no url
    key = "MY_API_KEY"              # environment variable that holds the secret
    requests_per_minute = 600

    [[models]]
    name = "small, careful"         # its name in tables
    model = "org/small"             # its name on the server
    endpoint = "here"
    system = "You are careful."
    prices = { input = 0.1, output = 0.4 }     # per million tokens
    [models.parameters]
    logprobs = true
    top_logprobs = 20
"""

import json
import math
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from psychollm._base.checks import check_choice, check_unique, hold_counts
from psychollm._base.errors import InputError, LabelError, OptionError
from psychollm._base.result import load
from psychollm.collect.adaptive import Adaptive
from psychollm.collect.errors import check_path
from psychollm.collect.request import LIMITS, Request, canonical_text
from psychollm.collect.roster import Endpoint, Model, Prices
from psychollm.collect.secrets import check_parameters
from psychollm.collect.wire.local_loading import precision_of
from psychollm.collect.wire.thinking import thinking_of
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.questions import text_of

_TOP = {
    "prompts",
    "store",
    "repeats",
    "budget",
    "order",
    "adaptive",
    "parameters",
    "endpoints",
    "models",
    "study",
}
MOST_REPEATS = 1_000_000
Order: TypeAlias = Literal["turns", "models"]
_ADAPTIVE = {field.name for field in fields(Adaptive)}
_ENDPOINT = {field.name for field in fields(Endpoint)} - {"name"}
_MODEL = {field.name for field in fields(Model)}
_PRICES = {field.name for field in fields(Prices)}
# Parameters that the API format sets itself, or that prevent one complete reply per request.
_RESERVED = {"model", "messages", "prompt", "system", "stream", "n"}
# Types of the plan's fields; other fields are numbers.
_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("url", "wire", "key", "name", "model", "endpoint", "system"), (str,)),
    **dict.fromkeys(("key_command", "device"), (str,)),
    "stream": (bool,),
    "batch": (bool, int),  # bool in an endpoint, int in an item bank
    **dict.fromkeys(
        ("headers", "parameters", "prices", "endpoints", "adaptive", "study"), (dict,)
    ),
    **dict.fromkeys(("prompts",), (str, list)),
    "models": (list,),
    **dict.fromkeys(("repeats", "concurrency", "start_concurrency", "attempts"), (int,)),
    **dict.fromkeys(("store", "order"), (str,)),
    "bank": (str,),
}
_WANTED: dict[type, str] = {
    bool: "true or false",
    int: "a whole number",
    str: "text",
    dict: "a table",
    list: "tables, [[models]]",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Prompts, models, endpoints and budget of a collection.

    Examples
    --------
    >>> from psychollm.instruments.prompt import Message
    >>> prompt = Prompt(key="q1", item="q1", messages=(Message("user", "?"),), reply="yes_no")
    >>> here = Endpoint(name="here", url="http://127.0.0.1:8080/v1")
    >>> plan = Plan(store=Path("run.sqlite"), prompts=(prompt,), endpoints={"here": here},
    ...             models=(Model(name="m", endpoint="here", model="m"),), repeats=2)
    >>> len(list(plan.requests()))
    2
    """

    store: Path
    prompts: tuple[Prompt, ...]
    endpoints: Mapping[str, Endpoint]
    models: tuple[Model, ...]
    repeats: int = 1
    budget: float | None = None
    order: Order = "turns"  # "models" queries an endpoint's models one after another
    adaptive: Adaptive | None = None
    text: str = ""  # contents of the plan file

    def __post_init__(self) -> None:
        if self.repeats > MOST_REPEATS:
            msg = f"repeats must be at most {MOST_REPEATS:,}"
            raise OptionError(msg)
        hold_counts(self, "repeats")
        check_path(self.store)
        check_choice("order", self.order, Order)
        for what, budget in [
            ("", self.budget),
            *((f"model {m.name!r}: ", m.budget) for m in self.models),
        ]:
            if budget is not None and not (
                isinstance(budget, int | float) and 0 < budget < math.inf
            ):
                msg = f"{what}budget={budget!r} must be a number above zero"
                raise OptionError(msg)
        check_unique("model", [model.name for model in self.models])
        check_unique(
            "prompt", [(one.key, one.repeat, *filter(None, [one.to])) for one in self.prompts]
        )
        _check_respondents(self)
        for model in self.models:
            if model.endpoint not in self.endpoints:
                known = ", ".join(self.endpoints)
                msg = f"model {model.name!r}: endpoint {model.endpoint!r} is not one of {known}"
                raise OptionError(msg)
            wire = self.endpoints[model.endpoint].wire_format
            _check_parameters(f"model {model.name!r}", model.parameters, local=wire.local)
            if "thinking" in wire.lacks and "thinking" in model.parameters:
                msg = f"model {model.name!r}: the format {wire.name} does not support thinking"
                raise OptionError(msg)
            _check_budget(self, model)
        if self.adaptive is not None:
            self.adaptive.check(self.prompts)

    def requests(
        self, *, model: str | None = None, items: Collection[str] | None = None
    ) -> Iterator[Request]:
        """Yield the requests of the plan, optionally restricted to one model or some questions.

        A request is yielded after the request whose conversation it continues.

        Parameters
        ----------
        model : str, optional
            Name of the model.
        items : collection of str, optional
            Labels of the questions.
        """
        asked = [one for one in self.prompts if items is None or one.item in items]
        ordered = in_order(asked)
        for one in self.models:
            if model is not None and one.name != model:
                continue
            for sample in range(self.repeats):
                keys: dict[tuple[str, int], str] = {}
                for prompt in ordered:
                    if prompt.to not in (None, one.name):
                        continue
                    before = None
                    if prompt.follows is not None:
                        same = keys.get((prompt.follows, prompt.repeat))
                        before = same or keys[prompt.follows, 0]
                    request = Request.build(
                        prompt,
                        model=one.name,
                        model_id=one.model,
                        parameters=one.parameters,
                        system=one.system,
                        sample=sample,
                        follows=before,
                    )
                    keys[prompt.key, prompt.repeat] = request.key
                    yield request


def _check_respondents(plan: Plan) -> None:
    """Raise an error if a prompt is addressed to a model that is not in the plan."""
    names = {model.name for model in plan.models}
    lost = next((one for one in plan.prompts if one.to is not None and one.to not in names), None)
    if lost is not None:
        known = ", ".join(names)
        msg = f"prompt {lost.key!r} is for {lost.to!r}, which is not a model of the plan ({known})"
        raise LabelError(msg)


def _check_budget(plan: Plan, model: Model) -> None:
    """Raise an error if there is a budget but a request has no upper bound on its cost."""
    if plan.budget is None and model.budget is None:
        return
    if model.prices is None:
        msg = f"model {model.name!r}: a budget needs prices = {{ input = ..., output = ... }}"
        raise OptionError(msg)
    bounded = any(name in model.parameters for name in LIMITS)
    if not bounded and any(prompt.max_tokens is None for prompt in plan.prompts):
        msg = f"model {model.name!r}: a budget needs max_tokens among its parameters"
        raise OptionError(msg)


def in_order(prompts: Sequence[Prompt]) -> list[Prompt]:
    """Sort prompts so that each follows the prompt whose conversation it continues."""
    placed: set[tuple[str | None, int]] = set()
    ordered: list[Prompt] = []
    rest = list(prompts)
    while rest:
        later = []
        for prompt in rest:
            before = {(prompt.follows, prompt.repeat), (prompt.follows, 0)}
            if prompt.follows is None or before & placed:
                ordered.append(prompt)
                placed.add((prompt.key, prompt.repeat))
            else:
                later.append(prompt)
        if len(later) == len(rest):
            one = later[0]
            msg = f"prompt {one.key!r} follows {one.follows!r}, which cannot be sent before it"
            raise LabelError(msg)
        rest = later
    return ordered


def read_plan(path: Path, *, prompts: Sequence[Prompt] | None = None) -> Plan:
    """Read a plan and its prompts.

    Parameters
    ----------
    path : Path
        TOML file; paths in it are relative to its folder.
    prompts : sequence of Prompt, optional
        Prompts of a plan that has study settings (``[study]``) instead of prompts.

    Raises
    ------
    InputError
        If a file cannot be read.
    OptionError
        If a field is missing, unknown or invalid.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> _ = (folder / "plan.toml").write_text("prompts = []")
    >>> read_plan(folder / "plan.toml")
    Traceback (most recent call last):
    psychollm._base.errors.OptionError: ...plan.toml: endpoints, models missing
    """
    text = text_of(path)
    table = table_of(path, text)
    needed = {"endpoints", "models"} | ({"prompts"} if prompts is None else set())
    if "study" in table and prompts is None:
        msg = f"{path}: [study] replaces prompts: run it with 'psychollm run'"
        raise OptionError(msg)
    _check_names(str(path), table, known=_TOP, needed=frozenset(needed))
    shared = table.get("parameters", {})
    names = table.get("prompts", [])
    files = [names] if isinstance(names, str) else [str(name) for name in names]
    if prompts is None:
        prompts = [prompt for file in files for prompt in read_prompts(path.parent / file)]
    elif files:
        msg = f"{path}: prompts and [study] exclude each other: remove prompts"
        raise OptionError(msg)
    for name, given in (("prompts", prompts), ("models", table["models"])):
        if not given:
            msg = f"{path}: {name} is empty: add at least one"
            raise OptionError(msg)
    try:
        return Plan(
            store=path.parent / table.get("store", path.with_suffix(".sqlite").name),
            prompts=tuple(prompts),
            endpoints={name: _endpoint(name, given) for name, given in table["endpoints"].items()},
            models=tuple(_model(given, shared) for given in table["models"]),
            repeats=table.get("repeats", 1),
            budget=table.get("budget"),
            order=table.get("order", "turns"),
            adaptive=_adaptive(table.get("adaptive"), path.parent),
            text=text,
        )
    except (LabelError, OptionError) as error:
        msg = f"{path}: {error}"
        raise type(error)(msg) from None


def table_of(path: Path, text: str | None = None) -> dict[str, Any]:
    """Return the contents of a TOML file; `text` is the file's text if it was already read."""
    try:
        return tomllib.loads(text_of(path) if text is None else text)
    except (ValueError, RecursionError) as error:
        msg = f"{path} is not valid TOML: {error}"
        raise InputError(msg) from error


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Read prompts from a file with one JSON object per line.

    Raises
    ------
    InputError
        If the file or one of its lines cannot be read.

    Examples
    --------
    >>> path = getfixture("tmp_path") / "items.jsonl"
    >>> turns = [{"role": "user", "content": "?"}]
    >>> line = {"key": "q1", "item": "q1", "messages": turns, "reply": "yes_no"}
    >>> _ = path.write_text(json.dumps(line) + chr(10))
    >>> [prompt.key for prompt in read_prompts(path)]
    ['q1']
    """
    prompts = []
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            prompts.append(Prompt.from_dict(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            msg = f"{path}, line {number}: not a prompt ({error})"
            raise InputError(msg) from error
    if not prompts:
        msg = f"{path} holds no prompts"
        raise InputError(msg)
    return tuple(prompts)


def _check_names(
    where: str, table: Any, *, known: set[str], needed: frozenset[str] = frozenset()
) -> None:
    if not isinstance(table, Mapping):
        msg = f"{where} must be a table"
        raise OptionError(msg)
    if missing := sorted(needed - set(table)):
        msg = f"{where}: {', '.join(missing)} missing"
        raise OptionError(msg)
    if unknown := sorted(set(table) - known):
        msg = f"{where}: {', '.join(unknown)} unknown; choose from {', '.join(sorted(known))}"
        raise OptionError(msg)
    for name, value in table.items():
        kinds = _KINDS.get(name, (float, int))
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            msg = f"{where}: {name} must be {_WANTED.get(kinds[0], 'a number')}"
            raise OptionError(msg)


def _check_parameters(where: str, parameters: Mapping[str, Any], *, local: bool) -> None:
    if reserved := sorted(_RESERVED & set(parameters)):
        msg = f"{where}: {', '.join(reserved)} cannot be set as parameters"
        raise OptionError(msg)
    try:
        canonical_text(parameters)
    except (TypeError, ValueError) as error:
        msg = f"{where}: parameters must be JSON values ({error})"
        raise OptionError(msg) from error
    try:
        thinking_of(parameters)
        if local:
            precision_of(parameters)
    except OptionError as error:
        msg = f"{where}: {error}"
        raise OptionError(msg) from None
    limits = [name for name in LIMITS if name in parameters]
    if len(limits) > 1:
        msg = f"{where}: {' and '.join(limits)} are names of the same limit: pass one of them"
        raise OptionError(msg)
    for name in limits:
        value = parameters[name]
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            msg = f"{where}: {name}={value!r} must be a whole number of at least 1"
            raise OptionError(msg)
    check_parameters(parameters, f"{where}: ")


def _adaptive(table: Any, folder: Path) -> Adaptive | None:
    if table is None:
        return None
    needed = frozenset({"bank", "seed"})
    _check_names("adaptive", table, known=_ADAPTIVE, needed=needed)
    bank = load(folder / table["bank"])
    if not hasattr(bank, "session"):
        msg = f"adaptive: {table['bank']} holds a {type(bank).__name__}, not an item bank"
        raise InputError(msg)
    return Adaptive(**{**table, "bank": bank})


def _endpoint(name: str, table: Any) -> Endpoint:
    _check_names(f"endpoint {name!r}", table, known=_ENDPOINT)
    return Endpoint(name=name, **table)


def _model(table: Any, shared: Mapping[str, Any]) -> Model:
    name = table.get("name", table.get("model")) if isinstance(table, Mapping) else "?"
    where = f"model {name!r}"
    _check_names(where, table, known=_MODEL, needed=frozenset({"model", "endpoint"}))
    prices = table.get("prices")
    if prices is not None:
        _check_names(f"{where}, prices", prices, known=_PRICES)
        if len(prices) < len(_PRICES) and (any(prices.values()) or not prices):
            msg = f"{where}, prices: give both input and output"
            raise OptionError(msg)
        prices = Prices(**prices)
    own = table.get("parameters", {})
    if any(limit in own for limit in LIMITS):  # a model's own limit replaces the shared one
        shared = {one: value for one, value in shared.items() if one not in LIMITS}
    parameters = {**shared, **own}
    return Model(**{**table, "name": name, "prices": prices, "parameters": parameters})
