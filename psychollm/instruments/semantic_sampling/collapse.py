r"""Grouping of texts into classes of equal meaning.

A collapse :math:`B` maps the answers sampled for one question to numbered classes. If answers have
the same meaning whenever their keys are equal, the classes are equivalence classes. A key is the
text, its normal form or the value of a function. A relation :math:`a \sim b` between two answers
(numbers within a tolerance, mutual entailment, the verdict of a judge) need not be transitive.
With a tolerance of 0.5, for example, 1.4 is related to 1.0 and to 1.8, which are not related to
each other. For a relation that is not transitive, classes are formed by the leader algorithm.
Answers are processed in order of decreasing frequency; ties are ordered by length, then
alphabetically. Each answer joins the first leader to which it is related, as in equation (1), or
becomes a leader itself.

.. math:: B(a) = \min \{ j : a \sim \ell_j \}.                                            \quad (1)

Because the order depends only on the answers, classes do not depend on the sampling order. Classes
depend on frequencies, so the most frequent answer is at the centre of its class and not at its
edge.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from psychollm._base.checks import check_choice, check_fraction
from psychollm._base.errors import InputError, OptionError
from psychollm.instruments.grading import normalise
from psychollm.instruments.readers.number import read_number

Method: TypeAlias = Literal["exact", "normalised", "numeric", "function", "relation", "entailment"]
Key: TypeAlias = Callable[[str], Hashable]
Same: TypeAlias = Callable[[str, str, str], bool]  # question, answer, answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Collapse:
    """Rule that groups answers with the same meaning."""

    method: Method | Literal["judge"]
    key: Key  # answers with equal keys form one class
    same: Same | None = None  # relation that joins answers with different keys
    options: tuple[tuple[str, float], ...] = ()  # parameters of the rule, for the prompts

    def __call__(self, question: str, texts: Sequence[str]) -> list[int]:
        """Return the class of each answer, numbered by the frequency of wordings."""
        keys = [self.key(text) for text in texts]
        wording = wordings(keys, texts)
        if self.same is None:
            number: dict[Hashable, int] = {key: i for i, key in enumerate(wording)}
        else:
            number = self._led(question, wording)
        return [number[key] for key in keys]

    def _led(self, question: str, wording: Mapping[Hashable, str]) -> dict[Hashable, int]:
        """Return the classes formed by the leader algorithm."""
        leaders: list[str] = []
        number: dict[Hashable, int] = {}
        for key, text in wording.items():
            related = (
                i
                for i, leader in enumerate(leaders)
                if self.same is not None and self.same(question, leader, text)
            )
            number[key] = next(related, len(leaders))
            if number[key] == len(leaders):
                leaders.append(text)
        return number

    def spec(self) -> dict[str, Any]:
        """Return the entries of a prompt's `about` that record this rule."""
        return {"method": self.method, **dict(self.options)}


def wordings(keys: Sequence[Hashable], texts: Sequence[str]) -> dict[Hashable, str]:
    """Return the most frequent text of each key; the most frequent key comes first."""
    commonest = {}
    for key in dict.fromkeys(keys):
        counts = Counter(text for one, text in zip(keys, texts, strict=True) if one == key)
        commonest[key] = min(counts, key=lambda text: _rank(counts[text], text))
    often = Counter(keys)
    order = sorted(commonest, key=lambda key: _rank(often[key], commonest[key]))
    return {key: commonest[key] for key in order}


def _rank(count: int, text: str) -> tuple[int, int, str]:
    return -count, len(text), text


def exact() -> Collapse:
    """Group equal texts."""
    return Collapse(method="exact", key=str.strip)


def normalised() -> Collapse:
    """Group texts with the same normal form (`normalise`)."""
    return Collapse(method="normalised", key=normal_form)


def normal_form(text: str) -> str:
    """Return the normal form of an answer, or the answer if its normal form is empty."""
    return normalise(text) or text.strip().casefold()


