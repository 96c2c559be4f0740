"""2PL, 1PL and Rasch models of sparse tables, which store only filled cells.

A long fit can store its state in a checkpoint file and resume from it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Literal, TypeAlias
from zipfile import BadZipFile

import numpy as np

from psychollm._base.checks import check_choice
from psychollm._base.errors import CodeError, InputError, OptionError, ShapeError
from psychollm._base.replicate import Progress, Workers, progress_bar, workers
from psychollm._base.saving.whole import whole_file
from psychollm._base.types import BoolArray, FloatArray, IntArray
from psychollm._base.wording import parameter
from psychollm.data.cells import CellTable
from psychollm.data.labels import Labels
from psychollm.data.responses import Responses
from psychollm.estimates.reasons import Reason, first_reason
from psychollm.irt.answers import NOTHING, Respondents
from psychollm.irt.climb import Steps
from psychollm.irt.ending import Ending, FittedItems, StandardErrors, result_of
from psychollm.irt.families import Family, Link, Model
from psychollm.irt.item_population import Items, Round, Settled, estimate_items
from psychollm.irt.likelihood import NormalPrior
from psychollm.irt.models import ItemModels, chosen_priors, family_of, proper
from psychollm.irt.one_ability import ItemCurves, kinds_of, population_of, with_unanswered
from psychollm.irt.priors import ItemPopulation, Priors
from psychollm.irt.result import IRTFit
from psychollm.irt.streamed.climb import UNTOLD, StreamedPoint, StreamedProblem, climb
from psychollm.irt.streamed.on_device import OnDevice
from psychollm.irt.streamed.posterior import (
    FEWER_NODES,
    NODES,
    Answers,
    Posterior,
    StreamedAbilities,
    enough_nodes,
    nodes_for,
    scores_at,
    start_centres,
)
from psychollm.irt.streamed.readings import COMPILED, Ranges, Reader, Task


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Checkpoint file of a fit, written after each cycle if a path is given."""

    path: Path | None
    of: str  # identifies the fit, because another fit must not resume from this file

    def write(self, values: Mapping[str, Any]) -> None:
        """Write a checkpoint atomically."""
        if self.path is None:
            return
        with whole_file(self.path) as file:
            np.savez(file, of=self.of, **values)

    def read(self, *names: str) -> dict[str, Any] | None:
        """Return the checkpoint, or None."""
        if self.path is None or not self.path.exists():
            return None
        values = _loaded(self.path)
        if str(values["of"]) != self.of or not {*names, *_PEAKS} <= values.keys():
            msg = (
                f"checkpoint: {self.path} belongs to another fit (other answers, model or "
                "priors): pass another file, or delete it"
            )
            raise InputError(msg)
        return values

    def keep_point(self, point: StreamedPoint, taken: int) -> None:
        """Store an iterate."""
        self.write({"parameters": point.parameters, "taken": taken} | _peaks(point.abilities))

    def restored_point(
        self, begin: FloatArray, abilities: StreamedAbilities, steps: Steps
    ) -> tuple[FloatArray, StreamedAbilities]:
        """Return the stored iterate, or the starting values."""
        kept = self.read("parameters", "taken")
        if kept is None:
            return begin, abilities
        steps.take(int(kept["taken"]))
        return kept["parameters"], _with_peaks(abilities, kept)


@dataclass(frozen=True, slots=True)
class KeptRounds:
    """Checkpoint of iterations of `estimate_items`."""

    checkpoint: Checkpoint

    def keep(self, at: Round[StreamedAbilities]) -> None:
        """Store the state of an iteration."""
        (items,) = at.every
        values = {name: getattr(at, name) for name in _NUMBERS}
        values |= {f"items_{name}": getattr(items, name) for name in _ITEMS}
        population = items.population
        values |= {"mean": population.mean, "covariance": population.covariance}
        values |= {"n_items": population.n_items}
        self.checkpoint.write(values | _peaks(at.abilities))

    def restored(self, start: Round[StreamedAbilities]) -> Round[StreamedAbilities]:
        """Return the stored state, or `start` if none is stored."""
        names = (f"items_{name}" for name in _ITEMS)
        kept = self.checkpoint.read(*_NUMBERS, *names, "mean", "covariance", "n_items")
        if kept is None:
            return start
        (items,) = start.every
        population = replace(
            items.population,
            mean=kept["mean"],
            covariance=kept["covariance"],
            n_items=int(kept["n_items"]),
        )
        fields = {name: kept[f"items_{name}"] for name in _ITEMS}
        fields["slope"] = float(fields["slope"])
        return Round(
            every=(Items(**fields, population=population),),
            abilities=_with_peaks(start.abilities, kept),
            taken=int(kept["taken"]),
            **{name: float(kept[name]) for name in _NUMBERS if name != "taken"},
        )


