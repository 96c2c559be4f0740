"""The instrument: questions that have an answer, and their twins that have none.

After the design of AbstentionBench (Kirichenko et al., 2025): a model should abstain from what
cannot be answered, and from nothing else. Questions, sentences and rules are the project's own.

References
----------
Kirichenko, P., Ibrahim, M., Chaudhuri, K., & Bell, S. J. (2025). AbstentionBench: Reasoning LLMs
fail on unanswerable questions. arXiv:2506.09038.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psychollm._base.checks import check_choice, check_count
from psychollm.instruments.abstention.generate import SCENARIOS, Scenario, pairs
from psychollm.instruments.abstention.judge import judge_prompts
from psychollm.instruments.abstention.questions import Askable, as_askable, read_askable
from psychollm.instruments.abstention.result import AbstentionScores
from psychollm.instruments.abstention.scoring import score_readings
from psychollm.instruments.abstention.wording import Licence, asking
from psychollm.instruments.instrument import Instrument, check_chosen, from_file
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.reading import ReadingsLike

_MAX_TOKENS = {True: 2048, False: 128}


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstention(Instrument[AbstentionScores]):
    """Questions to answer, among them such as cannot be answered.

    Parameters
    ----------
    n_pairs : int
        Pairs per scenario.
    seed : int
        All is drawn from it.
    scenarios : tuple of str
        Why the twins cannot be answered: missing_fact, false_premise, underspecified,
        unknowable_future, subjective, nonsense_entity.
    questions : iterable of Askable, Question or mapping, optional
        Questions of one's own instead, such as `read_askable` reads.
    licence : {"stated", "silent"}
        Whether the model is told that some questions have no answer, and that it may say so.
    reasoned : bool
        Whether it is asked to think before it answers.
    n_repeats : int
        Times that every prompt is put.

    Raises
    ------
    OptionError
        If a number is not a positive whole number, an option does not exist, a scenario occurs
        twice, or there are not as many different pairs.
    InputError, LabelError
        If questions of one's own contradict themselves or share a key.

    Examples
    --------
    >>> asked = Abstention(n_pairs=1, scenarios=("underspecified",))
    >>> [one.about["should_abstain"] for one in asked.prompts()]
    [False, True]
    """

    NAME = "abstention"

    n_pairs: int = 20
    seed: int = 0
    scenarios: tuple[Scenario, ...] = SCENARIOS
    questions: Iterable[Any] | None = from_file(
        read_askable,
        "questions of your own: .csv or .jsonl with answerable, or .json as SQuAD 2.0 has it",
        default=None,
    )
    licence: Licence = "stated"
    reasoned: bool = True
    n_repeats: int = 1
    items: tuple[Askable, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("n_pairs", "n_repeats"):
            check_count(name, getattr(self, name))
        check_count("seed", self.seed, low=0)
        check_choice("licence", self.licence, Licence)
        check_chosen("scenarios", self.scenarios, Scenario)
        items = (
            as_askable(self.questions)
            if self.questions is not None
            else tuple(
                one for kind in self.scenarios for one in pairs(kind, self.n_pairs, self.seed)
            )
        )
        object.__setattr__(self, "items", items)

    def prompts(self) -> tuple[Prompt, ...]:
        """Return every prompt of every repeat.

        Examples
        --------
        >>> Abstention(n_pairs=2).prompts()[0].key
        'missing_fact-0-0001-yes/stated-reasoned/0'
        """
        return tuple(
            self._prompt(item, repeat) for repeat in range(self.n_repeats) for item in self.items
        )

    def judge_prompts(self, replies: Mapping[str, str], *, model: str = "") -> tuple[Prompt, ...]:
        """Return what to ask a judge about replies in hand, by the key of their prompts.

        Parameters
        ----------
        replies : mapping
            Of one model; thinking in tags (`with_reasoning`).
        model : str
            Its name, so that one run may judge several.

        Examples
        --------
        >>> asked = Abstention(n_pairs=1)
        >>> judged = asked.judge_prompts({asked.prompts()[0].key: "Answer: 12"})
        >>> [one.about["asks"] for one in judged]
        ['abstains', 'confident']
        """
        return judge_prompts(self.prompts(), replies, model=model)

    def score(
        self,
        readings: ReadingsLike,
        *,
        judged: Sequence[Prompt] = (),
    ) -> AbstentionScores:
        """Score the readings of one model.

        Parameters
        ----------
        readings : mapping or sequence
            As in `Instrument.score`.
        judged : sequence of Prompt
            From `judge_prompts`, where a judge was asked.

        Examples
        --------
        >>> asked = Abstention(n_pairs=1, scenarios=("subjective",))
        >>> asked.score({}).abstained
        array([nan, nan])
        """
        return score_readings((*self.prompts(), *judged), readings)

    def _prompt(self, item: Askable, repeat: int) -> Prompt:
        manner = "reasoned" if self.reasoned else "direct"
        about = {
            "instrument": "abstention",
            "stage": "ask",
            "question": item.question.text,
            "should_abstain": item.should_abstain,
            "scenario": item.scenario,
            "pair": item.pair,
            "dataset": item.dataset,
            "licence": self.licence,
            **item.question.grading(),
        }
        return Prompt(
            key=f"{item.key}/{self.licence}-{manner}/{repeat}",
            item=item.key,
            messages=(
                Message("system", asking(self.licence, reasoned=self.reasoned)),
                Message("user", item.question.text),
            ),
            reply="text",
            repeat=repeat,
            max_tokens=_MAX_TOKENS[self.reasoned],
            about=about,
        )
