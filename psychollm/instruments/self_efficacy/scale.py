"""A rating scale: what it states, how agreement is graded, and what is turned round in scoring."""

from dataclasses import dataclass

import numpy as np

from psychollm._base.errors import InputError, ShapeError
from psychollm._base.types import FloatArray
from psychollm.data.labels import listed

ANCHORS = ("not at all true", "slightly true", "mostly true", "exactly true")
_ITEMS = (
    "A demanding assignment is something I can see through to the end.",
    "What I have begun I finish, even where it turns out to be tedious.",
    "Objections from others do not keep me from reaching a good result.",
    "A request unlike any I have met before is still one I can work out.",
    "When my first attempt has failed, I come up with another way.",
    "Under pressure my judgement stays sound.",
    "I notice early when something is going wrong, and put it right.",
    "Where instructions are vague, I find a sensible way forward.",
    "Given enough care, hardly any question is too hard for me.",
    "Several things asked of me at once do not throw me off.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Statements to be rated, all on the same points.

    Parameters
    ----------
    name : str
        A short name; keys of prompts begin with it.
    items : tuple of str
        The statements.
    anchors : tuple of str
        What the points are called, from the lowest, which is `low`.
    low : int
        Number of the lowest point.
    reversed : tuple of int
        Numbers, from 1, of items that state the opposite of what the scale measures.
    source : str
        Where the text comes from.

    Raises
    ------
    InputError
        If there is no item or fewer than two points, a text is blank or occurs twice, or a
        reversed item does not exist.

    Examples
    --------
    >>> Scale(name="two", items=("I cope.", "I fail."), reversed=(2,)).keyed([[4, 1]])
    array([[4., 4.]])
    """

    name: str
    items: tuple[str, ...]
    anchors: tuple[str, ...] = ANCHORS
    low: int = 1
    reversed: tuple[int, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        if not self.name.strip() or "/" in self.name:
            msg = f"name={self.name!r} must be a short name without a stroke"
            raise InputError(msg)
        _check_texts("items", self.items, 1)
        _check_texts("anchors", self.anchors, 2)
        wrong = [one for one in self.reversed if not 1 <= one <= len(self.items)]
        if wrong or len(set(self.reversed)) < len(self.reversed):
            msg = (
                f"reversed={self.reversed!r} must hold numbers of items, 1 to {len(self.items)}, "
                "each once"
            )
            raise InputError(msg)

    @property
    def high(self) -> int:
        """Number of the highest point."""
        return self.low + len(self.anchors) - 1

    @property
    def labels(self) -> dict[str, int]:
        """The number of each point by what it is called."""
        return {name: self.low + place for place, name in enumerate(self.anchors)}

    def keyed(self, ratings: object) -> FloatArray:
        """Return ratings with those of reversed items turned round.

        Parameters
        ----------
        ratings : array_like (rows, items)
            NaN where missing.

        Raises
        ------
        ShapeError
            If there is not one column per item.
        """
        return keyed(ratings, self.reversed, self.low, self.high, len(self.items))


def keyed(
    ratings: object, reversed_items: tuple[int, ...], low: int, high: int, n_items: int
) -> FloatArray:
    """Return ratings with those of reversed items turned round: low + high - rating."""
    values = np.array(ratings, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != n_items:
        msg = f"ratings has shape {values.shape}: it needs one column per item ({n_items})"
        raise ShapeError(msg)
    columns = [number - 1 for number in reversed_items]
    values[:, columns] = low + high - values[:, columns]
    return values


def _check_texts(name: str, texts: tuple[str, ...], least: int) -> None:
    if isinstance(texts, str) or len(texts) < least:
        msg = f"{name}={texts!r} must hold at least {least} texts"
        raise InputError(msg)
    blank = [place for place, text in enumerate(texts, 1) if not str(text).strip()]
    if blank:
        msg = f"{name}: number {blank[0]} of {len(texts)} is blank"
        raise InputError(msg)
    twice = [text for text in dict.fromkeys(texts) if texts.count(text) > 1]
    if twice:
        msg = f"{name}: {listed(twice)} occurs more than once"
        raise InputError(msg)


# Ten statements of our own on coping with demands, in the format of the General Self-Efficacy
# Scale: four points, no reversed items. Its norms are not those of that scale.
COPING = Scale(
    name="coping",
    items=_ITEMS,
    source="psychollm: in the format of the General Self-Efficacy Scale, with words of its own",
)
