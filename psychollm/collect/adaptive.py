"""The part of a plan that says how an item bank chooses what is asked."""

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
    """How an item bank chooses what is asked, and when it has asked enough.

    All prompts about a question of the bank, which they name in ``item``, are put together, with
    their repeats; what is right in the mean over repeats is the answer.

    Parameters
    ----------
    bank : ItemBank
        Its questions are the items of the prompts.
    seed : int
        The same seed draws the same questions, for each model.
    size : int, optional
        The most questions that a model is asked.
    half_width : float, optional
        Ask no more when the interval reaches no further than this from its middle.
    batch : int
        How many questions are drawn, asked and graded before the next ones are drawn.

    Raises
    ------
    OptionError
        If an option lies outside its range, or neither `size` nor `half_width` is given.

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
            msg = "adaptive: say when to stop: half_width, size, or both"
            raise OptionError(msg)

    def session(self) -> Session:
        """Return a session from its beginning."""
        return self.bank.session(size=self.size, half_width=self.half_width, rng=self.seed)

    def check(self, prompts: Sequence[Prompt]) -> None:
        """Raise unless each question of the bank can be asked and graded."""
        kinds, items, item_of = set(), set(), {}
        for prompt in prompts:
            kinds.add(instrument_of(prompt))
            items.add(prompt.item)
            item_of[prompt.key] = prompt.item
        if len(kinds) > 1:
            msg = f"adaptive: the prompts are those of {', '.join(sorted(kinds))}: give one kind"
            raise OptionError(msg)
        if absent := [one for one in self.bank.questions if str(one) not in items]:
            msg = (
                f"adaptive: {len(absent)} of {len(self.bank.questions)} questions of the bank "
                f"have no prompt, such as {absent[0]!r}: the item of a prompt is the label of its "
                "question"
            )
            raise LabelError(msg)
        for prompt in prompts:
            if prompt.follows is not None and item_of.get(prompt.follows) != prompt.item:
                msg = f"adaptive: prompt {prompt.key!r} follows one about another question"
                raise LabelError(msg)
