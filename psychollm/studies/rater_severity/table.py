"""Read ratings from a long table or a table objects x raters."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psychollm._base.checks import is_missing, plain_array
from psychollm._base.errors import CodeError, LabelError, OptionError, ShapeError
from psychollm._base.frames import IDS, QUESTIONS, SCORES, in_pandas, is_called, long_table
from psychollm._base.types import AnyArray, FloatArray, IntArray
from psychollm.data.dates import days_in
from psychollm.data.labels import Labels, Table, listed, numbered, unit_labels
from psychollm.data.table import as_table
from psychollm.reliability.means.repeated_scores import stacked_runs
from psychollm.reliability.raters.ratings import encode_categories, holds_runs

THINGS = ("thing", "unit", "conversation", "output", "answer", "text", *QUESTIONS, *IDS)
RATERS = ("rater", "judge", "annotator", "grader", "coder", "worker", "scorer", "reviewer")
RATINGS = ("rating", "verdict", "judgement", "judgment", "grade", "label", "vote", *SCORES)
MOST_RATINGS = 11  # largest number of different ratings
LEAST_THINGS = 5
# Words recognised without `categories`, grouped into no, between and yes.
_NO = {"no", "n", "false", "incorrect", "wrong", "fail", "failed", "bad", "reject", "rejected"}
_YES = {"yes", "y", "true", "correct", "right", "pass", "passed", "good", "accept", "accepted"}
_BETWEEN = {"unsure", "maybe", "tie", "neutral", "uncertain", "undecided", "don't know", "unclear"}


@dataclass(frozen=True, slots=True, eq=False)
class Rated:
    """Ratings as integer codes."""

    thing: IntArray  # (N,)
    rater: IntArray  # (N,)
    rating: IntArray  # (N,) index of the category, in increasing order
    time: FloatArray | None  # (N,) time from -1/2 to 1/2
    group: IntArray | None  # (things,)
    things: Labels
    raters: Labels
    groups: Labels
    categories: Labels
    unsure: bool  # whether the middle of three ratings is "unsure", between no and yes

    @property
    def values(self) -> FloatArray:
        """Value of each category: its number, or its position from 0 to 1."""
        if all(isinstance(one, int | float) for one in self.categories) and not self.unsure:
            return np.array(self.categories, dtype=np.float64)
        return np.linspace(0.0, 1.0, len(self.categories))

    @property
    def table(self) -> FloatArray:
        """Values, objects x raters; NaN if missing, and the last value if a rating is repeated."""
        cells = np.full((len(self.things), len(self.raters)), np.nan)
        cells[self.thing, self.rater] = self.values[self.rating]
        return cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Names of the columns, or of the ratings."""

    thing: str | None
    rater: str | None
    rating: str | None
    time: Any
    group: Any
    categories: Iterable[Hashable] | None
    unsure: Any


def rated_of(ratings: Any, naming: Naming) -> Rated:
    """Return ratings in any format as integer codes."""
    frame = in_pandas(ratings)
    columns = _long_columns(frame, naming)
    if columns is None:
        return _of_table(ratings, naming)
    return _of_long(frame, columns, naming)


def _long_columns(frame: Any, naming: Naming) -> list[str] | None:
    """Return the columns of object, rater and rating; None for a table objects x raters."""
    given = {"thing": naming.thing, "rater": naming.rater, "rating": naming.rating}
    header = list(getattr(frame, "columns", ()))
    named = any(name is not None for name in given.values())
    if named and not header:
        msg = (
            f"ratings is a {type(frame).__name__}: column names require a long table, a "
            "DataFrame with one row per rating"
        )
        raise ShapeError(msg)
    found: list[str] = []
    for role, names in (("thing", THINGS), ("rater", RATERS), ("rating", RATINGS)):
        chosen = given[role]
        if chosen is None:
            fitting = [one for one in header if is_called(one, names) and one not in found]
            exact = [one for one in fitting if one == role] or fitting
            if not exact or (len(exact) > 1 and not named):
                if not named:
                    return None
                which = f"several may be: {listed(exact)}" if exact else "there is no known name"
                msg = f"ratings has no single column of the {role}: {which}; pass {role}="
                raise LabelError(msg)
            chosen = exact[0]
        found.append(chosen)
    return found


