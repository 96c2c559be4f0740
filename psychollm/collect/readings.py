"""Parsing of the replies of a store with the instruments that made the prompts.

The store keeps raw replies, so that an improved parser can parse them again.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from psychollm._base.errors import LabelError
from psychollm._base.replicate import Workers, spread, workers
from psychollm._base.result import Result
from psychollm._base.wording import parameter
from psychollm.collect.errors import StoreError
from psychollm.collect.export import Row, prompt_of, said
from psychollm.collect.store import Store
from psychollm.instruments.arms import LABEL, arm_of, label_of
from psychollm.instruments.instrument import instrument_of, reader_of, scorer_of
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers.plain_text import with_reasoning
from psychollm.instruments.reading import Outcome, Reading

if TYPE_CHECKING:
    import pandas as pd

BATCH = 2_000  # number of replies that one task parses
NOT_ASKED = "not_asked"  # additional outcome, for requests that have not been sent yet


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Readings(Result):
    """Parsed replies of all models to the prompts of one instrument.

    The reply is None if a request failed or was not sent yet. A missing reply never counts as
    "no".

    Examples
    --------
    >>> yes = Reading(outcome=Outcome.ANSWERED, value=1, said="Yes")
    >>> found = Readings(instrument="rule_world", prompts={"m": ()},
    ...                  by_model={"m": {0: {"a": yes, "b": None}}},
    ...                  outcomes={"m": {"answered": 1, "failed": 1}}, keys={})
    >>> print(found.summary())
    rule_world: 2 prompts were sent to 1 model.
    m: 1 answered, 1 failed
    """

    instrument: str
    prompts: Mapping[str, tuple[Prompt, ...]]  # prompts by model, in the order of the plan
    # parsed replies by model, sample and prompt
    by_model: Mapping[str, Mapping[int, Mapping[str, Reading | None]]]
    outcomes: Mapping[str, Mapping[str, int]]  # numbers of requests by model and outcome
    keys: Mapping[tuple[str, int, str], str]  # keys of requests, by model, sample and prompt
    # log probabilities of whole replies, if the server sent them
    logliks: Mapping[tuple[str, int, str], float] = field(default_factory=dict)
    n_tokens: Mapping[tuple[str, int, str], int] = field(default_factory=dict)  # length of replies

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.by_model)

    def scores(self) -> dict[str, dict[int, Any]]:
        """Return the instrument's scores by model and sample.

        Examples
        --------
        >>> from psychollm.instruments.rule_world import RuleWorld
        >>> prompts = RuleWorld(n=4, seed=1).prompts()
        >>> found = Readings(instrument="rule_world", prompts={"m": prompts},
        ...                  by_model={"m": {0: {}}}, outcomes={"m": {}}, keys={})
        >>> found.scores()["m"][0].outcomes[0]
        <Outcome.FAILED: 'failed'>
        """
        score = scorer_of(self.instrument)
        return {
            model: {
                # Requests that failed are missing data.
                sample: score(
                    self.prompts[model],
                    {key: one for key, one in own.items() if one},
                    **self._likely({key: self.logliks.get((model, sample, key)) for key in own}),
                )
                for sample, own in samples.items()
            }
            for model, samples in self.by_model.items()
        }

    def pooled_scores(self) -> dict[str, Any]:
        """Return one score per model, treating samples as additional repeats of the prompts.

        Examples
        --------
        >>> from psychollm.instruments.rule_world import RuleWorld
        >>> prompts = RuleWorld(n=4, seed=1).prompts()
        >>> found = Readings(instrument="rule_world", prompts={"m": prompts},
        ...                  by_model={"m": {0: {}, 1: {}}}, outcomes={"m": {}}, keys={})
        >>> found.pooled_scores()["m"].runs
        (1, 1, 1, 1, 2, 2, 2, 2)
        """
        score = scorer_of(self.instrument)
        scores = {}
        for model, samples in self.by_model.items():
            asked = self.prompts[model]
            step = 1 + max((prompt.repeat for prompt in asked), default=0)
            prompts, pooled = [], {}
            logliks: dict[str, float | None] = {}
            for repeat, sample in enumerate(samples):
                for prompt in asked:
                    again = _again(prompt, sample, repeat * step)
                    prompts.append(again)
                    logliks[again.key] = self.logliks.get((model, sample, prompt.key))
                    if (reading := samples[sample].get(prompt.key)) is not None:
                        pooled[again.key] = reading
            scores[model] = score(prompts, pooled, **self._likely(logliks))
        return scores

    def likelihoods(self) -> "pd.DataFrame":
        """Return the likelihood of each reply, with its parsed value and prompt properties.

        Endpoints return log probabilities if the plan sets the parameter ``logprobs = true``.
        Replies without log probabilities are omitted.

        Returns
        -------
        DataFrame
            Table with one row per reply and the columns model, sample, prompt_key, item, outcome,
            value, correct (NaN if not graded), loglik, n_tokens and perplexity (per token). The
            table has an additional column, such as condition, for each label or number in the
            `about` of the prompts.

        Examples
        --------
        >>> from psychollm.instruments.prompt import Message
        >>> yes = Reading(outcome=Outcome.ANSWERED, value="correct 4", said="4")
        >>> asked = Prompt(key="a", item="q", reply="yes_no",
        ...                messages=(Message("user", "?"),),
        ...                about={"instrument": "self_prediction"})
        >>> found = Readings(instrument="self_prediction", prompts={"m": (asked,)},
        ...                  by_model={"m": {0: {"a": yes}}}, outcomes={"m": {}}, keys={},
        ...                  logliks={("m", 0, "a"): -1.2}, n_tokens={("m", 0, "a"): 4})
        >>> found.likelihoods()[["correct", "perplexity"]].round(2).values.tolist()
        [[1.0, 1.35]]
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        for model, prompts in self.prompts.items():
            for prompt, (sample, own) in product(prompts, self.by_model[model].items()):
                place = model, sample, prompt.key
                reading, n = own.get(prompt.key), self.n_tokens.get(place, 0)
                if reading is None or place not in self.logliks or n < 1:
                    continue
                loglik = self.logliks[place]
                told = {
                    "model": model,
                    "sample": sample,
                    "prompt_key": prompt.key,
                    "item": prompt.item,
                    "outcome": str(reading.outcome),
                    "value": reading.value,
                    "correct": _correct(prompt, reading),
                    "loglik": loglik,
                    "n_tokens": n,
                    "perplexity": float(np.exp(-loglik / n)),
                }
                about = {k: v for k, v in prompt.about.items() if k not in told}
                rows.append(told | {k: v for k, v in about.items() if np.isscalar(v) or v is None})
        return pd.DataFrame(rows) if rows else pd.DataFrame(columns=_LIKELIHOODS)

    def perplexity(
        self, *, by: str | Sequence[str] = (), of: Mapping[str, Any] | None = None
    ) -> "pd.Series[float]":
        """Return the perplexity of replies, the inverse geometric mean of token probabilities.

        Parameters
        ----------
        by : str or sequence of str
            Columns of `likelihoods` by which to group the replies, such as condition.
        of : mapping, optional
            Filter for replies: a mapping from columns to a value or a list of values, such as
            ``{"stage": "task"}``. The value None selects rows with missing values.

        Returns
        -------
        Series
            Perplexity by model and by the columns in `by`. All tokens have equal weight in the
            mean.

        Raises
        ------
        LabelError
            If `by` or `of` names a missing column.

        Examples
        --------
        >>> from psychollm.instruments.prompt import Message
        >>> yes = Reading(outcome=Outcome.ANSWERED, value=1, said="Yes")
        >>> asked = Prompt(key="a", item="q", reply="yes_no",
        ...                messages=(Message("user", "?"),),
        ...                about={"condition": "social"})
        >>> found = Readings(instrument="self_efficacy", prompts={"m": (asked,)},
        ...                  by_model={"m": {0: {"a": yes}}}, outcomes={"m": {}}, keys={},
        ...                  logliks={("m", 0, "a"): -1.2}, n_tokens={("m", 0, "a"): 4})
        >>> found.perplexity(by="condition").round(2).to_dict()
        {('m', 'social'): 1.35}
        """
        import pandas as pd

        rows, of = self.likelihoods(), of or {}
        by = (by,) if isinstance(by, str) else tuple(by)
        told = (*by, *(name for name, wanted in of.items() if wanted is not None))
        unknown = [name for name in told if name not in rows.columns]
        if len(rows) and unknown:
            known = ", ".join(map(str, rows.columns))
            msg = f"replies have no column {unknown[0]!r}: choose from {known}"
            raise LabelError(msg)
        for name, wanted in of.items():
            own = rows.get(name)
            if own is not None:
                several = isinstance(wanted, list | tuple | set)
                of_these = own.isin(wanted if several else [wanted])
                rows = rows[own.isna() if wanted is None else of_these]
        sums = rows.reindex(columns=["model", *by, "loglik", "n_tokens"])
        sums = sums.groupby(["model", *by], sort=False, dropna=False)[["loglik", "n_tokens"]].sum()
        mean = (sums["loglik"] / sums["n_tokens"]).astype(float)
        return pd.Series(np.exp(-mean.to_numpy()), mean.index, name="perplexity")

    def _likely(self, logliks: Mapping[str, float | None]) -> dict[str, Any]:
        """Return the log-likelihoods if the instrument uses them, or an empty dictionary."""
        if self.instrument != "semantic_sampling":
            return {}
        known = {key: one for key, one in logliks.items() if one is not None}
        return {"loglik": known} if known else {}

    def summary(self) -> str:
        """Describe the outcomes of each model's requests in words."""
        n_models = len(self.by_model)
        n = len(
            {key for samples in self.by_model.values() for one in samples.values() for key in one}
        )
        lines = [f"{self.instrument}: {n} prompts were sent to {_counted(n_models, 'model')}."]
        for model, kinds in self.outcomes.items():
            told = [f"{count} {kind.replace('_', ' ')}" for kind, count in kinds.items()]
            lines.append(f"{model}: {', '.join(told)}")
        return "\n".join(lines)

    def to_frame(self) -> "pd.DataFrame":
        """Return a data frame with one row per prompt, model and sample.

        Examples
        --------
        >>> Readings(instrument="rule_world", prompts={}, by_model={}, outcomes={},
        ...          keys={}).to_frame().columns[:4].tolist()
        ['model', 'sample', 'prompt_key', 'item']
        """
        import pandas as pd

        rows = []
        for model, samples in self.by_model.items():
            items = {prompt.key: prompt.item for prompt in self.prompts[model]}
            for sample, own in samples.items():
                for key, reading in own.items():
                    known = reading or _FAILED
                    cells = (str(known.outcome), known.value, known.said)
                    rows.append((model, sample, key, items[key], *cells))
        columns = ["model", "sample", "prompt_key", "item", "outcome", "value", "said"]
        return pd.DataFrame(rows, columns=columns)


