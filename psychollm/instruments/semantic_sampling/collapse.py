r"""From texts to classes of meaning.

A collapse :math:`B` takes the answers sampled to one question to numbered classes. Where sameness
is a matter of equal keys (the text, its normal form, a function of it), classes are those of an
equivalence. Where it is a relation :math:`a \sim b` between two answers (numbers within a
tolerance, entailment both ways, a judge), the relation need not be transitive: 1.0, 1.4 and 1.8
with a tolerance of 0.5. Then classes are formed by leaders: answers are taken in turn, the most
frequent first, of equally frequent ones the shorter, then by alphabet; each joins the first leader
that it is related to,

.. math:: B(a) = \min \{ j : a \sim \ell_j \},                                            \quad (1)

or becomes a leader itself. The order comes from the answers alone, so that classes do not depend
on the order in which they were sampled. They do depend on how often each occurs; that keeps what
most samples say in the middle of its class rather than at its edge.
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
    """A way of putting answers of the same meaning together."""

    method: Method | Literal["judge"]
    key: Key  # answers with equal keys are of one class
    same: Same | None = None  # beyond that, answers so related
    options: tuple[tuple[str, float], ...] = ()  # what the method was given

    def __call__(self, question: str, texts: Sequence[str]) -> list[int]:
        """Return the class of each answer, the most frequent wording's first."""
        keys = [self.key(text) for text in texts]
        wording = wordings(keys, texts)
        if self.same is None:
            number: dict[Hashable, int] = {key: i for i, key in enumerate(wording)}
        else:
            number = self._led(question, wording)
        return [number[key] for key in keys]

    def _led(self, question: str, wording: Mapping[Hashable, str]) -> dict[Hashable, int]:
        """Return classes by leaders (1)."""
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
        """Return what a prompt's `about` holds of it."""
        return {"method": self.method, **dict(self.options)}


def wordings(keys: Sequence[Hashable], texts: Sequence[str]) -> dict[Hashable, str]:
    """Return the commonest text of each key, keys in the order of leaders."""
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
    """Put equal texts together."""
    return Collapse(method="exact", key=str.strip)


def normalised() -> Collapse:
    """Put texts together that are equal as `normalise` writes them."""
    return Collapse(method="normalised", key=normal_form)


def normal_form(text: str) -> str:
    """Return the normal form of an answer; an answer of signs or articles alone stays itself."""
    return normalise(text) or text.strip().casefold()


def numeric(*, absolute: float = 0.0, relative: float = 0.0) -> Collapse:
    """Put numbers together that differ within a tolerance, and other texts by their normal form.

    Parameters
    ----------
    absolute, relative : float
        Tolerances: absolute, or as a share of the larger of the two numbers.

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
            msg = f"{name}={value} is no tolerance: it must be finite and not negative"
            raise OptionError(msg)

    def close(_: str, first: str, second: str) -> bool:
        one, other = _number(first), _number(second)
        if isinstance(one, str) or isinstance(other, str):
            return one == other
        allowed = max(absolute, relative * max(abs(one), abs(other)))
        # Tolerances are decimals: 3.1 lies within 0.1 of 3 although 3.1 - 3 > 0.1 in binary.
        return abs(one - other) <= allowed + 1e-12 * max(abs(one), abs(other))

    options = (("absolute", float(absolute)), ("relative", float(relative)))
    return Collapse(method="numeric", key=_number, same=close, options=options)


def _number(text: str) -> float | str:
    value = read_number(text).value
    return normal_form(text) if value is None else float(value)


def by_function(key: Key) -> Collapse:
    """Put texts together of which a function returns the same.

    Parameters
    ----------
    key : callable
        Takes an answer; returns anything hashable, the label of its class.

    Examples
    --------
    >>> by_function(len)("Where?", ["Rome", "Bern", "Oslo", "Paris"])
    [0, 0, 0, 1]
    """
    return Collapse(method="function", key=key)


def by_relation(same: Same) -> Collapse:
    """Put texts together that a function calls the same, by leaders (1).

    Parameters
    ----------
    same : callable
        Takes the question, a leader and an answer; tells whether the two mean the same. It is
        asked once for each pair that has different normal forms.

    Examples
    --------
    >>> by_relation(lambda question, a, b: a[0] == b[0])("Where?", ["Rome", "Bern", "Riga"])
    [1, 0, 1]
    """
    return Collapse(method="relation", key=normal_form, same=same)


def by_entailment(entails: Callable[[str, str], float], *, threshold: float = 0.5) -> Collapse:
    """Put answers together that entail each other, by leaders (1).

    Parameters
    ----------
    entails : callable
        A model of natural language inference: takes a premise and a hypothesis, each the question
        with an answer behind it, and returns the probability, or the truth, that one follows from
        the other.
    threshold : float
        Probability from which it does.

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
    """Return the collapse that a prompt's `about` names."""
    options = dict(spec)
    method = options.pop("method", "normalised")
    check_choice("method", method, Method)
    made = {"exact": exact, "normalised": normalised, "numeric": numeric}
    if method not in made:
        msg = f"the answers are collapsed by {method}: pass collapse=by_{method}(...) to score"
        raise InputError(msg)
    return made[method](**options)