def _of_long(frame: Any, columns: list[str], naming: Naming) -> Rated:
    texts = [one for one in (naming.time, naming.group) if isinstance(one, str)]
    wanted = [*columns, *texts]
    if len(set(wanted)) < len(wanted):
        msg = f"ratings: columns {wanted} must be different"
        raise LabelError(msg)
    table = long_table(frame, wanted, argument="ratings", row="rating")
    thing, rater, rating = columns
    cells = plain_array(table[rating], rating)
    held = ~is_missing(cells) & (cells != "") if cells.dtype == object else ~is_missing(cells)
    table, cells = table[held], cells[held]
    places, labels = [], []
    for column in (thing, rater):
        values = table[column].tolist()
        gaps = np.flatnonzero(table[column].isna())
        if gaps.size:
            row = int(np.flatnonzero(held)[gaps[0]]) + 1
            msg = f"ratings: row {row} has no {column}: name it"
            raise LabelError(msg)
        codes, distinct = numbered(values)
        places.append(codes)
        labels.append(distinct)
    if not cells.size:
        msg = f"ratings: column {rating!r} has no ratings"
        raise ShapeError(msg)

    def name(cell: Sequence[int]) -> str:
        return f"{thing} {table[thing].iloc[cell[0]]!r}, {rater} {table[rater].iloc[cell[0]]!r}"

    time = table[naming.time] if isinstance(naming.time, str) else naming.time
    if time is not None and not isinstance(naming.time, str):
        time = _by_thing(time, labels[0], "time")[places[0]]
    if time is None:
        pairs = np.unique(places[0] * len(labels[1]) + places[1], return_counts=True)
        if (pairs[1] > 1).any():
            t, r = divmod(int(pairs[0][np.argmax(pairs[1] > 1)]), len(labels[1]))
            msg = (
                f"ratings: {thing} {labels[0][t]!r}, {rater} {labels[1][r]!r} has more than one "
                f"{rating}: aggregate them, or pass time= if they were made in turn"
            )
            raise LabelError(msg)
    group = naming.group
    if isinstance(group, str):
        of: dict[int, Any] = {}
        for place, one in zip(places[0].tolist(), table[group].tolist(), strict=True):
            if of.setdefault(place, one) != one:
                msg = (
                    f"ratings: {thing} {labels[0][place]!r} has groups {of[place]!r} and {one!r} "
                    f"in column {group!r}: a thing has one group"
                )
                raise LabelError(msg)
        group = [of[place] for place in range(len(labels[0]))]
    return _made((places[0], places[1]), (labels[0], labels[1]), cells, name, time, group, naming)


def _of_table(ratings: Any, naming: Naming) -> Rated:
    for role in ("time", "group"):
        if isinstance(getattr(naming, role), str):
            msg = (
                f"{role}={getattr(naming, role)!r} is a column name, but ratings is a table "
                f"things x raters: pass one {role} per thing"
            )
            raise OptionError(msg)
    if holds_runs(ratings):
        stack, (models, items, runs) = stacked_runs(
            ratings, range(len(ratings)), argument="ratings"
        )
        if len(models) > 1:
            msg = f"ratings has tables of {len(models)} rows: pass one list per rater"
            raise ShapeError(msg)
        known = Table(stack[0], items, runs)
    else:
        known = as_table(ratings, argument="ratings")
    cells = plain_array(known.values, "ratings")
    gaps = is_missing(cells) | (cells == "") if cells.dtype == object else is_missing(cells)
    thing, rater = np.nonzero(~gaps)
    if not thing.size:
        msg = "ratings: every cell is missing"
        raise ShapeError(msg)
    seen = np.unique(thing)  # objects without ratings carry no information
    things = tuple(known.models[place] for place in seen)

    def name(cell: Sequence[int]) -> str:
        return f"thing {known.models[thing[cell[0]]]!r}, rater {known.questions[rater[cell[0]]]!r}"

    time, group = naming.time, naming.group
    places = np.searchsorted(seen, thing)
    if time is not None:
        time = _by_thing(time, known.models, "time")[thing]
    if group is not None:
        every = unit_labels(group, known.models, argument="group", kind="thing", optional=True)
        group = [every[place] for place in seen]
    used, columns = np.unique(rater, return_inverse=True)
    raters = tuple(known.questions[place] for place in used)
    return _made((places, columns), (things, raters), cells[thing, rater], name, time, group,
                 naming)  # fmt: skip


def _by_thing(values: Any, things: Labels, argument: str) -> AnyArray:
    return np.array(unit_labels(values, things, argument=argument, kind="thing"), dtype=object)