_FAILED = Reading(outcome=Outcome.FAILED)
_LIKELIHOODS = (
    "model", "sample", "prompt_key", "item", "outcome", "value", "correct", "loglik", "n_tokens",
    "perplexity",
)  # fmt: skip
_RIGHT = {"correct": 1.0, "wrong": 0.0}


def _correct(prompt: Prompt, reading: Reading) -> float:
    """Return 1 if an answer is correct, 0 if it is wrong, and NaN if it is not graded."""
    if not reading.answered:
        return float("nan")
    if prompt.about.get("stage") == "task" or prompt.about.get("part") == "answer":
        return float(reading.value or 0)  # the grade in `SelfEfficacy` and `SelfPrediction`
    return _RIGHT.get(str(reading.value).partition(" ")[0], float("nan"))


def _again(prompt: Prompt, sample: int, repeats: int) -> Prompt:
    """Return the prompt of one administration; the first administration's prompt is unchanged."""
    if not repeats:
        return prompt
    follows = None if prompt.follows is None else f"{prompt.follows}#{sample}"
    key = f"{prompt.key}#{sample}"
    return replace(prompt, key=key, follows=follows, repeat=prompt.repeat + repeats)


def instruments_in(store: Store) -> dict[str, int]:
    """Return the instruments that have prompts in a store, and the number of requests of each.

    Parameters
    ----------
    store : Store
        Store with the requests and replies of a run.

    Raises
    ------
    LabelError
        If a prompt names no instrument.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     instruments_in(store)
    {}
    """
    query = (
        "SELECT count(*) AS n, prompt FROM request WHERE superseded = 0 "
        "GROUP BY json_extract(prompt, '$.about.instrument')"
    )
    found = ((instrument_of(prompt_of(row["prompt"])), row["n"]) for row in store.rows(query))
    return dict(sorted(found))