def numeric(*, absolute: float = 0.0, relative: float = 0.0) -> Collapse:
    """Group numbers that differ within a tolerance, and other texts by their normal form.

    Parameters
    ----------
    absolute, relative : float
        Absolute tolerance, and tolerance as a proportion of the larger number.

    Raises
    ------
    OptionError
        If a tolerance is negative or not finite.

    Examples
    --------
    >>> numeric(absolute=0.5)("How many?", ["12", "twelve", "12.4 cups", "13", "many"])
    [0, 0, 0, 1, 2]
    """
    for name, value in (("absolute", absolute), ("relative", relative)):
        if not 0.0 <= value < float("inf"):
            msg = f"{name}={value} must be finite and not negative"
            raise OptionError(msg)

    def close(_: str, first: str, second: str) -> bool:
        one, other = _number(first), _number(second)
        if isinstance(one, str) or isinstance(other, str):
            return one == other
        allowed = max(absolute, relative * max(abs(one), abs(other)))
        # Tolerances are decimal numbers, but in binary arithmetic 3.1 - 3 exceeds 0.1. A small
        # margin corrects for this.
        return abs(one - other) <= allowed + 1e-12 * max(abs(one), abs(other))

    options = (("absolute", float(absolute)), ("relative", float(relative)))
    return Collapse(method="numeric", key=_number, same=close, options=options)


def _number(text: str) -> float | str:
    value = read_number(text).value
    return normal_form(text) if value is None else float(value)


def by_function(key: Key) -> Collapse:
    """Group texts for which a function returns the same value.

    Parameters
    ----------
    key : callable
        Function of an answer that returns a hashable label of its class.

    Examples
    --------
    >>> by_function(len)("Where?", ["Rome", "Bern", "Oslo", "Paris"])
    [0, 0, 0, 1]
    """
    return Collapse(method="function", key=key)


def by_relation(same: Same) -> Collapse:
    """Group texts that a function considers equal in meaning, by the leader algorithm.

    Parameters
    ----------
    same : callable
        Function of the question, a leader and an answer that returns whether leader and answer
        have the same meaning. The function is called once for each pair with different normal
        forms.

    Examples
    --------
    >>> by_relation(lambda question, a, b: a[0] == b[0])("Where?", ["Rome", "Bern", "Riga"])
    [1, 0, 1]
    """
    return Collapse(method="relation", key=normal_form, same=same)


def by_entailment(entails: Callable[[str, str], float], *, threshold: float = 0.5) -> Collapse:
    """Group answers that entail each other, by the leader algorithm.

    Parameters
    ----------
    entails : callable
        Natural language inference model: a function of a premise and a hypothesis that returns the
        probability, or the truth, of entailment. Premise and hypothesis each consist of the
        question followed by an answer.
    threshold : float
        Smallest probability that counts as entailment.

    References
    ----------
    Kuhn, L., Gal, Y., & Farquhar, S. (2023). Semantic uncertainty: linguistic invariances for
    uncertainty estimation in natural language generation. ICLR.

    Examples
    --------
    >>> knows = lambda premise, hypothesis: hypothesis.split()[-1] in premise
    >>> by_entailment(knows)("Where?", ["in Rome", "Rome", "Bern"])
    [1, 1, 0]
    """
    check_fraction("threshold", threshold)

    def both_ways(question: str, first: str, second: str) -> bool:
        one, other = f"{question} {first}", f"{question} {second}"
        return entails(one, other) >= threshold and entails(other, one) >= threshold

    return Collapse(method="entailment", key=normal_form, same=both_ways)


def as_collapse(spec: Mapping[str, Any]) -> Collapse:
    """Return the rule for collapsing answers that a prompt specifies in `about`."""
    options = dict(spec)
    method = options.pop("method", "normalised")
    check_choice("method", method, Method)
    made = {"exact": exact, "normalised": normalised, "numeric": numeric}
    if method not in made:
        msg = f"the answers are collapsed by {method}: pass collapse=by_{method}(...) to score"
        raise InputError(msg)
    return made[method](**options)
