"""Options of adaptive collection: how an item bank selects questions."""

from collections.abc import Sequence
from dataclasses import dataclass

from psychollm._base.checks import check_fraction, hold_counts
from psychollm._base.drawing import Bank, Session
from psychollm._base.errors import LabelError, OptionError
from psychollm.instruments.instrument import instrument_of
from psychollm.instruments.prompt import Prompt

BATCH = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive:
    """Options that determine how an item bank selects questions, and when it stops.

    The field ``item`` of a prompt names a question of the bank. All prompts and repeats of one
    question are sent together; the mean of their grades counts as the answer.

    Parameters
    ----------
    bank : ItemBank
        Item bank with the questions that the prompts refer to.
    seed : int
        Seed of the selection, the same for each model.
    size : int, optional
        Maximum number of questions per model.
    half_width : float, optional
        Margin of error, as a proportion, at which the selection stops.
    batch : int
        Number of questions that are selected, sent and graded at a time.

    Raises
    ------
    OptionError
        If an option is out of range, or both `size` and `half_width` are missing.

    Examples
    --------
    >>> import numpy as np
    >>> import psychollm as psy
    >>> bank = psy.item_bank(np.random.default_rng(1).integers(0, 2, (10, 50)), rng=1)
    >>> Adaptive(bank=bank, seed=1, size=30).session().size
    30
    """

    bank: Bank
    seed: int
    size: int | None = None
    half_width: float | None = None
    batch: int = BATCH

    def __post_init__(self) -> None:
        for name, low in (("seed", 0), ("size", 1), ("batch", 1)):
            if getattr(self, name) is not None:
                hold_counts(self, name, low=low, prefix="adaptive: ")
        if self.half_width is not None:
            check_fraction("adaptive: half_width", self.half_width)
        elif self.size is None:
            msg = "adaptive: pass a stopping rule: half_width, size, or both"
            raise OptionError(msg)

    def session(self) -> Session:
        """Return a new testing session for one model."""
        return self.bank.session(size=self.size, half_width=self.half_width, rng=self.seed)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Raise an error unless each question of the bank has a prompt that can be graded."""
        kinds, items, item_of = set(), set(), {}
        for prompt in prompts:
            kinds.add(instrument_of(prompt))
            items.add(prompt.item)
            item_of[prompt.key] = prompt.item
        if len(kinds) > 1:
            msg = f"adaptive: prompts of several kinds ({', '.join(sorted(kinds))}): use one"
            raise OptionError(msg)
        if absent := [one for one in self.bank.questions if str(one) not in items]:
            msg = (
                f"adaptive: {len(absent)} of {len(self.bank.questions)} questions of the bank "
                f"have no prompt, such as {absent[0]!r}: set the item of a prompt to the label of "
                "its question"
            )
            raise LabelError(msg)
        for prompt in prompts:
            if prompt.follows is not None and item_of.get(prompt.follows) != prompt.item:
                msg = f"adaptive: prompt {prompt.key!r} follows one about another question"
                raise LabelError(msg)