def arms_in(store: Store, *, instrument: str | None = None) -> tuple[str, ...]:
    """Return the names of the study arms in a store, in the order of the plan.

    Parameters
    ----------
    store : Store
        Store with the requests and replies of a run.
    instrument : str, optional
        Name of the instrument; required if the store has prompts of several instruments.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     arms_in(store, instrument="rule_world")
    ()
    """
    query = (
        "SELECT json_extract(prompt, '$.about.study_arm') AS arm, prompt FROM request "
        "WHERE superseded = 0 GROUP BY json_extract(prompt, '$.about.instrument'), arm "
        "ORDER BY min(id)"
    )
    held = [(row["arm"], instrument_of(prompt_of(row["prompt"]))) for row in store.rows(query)]
    return tuple(arm for arm, name in held if arm and name == (instrument or name))


def readings(
    store: Store,
    *,
    instrument: str | None = None,
    arm: str | None = None,
    n_jobs: int | None = None,
) -> Readings:
    """Parse every reply of a store, without sending requests.

    Parameters
    ----------
    store : Store
        Store with the requests and replies of a run.
    instrument : str, optional
        Name of the instrument; required if the store has prompts of several instruments.
    arm : str, optional
        Name of one arm of the study; its models are then labelled by their names in the study. The
        name is required if the plan has several arms (`arms_in`).
    n_jobs : int, optional
        Number of workers. Threads do not speed up parsing, because the parsers are pure Python.
        With processes, ``joblib.parallel_config(backend="loky")``, parsing several hundred
        thousand replies takes half the time on two cores.

    Returns
    -------
    Readings
        Parsed replies of all models and samples. The reply to a request that failed or was not
        sent yet is None. A judge's verdicts are listed under the model whose replies the judge has
        rated.

    Raises
    ------
    StoreError
        If the store is empty.
    LabelError
        If a prompt names no instrument, if `instrument` or `arm` is missing although the store
        has several, or if one key belongs to several prompts.

    Examples
    --------
    >>> with Store(getfixture("tmp_path") / "run.sqlite") as store:
    ...     readings(store)
    Traceback (most recent call last):
    psychollm.collect.errors.StoreError: ...run.sqlite holds no requests
    """
    name = _chosen(store, instrument)
    arms = arms_in(store, instrument=name)
    if arm not in arms and (arm is not None or len(arms) > 1):
        held = f"{store.path} holds {'the arms ' + ', '.join(arms) if arms else 'no arms'}"
        choose = parameter("arm", python="arm=...")
        end = f"choose one with {choose}" if arm is None else f"{arm!r} is none of them"
        msg = f"{held} of {name}: {end}"
        raise LabelError(msg)
    own = (one for one in said(store) if arm is None or arm_of(one[0]) == arm)
    return readings_of(own, name, workers(n_jobs))