_NUMBERS = ("change", "height", "taken", "top", "reach")
_ITEMS = ("mean", "covariance", "weight", "step", "stride", "slope")
_PEAKS = ("centre", "width", "lost", "far")
# NumPy and zipfile raise these errors for other or damaged files.
_UNREADABLE = (OSError, ValueError, TypeError, EOFError, KeyError, BadZipFile, NotImplementedError)


def place_of(checkpoint: str | PathLike[str] | None) -> Path | None:
    """Return the path; raise an error if it is not writable or names another kind of file."""
    if checkpoint is None:
        return None
    try:
        path = Path(checkpoint)
        with TemporaryFile(dir=path.parent):
            pass
    except (OSError, TypeError) as error:
        msg = f"checkpoint={checkpoint!r} cannot be written: {error}"
        raise InputError(msg) from error
    if path.exists():
        _loaded(path)
    return path


def _loaded(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file, np.load(file) as kept:
            values = dict(kept)
        values["of"]
    except _UNREADABLE as error:
        msg = f"checkpoint: {path} is not a checkpoint of a fit: pass another file"
        raise InputError(msg) from error
    return values


def _peaks(abilities: StreamedAbilities) -> dict[str, Any]:
    return {name: getattr(abilities, name) for name in _PEAKS}


def _with_peaks(abilities: StreamedAbilities, kept: Mapping[str, Any]) -> StreamedAbilities:
    arrays = {name: kept[name] for name in ("centre", "width", "lost")}
    return replace(abilities, far=bool(kept["far"]), **arrays)


# labels of rows and columns, and the axis of the respondents
Sides: TypeAlias = tuple[Labels, Labels, Respondents]

STREAMED: tuple[Model, ...] = ("rasch", "1pl", "2pl")


def sides_of(source: Responses, respondents: Respondents) -> tuple[CellTable, Sides]:
    """Return the table with items in rows, and the labels of its rows and columns."""
    if respondents == "models":
        return source.by_question, (source.models, source.questions, respondents)
    return source.by_model, (source.questions, source.models, respondents)


def fit_cells(
    source: Responses,
    respondents: Respondents,
    *,
    model: ItemModels,
    link: Link,
    priors: Priors | Literal["auto"] | None,
    standard_errors: StandardErrors,
    most: int,
    n_jobs: int | None,
    device: str | None,
    checkpoint: str | PathLike[str] | None,
    progress: bool,
) -> IRTFit:
    """Fit a sparse table for `fit_irt`."""
    check_choice("respondents", respondents, Respondents)
    if not isinstance(model, str) or model not in STREAMED or link != "logit":
        msg = (
            f"model={model!r} with link={link!r} needs a dense table: scans and sparse tables "
            f"support link='logit' and {', '.join(map(repr, STREAMED))}; for "
            "other "
            "models make the table dense"
        )
        raise OptionError(msg)
    if standard_errors != "observed":
        msg = f"standard_errors={standard_errors!r} needs a dense table: use 'observed'"
        raise OptionError(msg)
    table, sides = sides_of(source, respondents)
    if len(sides[0]) < 2:
        msg = (
            f"responses: respondents={respondents!r} leaves one respondent: a distribution of "
            "abilities needs at least two"
        )
        raise ShapeError(msg)
    place = place_of(checkpoint)
    who = workers(n_jobs)
    reader = COMPILED if device is None else OnDevice(device)
    bar = progress_bar(show=progress, total=most, label="data passes of the fit")
    with closing(bar):
        read = read_margins(table, sides, who, bar)
        per_item = float(np.median(read.item_answers))
        used = chosen_priors(priors, (model,) * len(read.items), link, per_item, 2)
        return fit_streamed(
            read,
            model,
            priors=used,
            standard_errors=standard_errors,
            steps=Steps(most, bar),
            who=who,
            bar=bar,
            checkpoint=place,
            reader=reader,
        )


@dataclass(frozen=True, slots=True)
class Read:
    """Table with items in rows, and the results of one data pass."""

    table: CellTable
    respondents: Labels
    items: Labels
    reading: Respondents
    item_yes: IntArray  # (J,)
    item_answers: IntArray  # (J,)
    yes: IntArray  # (N,) yes counts of respondents
    answered: IntArray  # (N,)
    crc: int  # checksum of all cells

    @property
    def has_answer(self) -> BoolArray:
        """Whether each item has a no answer, and whether it has a yes answer (J, 2)."""
        return np.stack([self.item_yes < self.item_answers, self.item_yes > 0], axis=1)

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Reason for each item that cannot be fitted."""
        different = self.has_answer.sum(axis=1)
        return first_reason(
            (different == 0, Reason.UNANSWERED), (different == 1, Reason.CONSTANT_ITEM)
        )


def read_margins(table: CellTable, sides: Sides, who: Workers, bar: Progress) -> Read:
    """Count the answers of items and respondents."""
    respondents, items, reading = sides
    n = len(respondents)
    answers = Answers.of(table, who, bar, 1)
    item_yes, total, crc = [], np.zeros((2, n), dtype=np.int64), 0

    def count(task: Task) -> tuple[IntArray, IntArray, bytes]:
        return _counted(table, task.ranges, n)

    try:
        for yes, both, sums in answers.each(count, np.empty((1, len(items), 0))):
            item_yes.append(yes)
            total += both
            crc = zlib.crc32(sums, crc)
    except CodeError as error:
        row, code = error.args
        msg = (
            f"responses: {items[row]!r} has code {code}, but scans and sparse tables "
            f"need "
            f"answers 0 and 1: split graded answers with {parameter('threshold')} "
            "when "
            "reading, or make the table dense for model='graded'"
        )
        raise CodeError(msg) from None
    return Read(
        table=table,
        respondents=respondents,
        items=items,
        reading=reading,
        item_yes=np.concatenate(item_yes),
        item_answers=np.diff(table.start),
        yes=total[0],
        answered=total[1],
        crc=crc,
    )


def _counted(table: CellTable, ranges: Ranges, n: int) -> tuple[IntArray, IntArray, bytes]:
    """Return items' yes counts, respondents' yes and answer counts (2, N), and checksums."""
    item_yes, both, sums = [], np.zeros((2, n), dtype=np.int64), b""
    for low, high in ranges:
        cells = table.read(low, high, lasting=False)
        if cells.codes.size and cells.codes.max() > 1:
            at = int(np.argmax(cells.codes > 1))
            row = low + int(np.searchsorted(cells.start, at, side="right")) - 1
            raise CodeError(row, int(cells.codes[at]))
        running = np.concatenate([[0], np.cumsum(cells.codes, dtype=np.int64)])
        item_yes.append(running[cells.start[1:]] - running[cells.start[:-1]])
        both[0] += np.bincount(cells.columns[cells.codes == 1], minlength=n)
        both[1] += np.bincount(cells.columns, minlength=n)
        sums += zlib.crc32(cells.codes.data, zlib.crc32(cells.columns.data)).to_bytes(4)
    return np.concatenate(item_yes), both, sums


def fit_streamed(
    read: Read,
    model: Model,
    *,
    priors: Priors | ItemPopulation,
    standard_errors: StandardErrors | None,
    steps: Steps,
    who: Workers,
    bar: Progress,
    checkpoint: Path | None = None,
    reader: Reader = COMPILED,
) -> IRTFit:
    """Fit one model to all items of a table."""
    family = family_of(model, "logit", 2)
    reasons = read.reasons
    keep = np.array([not reason for reason in reasons])
    if not keep.any():
        raise ShapeError(NOTHING)
    if proper(priors, (model,)):
        keep |= np.array([reason is Reason.CONSTANT_ITEM for reason in reasons])
    in_rounds = isinstance(priors, ItemPopulation)
    enough = enough_nodes(read.answered, read.yes, NODES)
    k = nodes_for(read.answered, FEWER_NODES) if in_rounds else enough
    answers = Answers.of(read.table, who, bar, k, reader)
    steps.per_step = 2 * len(answers.ranges)
    n = len(read.respondents)
    abilities = StreamedAbilities(
        answers=answers,
        keep=keep,
        centre=start_centres(read.yes, read.answered),
        width=1.0 / np.sqrt(1.0 + 0.2 * read.answered),
        n_nodes=k,
        tied=family.tied,
        lost=np.zeros(int(keep.sum()), dtype=np.bool_),
    )
    begin = _start(read, family, abilities, signed=not (in_rounds or family.tied))
    models = (model,) * len(read.items)
    items = FittedItems(read, np.ones((len(models), 2), dtype=np.bool_), models, keep, reasons)
    kept = Checkpoint(checkpoint, _told(read, model, priors, keep))
    if isinstance(priors, ItemPopulation):
        settled = estimate_items(
            kinds_of(family, family, len(begin), priors), abilities, begin, steps, KeptRounds(kept)
        )
        every = replace(settled.abilities, n_nodes=enough, far=True)
        settled = replace(settled, abilities=every)
        return _settled_result(family, settled, items, standard_errors)
    means, precisions = family.prior_arrays(priors)
    prior = NormalPrior(means, precisions, family.tied, int(keep.sum()))
    problem = StreamedProblem(family, prior)
    begin, abilities = kept.restored_point(begin, abilities, steps)
    point, convergence = climb(problem, problem.at(begin, abilities), steps, kept.keep_point)
    if point.parameters[:, 0].sum() < 0.0 and not precisions[0] > 0.0:
        turned = replace(point.abilities, centre=-point.abilities.centre)
        point = problem.at(family.rescaled(point.parameters, 0.0, -1.0), turned)
    missing = point.abilities.missing(point.parameters, point.posterior)
    covariance = _covariance(family, point.expected - missing, point.frozen)
    covariance += _of_the_scale(point.parameters, point.posterior)
    end = Ending(
        family=family,
        parameters=point.parameters,
        frozen=point.frozen,
        log_likelihood=point.posterior.log_marginal,
        gradient=point.steepness,
        posterior_sd=point.posterior.sd,
        n_patterns=n,
        n_nodes=k,
        convergence=convergence,
    )
    return result_of(end, covariance, items, priors, standard_errors)


def _start(
    read: Read, family: Family, abilities: StreamedAbilities, *, signed: bool
) -> FloatArray:
    """Return starting values (kept J, p) from yes rates and signs of item-rest covariances."""
    rates = (read.item_yes + 0.5) / (read.item_answers + 1.0)
    shares = np.stack([1.0 - rates, rates], axis=1)[abilities.keep]
    if not signed:
        return family.start(shares, np.ones(len(shares)))
    logits = np.log(rates / (1.0 - rates))
    everyone = Posterior(
        centre=abilities.centre,
        width=np.ones(abilities.centre.size),
        weights=np.ones((abilities.centre.size, 1)),
        log_marginal=np.nan,
        peak=abilities.centre,
        spread=np.ones(abilities.centre.size),
    )
    level = np.stack([np.zeros(logits.size), logits], axis=1)
    score, _ = scores_at(abilities.answers, level[None], everyone)
    signs = np.where(score[0, :, 0] >= 0.0, 1.0, -1.0)
    return family.start(shares, signs[abilities.keep])


def _told(read: Read, model: Model, priors: Priors | ItemPopulation, keep: BoolArray) -> str:
    """Return a string that identifies the fit in its checkpoint."""
    labels = zlib.crc32(repr((read.respondents, read.items)).encode())
    rows = zlib.crc32(read.item_answers.tobytes())
    return f"{model}, {priors}, {keep.sum()} items, {[labels, rows, read.crc]}"


def _settled_result(
    family: Family,
    settled: Settled[ItemCurves, StreamedAbilities],
    items: FittedItems,
    standard_errors: StandardErrors | None,
) -> IRTFit:
    """Return the result of a fit that estimated items jointly with their prior distribution."""
    abilities = settled.abilities
    posterior = abilities.posterior(settled.parameters[None])
    missing = abilities.missing(settled.parameters, posterior)
    own = settled.covariance
    if family.tied:
        own = own + np.diag([1.0, 0.0])
    blocks = np.linalg.inv(own)
    frozen = np.zeros(settled.parameters.shape, dtype=np.bool_)
    end = Ending(
        family=family,
        parameters=settled.parameters,
        frozen=frozen,
        log_likelihood=posterior.log_marginal,
        gradient=settled.change,
        posterior_sd=posterior.sd,
        n_patterns=posterior.centre.size,
        n_nodes=abilities.n_nodes,
        convergence=settled.convergence,
    )
    covariance = _covariance(family, blocks - missing, frozen)
    fit = result_of(end, covariance, items, population_of(settled), standard_errors)
    return with_unanswered(fit, settled)


def _covariance(family: Family, information: FloatArray, frozen: BoolArray) -> FloatArray:
    """Return covariances (J, 2, 2), NaN for fixed parameters or a singular information matrix."""
    if family.tied:  # the error of a shared slope is that of the abilities' SD
        information = information * np.eye(2)
        information[:, 0, 0] = np.inf
        return np.asarray(1.0 / np.where(np.eye(2) > 0.0, information, np.inf))
    lost = frozen.any(axis=1) | (np.linalg.det(information) <= 0.0)
    safe = np.where(lost[:, None, None], np.eye(2), information)
    return np.where(lost[:, None, None], np.nan, np.linalg.inv(safe))


def _of_the_scale(parameters: FloatArray, posterior: Posterior) -> FloatArray:
    """Return the covariance (J, 2, 2) due to errors in the mean and SD of abilities."""
    told = 1.0 - posterior.variances
    both = np.zeros((len(parameters), 2, 2))
    both[:, 1, 1] = parameters[:, 0] ** 2 / told.sum()
    both[:, 0, 0] = parameters[:, 0] ** 2 / (2.0 * (told**2).sum())
    if told.max() < UNTOLD:  # the likelihood is flat at an SD of 0
        both[:, 0, 0] = np.nan
    return both
