r"""A model's answers at many steering strengths, at little more than the cost of one forward pass.

Cost is measured in token-layers: one token-layer is the computation of one token in one of K
layers. A prompt has T tokens; the first P tokens are common to all prompts. Layer L is steered at
S strengths. Full forward passes cost about :math:`S T K` for each question. If only the last token
is steered, equation (1) is the cost of a sweep for each question.

.. math::
    (T - P) K + S (K - L - 1)                                                         \tag{1}

If all tokens are steered, the cost is :math:`(T - P) K + S (T - P)(K - L - 1)` for each question,
plus :math:`S P (K - L - 1)` once for all questions.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from psychollm._base.checks import check_choice, check_fraction, float_array
from psychollm._base.errors import InputError, OptionError
from psychollm._base.replicate import progress_bar
from psychollm._base.saving.whole import whole_file
from psychollm._base.types import BoolArray, FloatArray
from psychollm.instruments.prompt import Prompt
from psychollm.steering.anatomy import torch
from psychollm.steering.direction import Direction
from psychollm.steering.dose_response import DirectionScan, DoseResponse, LayerScan
from psychollm.steering.engines import EngineName, Steering, chosen
from psychollm.steering.hooks import Positions, check_fit
from psychollm.steering.readout import Asked
from psychollm.steering.tokens import NO, YES, batches


def sweep(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str | Prompt],
    direction: Direction,
    strengths: Any,
    *,
    layer: int,
    positions: Positions = "prompt_last",
    engine: EngineName = "auto",
    yes: Sequence[str] = YES,
    no: Sequence[str] = NO,
    batch_size: int = 16,
    min_mass: float = 0.5,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
) -> DoseResponse:
    """Return the probabilities of yes and no at each strength of a direction.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Causal language model, not in training mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        Tokenizer of the model.
    prompts : sequence of str or Prompt
        One prompt per question, either all with a chat template or all without one.
    direction : Direction
        Direction to add. At strength s, the direction multiplied by s is added to the state.
    strengths : array_like (strengths,)
        Distinct multipliers of the direction, in any order. For a direction of length one, the
        multipliers are doses.
    layer : int
        Layer whose output is steered, counted from 0.
    positions : {"prompt_last", "all"}
        Whether the last token of the prompt or every token is steered.
    engine : {"auto", "last_token", "upper_layers", "whole"}
        Method of computation. "auto" selects the fastest method that agrees with full forward
        passes on the shortest and longest prompts; the result records this method and the largest
        difference.
    yes, no : sequence of str
        Words for each answer; every form of these words that is a single token counts.
    batch_size : int
        Number of prompts per forward pass, which limits the memory used.
    min_mass : float
        A strength counts as collapsed if the probability of yes or no is below this proportion of
        its value without steering.
    checkpoint : path, optional
        File with intermediate results; repeating the call resumes an interrupted sweep.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    DoseResponse
        Answers in ascending order of strength, with questions in the order of `prompts`.

    Raises
    ------
    OptionError
        If the layer does not exist, if a strength is not finite or occurs twice, or if the engine
        does not support `positions`.
    ShapeError
        If the direction comes from a model with a different hidden size.
    InputError
        If the tokenizer has no token for an answer, if only some prompts use a chat template, or
        if the model is in training mode. The error is also raised if the checkpoint belongs to
        another sweep, or if the given engine disagrees with full forward passes.

    Examples
    --------
    >>> doses = np.linspace(-0.3, 0.3, 41)
    >>> found = sweep(model, tokenizer, prompts, direction, doses, layer=20)  # doctest: +SKIP
    >>> found.yes_rates  # doctest: +SKIP
    array([0.  , 0.01, ..., 0.98, 1.  ])
    """
    asked = Asked.of(model, tokenizer, prompts, yes=yes, no=no, batch_size=batch_size)
    run = _Run(asked, positions, min_mass, checkpoint, progress, engine)
    return run.swept([(direction, layer)], strengths)[0]


def scan_layers(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str | Prompt],
    direction: Direction,
    strengths: Any,
    *,
    layers: Sequence[int] | None = None,
    positions: Positions = "prompt_last",
    yes: Sequence[str] = YES,
    no: Sequence[str] = NO,
    batch_size: int = 16,
    min_mass: float = 0.5,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
) -> LayerScan:
    """Sweep a direction over several layers, steering one layer at a time.

    If only the last token is steered, prompts pass through the model once for all layers.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Causal language model, not in training mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        Tokenizer of the model.
    prompts : sequence of str or Prompt
        One prompt per question, either all with a chat template or all without one.
    direction : Direction
        Direction to add. At strength s, the direction multiplied by s is added to the state.
    strengths : array_like (strengths,)
        Distinct multipliers of the direction, in any order. For a direction of length one, the
        multipliers are doses.
    layers : sequence of int, optional
        Layers to steer; by default, all layers of the direction.
    positions : {"prompt_last", "all"}
        Whether the last token of the prompt or every token is steered.
    yes, no : sequence of str
        Words for each answer; every form of these words that is a single token counts.
    batch_size : int
        Number of prompts per forward pass, which limits the memory used.
    min_mass : float
        A strength counts as collapsed if the probability of yes or no is below this proportion of
        its value without steering.
    checkpoint : path, optional
        File with intermediate results; repeating the call resumes an interrupted sweep.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    LayerScan
        A `DoseResponse` per layer. The table of all layers shows in which layers steering is
        monotone and preserves the order of the questions.

    Raises
    ------
    OptionError
        If a layer does not exist, if a strength is not finite or occurs twice, or if the engine
        does not support `positions`.
    ShapeError
        If the direction comes from a model with a different hidden size.
    InputError
        If the tokenizer has no token for an answer, if only some prompts use a chat template, or
        if the model is in training mode. The error is also raised if the checkpoint belongs to
        another sweep, or if the given engine disagrees with full forward passes.

    Examples
    --------
    >>> scan = scan_layers(model, tokenizer, prompts, direction, doses)  # doctest: +SKIP
    >>> scan.to_frame()[["layer", "slope", "monotone"]]  # doctest: +SKIP
    """
    asked = Asked.of(model, tokenizer, prompts, yes=yes, no=no, batch_size=batch_size)
    wanted = asked.body.check_layers(direction.layers if layers is None else layers)
    run = _Run(asked, positions, min_mass, checkpoint, progress)
    sites = [(direction, layer) for layer in wanted]
    return LayerScan(responses=tuple(run.swept(sites, strengths)))


def sweep_directions(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[str | Prompt],
    directions: Mapping[str, Direction],
    strengths: Any,
    *,
    layer: int,
    positions: Positions = "prompt_last",
    yes: Sequence[str] = YES,
    no: Sequence[str] = NO,
    batch_size: int = 16,
    min_mass: float = 0.5,
    checkpoint: str | PathLike[str] | None = None,
    progress: bool = False,
) -> DirectionScan:
    """Sweep several directions over one layer, such as a direction and its controls.

    Prompts pass through the model once for all directions.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        Causal language model, not in training mode.
    tokenizer : transformers.PreTrainedTokenizerBase
        Tokenizer of the model.
    prompts : sequence of str or Prompt
        One prompt per question, either all with a chat template or all without one.
    directions : mapping of str to Direction
        Directions by name.
    strengths : array_like (strengths,)
        Distinct multipliers of the directions, in any order. For directions of length one, the
        multipliers are doses.
    layer : int
        Layer whose output is steered, counted from 0.
    positions : {"prompt_last", "all"}
        Whether the last token of the prompt or every token is steered.
    yes, no : sequence of str
        Words for each answer; every form of these words that is a single token counts.
    batch_size : int
        Number of prompts per forward pass, which limits the memory used.
    min_mass : float
        A strength counts as collapsed if the probability of yes or no is below this proportion of
        its value without steering.
    checkpoint : path, optional
        File with intermediate results; repeating the call resumes an interrupted sweep.
    progress : bool
        Whether to show a progress bar.

    Returns
    -------
    DirectionScan
        A `DoseResponse` per direction.

    Raises
    ------
    OptionError
        If no direction is given, if the layer does not exist, or if a strength is not finite or
        occurs twice.
    ShapeError
        If a direction comes from a model with a different hidden size.
    InputError
        If the tokenizer has no token for an answer, if only some prompts use a chat template, or
        if the model is in training mode. The error is also raised if the checkpoint belongs to
        another sweep, or if the given engine disagrees with full forward passes.

    Examples
    --------
    >>> named = {"found": direction, "random": random_direction(direction)}  # doctest: +SKIP
    >>> asked = (model, tokenizer, prompts)  # doctest: +SKIP
    >>> sweep_directions(*asked, named, doses, layer=20).to_frame()  # doctest: +SKIP
    """
    if not directions:
        msg = "directions is empty: name at least one"
        raise OptionError(msg)
    asked = Asked.of(model, tokenizer, prompts, yes=yes, no=no, batch_size=batch_size)
    run = _Run(asked, positions, min_mass, checkpoint, progress)
    sites = [(direction, layer) for direction in directions.values()]
    return DirectionScan(names=tuple(directions), responses=tuple(run.swept(sites, strengths)))


def _strengths(strengths: Any) -> FloatArray:
    values = float_array(strengths, "strengths")
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        msg = "strengths must be a list of finite numbers, at least one"
        raise OptionError(msg)
    if np.unique(values).size < values.size:
        msg = "strengths holds a number twice: pass distinct numbers"
        raise OptionError(msg)
    return np.sort(values)


@dataclass(frozen=True, slots=True)
class _Run:
    """The options of a sweep."""

    asked: Asked
    positions: Positions
    min_mass: float
    checkpoint: str | PathLike[str] | None
    progress: bool
    engine: EngineName = "auto"

    def steering(self, sites: Sequence[tuple[Direction, int]]) -> Steering:
        """Return the sites to steer (directions in layers), after checking them."""
        asked, positions = self.asked, self.positions
        layers = asked.body.check_layers([layer for _, layer in sites])
        check_choice("engine", self.engine, EngineName)
        check_choice("positions", positions, Positions)
        if positions == "generated":
            msg = (
                "positions='generated' does not steer the first token of the reply: sweep needs "
                "'prompt_last' or 'all'; use steer() for generated tokens"
            )
            raise OptionError(msg)
        for direction, layer in sites:
            check_fit(asked.body, direction, (layer,))
        vectors = tuple(direction.displacement(layer) for direction, layer in sites)
        return Steering(asked=asked, layers=layers, vectors=vectors, positions=positions)

    def swept(self, sites: Sequence[tuple[Direction, int]], given: Any) -> list[DoseResponse]:
        """Return the answers at given strengths for each site (a direction in a layer)."""
        asked, strengths = self.asked, _strengths(given)
        steering = self.steering(sites)
        share = check_fraction("min_mass", self.min_mass)
        path = None if self.checkpoint is None else Path(self.checkpoint)
        ledger = _Ledger.open(path, steering, strengths)
        left = np.flatnonzero(~ledger.done)
        bar = progress_bar(show=self.progress, total=len(ledger.done), label="sweep")
        bar.update(len(ledger.done) - left.size)
        with torch().inference_mode():
            runner, error = chosen(steering, strengths, self.engine)
            rows = [asked.encoded.rows[prompt] for prompt in left]
            for some in batches(rows, asked.batch_size):
                prompts = [int(left[i]) for i in some]
                logs = runner.answer(prompts, strengths)
                ledger.keep(prompts, logs, _sound(runner.unsteered(prompts), steering, prompts))
                bar.update(len(prompts))
        bar.close()
        return [
            DoseResponse(
                strengths=strengths,
                doses=strengths * direction.doses[direction.place(layer)],
                log_yes=ledger.logs[i, 0],
                log_no=ledger.logs[i, 1],
                base_yes=ledger.base[0],
                base_no=ledger.base[1],
                labels=asked.encoded.labels,
                layer=layer,
                positions=self.positions,
                kind=direction.kind,
                model=asked.body.name,
                engine=runner.name,
                max_error=error,
                min_mass=share,
            )
            for i, (direction, layer) in enumerate(sites)
        ]


def _sound(base: FloatArray, steering: Steering, prompts: Sequence[int]) -> FloatArray:
    """Return the unsteered answers, after checking that all of them are numbers."""
    bad = np.flatnonzero(np.isnan(base).any(axis=0))
    if bad.size:
        label = steering.asked.encoded.labels[prompts[bad[0]]]
        msg = (
            f"prompt {label!r}: the answer is not a number even without steering; load the model "
            "in float32 or bfloat16 (float16 overflows), and check its weights"
        )
        raise InputError(msg)
    return base


@dataclass(slots=True, eq=False)
class _Ledger:
    """Intermediate results of a sweep on disk, from which it can be resumed."""

    logs: FloatArray  # (sites, 2, strengths, questions) log probabilities of yes and of no
    base: FloatArray  # (2, questions) log probabilities without steering
    done: BoolArray  # (questions,) whether a question is complete
    path: Path | None  # file of the results
    mark: str  # digest that identifies the sweep

    @classmethod
    def open(cls, path: Path | None, steering: Steering, strengths: FloatArray) -> "_Ledger":
        """Return the results on disk, or empty results."""
        n = len(steering.asked.encoded.rows)
        logs = np.full((len(steering.layers), 2, len(strengths), n), np.nan)
        new = cls(
            logs, np.full((2, n), np.nan), np.zeros(n, bool), path, _mark(steering, strengths)
        )
        if path is None or not path.exists():
            return new
        with np.load(path, allow_pickle=False) as held:
            if "mark" not in held or str(held["mark"]) != new.mark:
                msg = (
                    f"checkpoint={str(path)!r} belongs to another sweep (other prompts, "
                    "strengths, direction, layer or model): name another file, or remove it"
                )
                raise InputError(msg)
            return cls(held["logs"], held["base"], held["done"], path, new.mark)

    def keep(self, prompts: list[int], logs: FloatArray, base: FloatArray) -> None:
        """Add the answers to some questions, and write all results to disk."""
        self.logs[..., prompts] = logs
        self.base[:, prompts] = base
        self.done[prompts] = True
        if self.path is None:
            return
        with whole_file(self.path) as file:
            np.savez(file, logs=self.logs, base=self.base, done=self.done, mark=self.mark)


def _mark(steering: Steering, strengths: FloatArray) -> str:
    """Return a digest of model name, options, prompts and directions that identifies the sweep."""
    asked = steering.asked
    settings = (
        asked.body.name,
        str(next(asked.body.model.parameters()).dtype),
        steering.layers,
        steering.positions,
        asked.tokens,
        asked.encoded.rows,
    )
    digest = hashlib.sha256(repr(settings).encode())
    digest.update(strengths.tobytes())
    for vector in steering.vectors:
        digest.update(vector.tobytes())
    return digest.hexdigest()