def readings_of(
    rows: Iterable[tuple[Prompt, Row]], name: str, who: Workers | None = None
) -> Readings:
    """Parse the replies to the prompts of one instrument."""
    prompts: dict[str, dict[str, Prompt]] = {}
    by_model: dict[str, dict[int, dict[str, Reading | None]]] = {}
    outcomes = defaultdict[str, Counter[str]](Counter)
    keys: dict[tuple[str, int, str], str] = {}
    logliks: dict[tuple[str, int, str], float] = {}
    n_tokens: dict[tuple[str, int, str], int] = {}
    labels: dict[str, str] = {}  # maps names in the plan, which judges use, to names in the study
    own_rows = (each for each in rows if each[0].about.get("instrument") == name)
    for prompt, row, reading in _read(own_rows, name, who or workers(1)):
        model, sample, key = _whose(prompt, row)
        if LABEL in prompt.about:
            labels[model] = label_of(prompt, model)
        place = model, sample, key = labels.get(model, model), sample, key
        own = by_model.setdefault(model, {}).setdefault(sample, {})
        if key in own:
            fault = "belongs to several prompts: give each repeat its own key"
            if "judges" in prompt.about:
                fault = "was sent to several judges: use a separate store for each judge"
            msg = f"prompt {key!r} {fault}"
            raise LabelError(msg)
        prompts.setdefault(model, {}).setdefault(key, prompt)
        keys[place] = row["key"]
        own[key] = reading
        if row["sequence_logprob"] is not None:
            logliks[place] = row["sequence_logprob"]
            n_tokens[place] = row["sequence_tokens"]
        who_said = str(row["model"])
        outcomes[labels.get(who_said, who_said)][_kind(reading, row["state"])] += 1
    return Readings(
        instrument=name,
        prompts={model: tuple(known.values()) for model, known in prompts.items()},
        by_model=by_model,
        outcomes={model: _ordered(kinds) for model, kinds in outcomes.items()},
        keys=keys,
        logliks=logliks,
        n_tokens=n_tokens,
    )