def _made(
    places: tuple[IntArray, IntArray],
    labels: tuple[Labels, Labels],
    cells: AnyArray,
    name: Any,
    time: Any,
    group: Any,
    naming: Naming,
) -> Rated:
    things, raters = labels
    if len(raters) < 2:
        msg = f"ratings has one rater, {raters[0]!r}: severity needs at least two"
        raise ShapeError(msg)
    if len(things) < LEAST_THINGS:
        msg = f"ratings has {len(things)} things, but at least {LEAST_THINGS} are required"
        raise ShapeError(msg)
    codes, categories, unsure = _ordered(cells, name, naming)
    member: IntArray | None = None
    groups: Labels = ()
    if group is not None:
        member, groups = numbered(unit_labels(group, things, argument="group", kind="thing"))
        if len(groups) < 2:
            msg = f"group has one group, {groups[0]!r}: an interaction needs at least two"
            raise OptionError(msg)
    return Rated(
        thing=places[0],
        rater=places[1],
        rating=codes,
        time=None if time is None else _scaled(time, places[0], things),
        group=member,
        things=things,
        raters=raters,
        groups=groups,
        categories=categories,
        unsure=unsure,
    )


def _scaled(time: Any, thing: IntArray, things: Labels) -> FloatArray:
    """Return times from -1/2 (the first) to 1/2 (the last)."""
    import pandas as pd

    column = pd.Series(list(time))
    gaps = np.flatnonzero(column.isna())
    if gaps.size:
        msg = f"time: a rating of thing {things[thing[gaps[0]]]!r} is missing: pass one per rating"
        raise LabelError(msg)
    if not pd.api.types.is_numeric_dtype(column.infer_objects()):
        try:
            column = pd.Series(days_in(column.tolist(), "time"))
        except (TypeError, LabelError) as error:
            msg = f"{error}: pass numbers or dates"
            raise CodeError(msg) from error
    values = column.to_numpy(dtype=np.float64)
    low, high = values.min(), values.max()
    if not np.isfinite(low + high) or not high > low:
        msg = f"time has only the value {low:g}: drift needs at least two, all finite"
        raise OptionError(msg)
    return np.asarray((values - low) / (high - low) - 0.5)


def _ordered(cells: AnyArray, name: Any, naming: Naming) -> tuple[IntArray, Labels, bool]:
    """Return ordinal codes of the ratings, the ordered labels, and whether a label is "unsure"."""
    given = None if naming.categories is None else tuple(naming.categories)
    spelling: dict[Any, Any] = {}
    if given is None and cells.dtype == object and all(isinstance(one, str) for one in cells):
        words = cells.tolist()
        cells = np.array([_plain_word(one) for one in words], dtype=object)
        spelling = dict(zip(cells[::-1].tolist(), words[::-1], strict=True))
    encoded = encode_categories(cells, given, name)
    codes, categories, ordered = encoded.codes, encoded.categories, encoded.ordered
    unsure = naming.unsure
    if unsure is None and not ordered:
        between = [one for one in categories if one in _BETWEEN]
        unsure = between[0] if len(categories) == 3 and len(between) == 1 else None
    elif isinstance(unsure, str) and unsure not in categories:
        unsure = _plain_word(unsure)
    rest = [one for one in categories if unsure is None or one != unsure]
    if unsure is not None and (len(rest) != 2 or unsure not in categories):
        msg = (
            f"unsure={unsure!r} must be between two of three ratings, but ratings has "
            f"{listed(list(categories))}"
        )
        raise OptionError(msg)
    if not ordered:
        rest = _words_in_order(rest)
    order = [rest[0], unsure, rest[1]] if unsure is not None else rest
    if len(order) < 2:
        msg = f"ratings has only the rating {order[0]!r}: raters cannot be compared"
        raise CodeError(msg)
    if len(order) > MOST_RATINGS:
        msg = (
            f"ratings has {len(order)} different ratings, but at most {MOST_RATINGS} are allowed: "
            "round or group them"
        )
        raise CodeError(msg)
    place = {one: k for k, one in enumerate(order)}
    target = np.array([place[one] for one in categories], dtype=np.int64)
    return target[codes], tuple(spelling.get(one, one) for one in order), unsure is not None


def _plain_word(word: str) -> str:
    """Return a known word in its standard spelling, and other words unchanged."""
    plain = word.strip().lower()
    return plain if plain in _NO | _YES | _BETWEEN else word


def _words_in_order(words: list[Any]) -> list[Any]:
    low, high = ([one for one in words if one in known] for known in (_NO, _YES))
    if len(words) == 2 and len(low) == len(high) == 1:
        return [*low, *high]
    if len(words) == 1:
        return words
    msg = (
        f"ratings has the words {listed(words)}, whose order is unknown: pass "
        f"categories= from the lowest rating to the highest"
    )
    raise OptionError(msg)