# A prompt (as JSON for worker processes), the reply, and the finish reason.
Said: TypeAlias = tuple[Prompt | str, str | None, str | None]


def _read(
    rows: Iterable[tuple[Prompt, Row]], name: str, who: Workers
) -> Iterator[tuple[Prompt, Row, Reading | None]]:
    """Yield rows with their parsed replies, in batches that workers parse."""
    rows, waiting = iter(rows), deque[list[tuple[Prompt, Row]]]()

    def batches() -> Iterator[list[Said]]:
        while batch := list(islice(rows, BATCH)):
            waiting.append(batch)
            yield [
                (prompt if who.shared else row["prompt"], _reply(row), row["finish_reason"])
                for prompt, row in batch
            ]

    # This thread passes the replies to the workers, because SQLite allows only this thread to
    # read the store.
    with closing(spread(partial(_read_batch, name), batches(), who, waiting=8)) as found:
        for readings in found:
            for (prompt, row), reading in zip(waiting.popleft(), readings, strict=True):
                yield prompt, row, reading


def _reply(row: Row) -> str | None:
    """Return the text of a reply, including reasoning that the server sent separately."""
    return None if row["text"] is None else with_reasoning(row["text"], row["reasoning"])


def _read_batch(name: str, batch: list[Said]) -> list[Reading | None]:
    read = reader_of(name)
    return [
        None if reply is None else read(_prompt(prompt), reply, finish_reason=reason)
        for prompt, reply, reason in batch
    ]


def _prompt(told: Prompt | str) -> Prompt:
    return prompt_of(told) if isinstance(told, str) else told


def _whose(prompt: Prompt, row: Row) -> tuple[str, int, str]:
    """Return model, sample and prompt; for verdicts, model and sample refer to the rated reply."""
    judged = prompt.about.get("judges")
    if judged is None:
        return row["model"], row["sample"], prompt.key
    return judged, int(prompt.about.get("run", 1)) - 1, prompt.key


def _chosen(store: Store, instrument: str | None) -> str:
    """Return the instrument whose replies are parsed, by default the only one in the store."""
    names = instruments_in(store)
    if not names:
        msg = f"{store.path} holds no requests"
        raise StoreError(msg)
    if instrument is None and len(names) == 1:
        return next(iter(names))
    if instrument in names:
        return str(instrument)
    held = f"{store.path} holds prompts of {', '.join(names)}"
    if instrument is None:
        msg = f"{held}: choose one with {parameter('instrument', python='instrument=...')}"
    else:
        msg = f"{held}: {instrument!r} is none of them"
    raise LabelError(msg)


def _kind(reading: Reading | None, state: str) -> str:
    if reading is not None:
        return str(reading.outcome)
    return str(Outcome.FAILED) if state == "failed" else NOT_ASKED


def _ordered(kinds: Mapping[str, int]) -> dict[str, int]:
    """Sort counts in the order in which outcomes are defined."""
    order = [*map(str, Outcome), NOT_ASKED]
    return {kind: kinds[kind] for kind in order if kind in kinds}


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" + ("s" if n != 1 else "")
