"""The semantic-sampling instrument: many samples of each answer, grouped by meaning.

If a model receives the same question many times at a temperature of one, the frequencies of its
answers can be estimated. Texts with the same meaning form one class. The proportion of the largest
class measures the model's confidence in its most frequent answer, although the model does not
state a confidence. Four forms of the prompt are available: a base model continues a list of solved
questions, an instructed model answers in a few words, and both may reason first.

Samples must be independent: set the temperature of the run to 1, and do not use the same seed for
all requests.

The design follows Nakkiran et al. (2025); the instructions and examples were written for this
project.

References
----------
Nakkiran, P., Bradley, A., Golinski, A., Ndiaye, E., Kirchhof, M., & Williamson, S. (2025). Trained
on tokens, calibrated on concepts: the emergence of semantic calibration in LLMs. arXiv:2511.04869.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from psychollm._base.checks import check_choice, hold_counts
from psychollm._base.errors import InputError
from psychollm.instruments.instrument import Instrument, from_file
from psychollm.instruments.prompt import Message, Prompt
from psychollm.instruments.questions import QUESTION_FILES, Question, as_questions, read_questions
from psychollm.instruments.reading import Reading, ReadingsLike
from psychollm.instruments.semantic_sampling.collapse import Collapse, normalised, numeric
from psychollm.instruments.semantic_sampling.judge import (
    SHOTS,
    Shot,
    completion,
    conversation,
    judge_prompts,
)
from psychollm.instruments.semantic_sampling.replies import NAME
from psychollm.instruments.semantic_sampling.result import SemanticSamples
from psychollm.instruments.semantic_sampling.scoring import Abstentions, score_readings

Form: TypeAlias = Literal["base", "base_reasoning", "instruct", "reasoning"]
_MAX_TOKENS: dict[str, int] = {
    "base": 48,
    "base_reasoning": 512,
    "instruct": 96,
    "reasoning": 2048,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SemanticSampling(Instrument[SemanticSamples]):
    r"""Questions that a model answers many times each.

    Parameters
    ----------
    questions : iterable of Question or mapping
        Questions with right answers.
    n_samples : int
        Samples per question.
    form : {"instruct", "reasoning", "base", "base_reasoning"}
        Prompt for an instructed model that answers in a few words (instruct) or reasons first
        (reasoning), or for a base model that continues solved questions (base, base_reasoning).
    collapse : Collapse, optional
        Rule that groups answers of equal meaning. By default, numbers are grouped within the
        question's tolerances if the question is graded by numbers, and texts are grouped by their
        normal form otherwise.
    shots : sequence of Shot
        Solved questions for base models. A question is not used as an example in its own prompt.

    Raises
    ------
    InputError
        If there are no questions, if a question lacks a required field, or if a form for base
        models lacks solved questions or, for "base_reasoning", their reasoning.
    LabelError
        If two questions have the same key.
    OptionError
        If the number of samples is not positive or the form does not exist.

    Examples
    --------
    >>> asked = SemanticSampling([{"question": "What is 2 + 2?", "answer": "4"}], n_samples=20,
    ...                          form="base")
    >>> prompts = asked.prompts()
    >>> len(prompts), prompts[0].messages[0].content[-32:]
    (20, 'Question: What is 2 + 2?\nAnswer:')
    """

    NAME = NAME

    questions: Iterable[Question | Mapping[str, Any]] = from_file(read_questions, QUESTION_FILES)
    n_samples: int = 10
    form: Form = "instruct"
    collapse: Collapse | None = None
    shots: Sequence[Shot] = SHOTS

    def __post_init__(self) -> None:
        hold_counts(self, "n_samples")
        check_choice("form", self.form, Form)
        object.__setattr__(self, "questions", as_questions(self.questions))
        object.__setattr__(self, "shots", tuple(self.shots))
        if self.form not in {"base", "base_reasoning"}:
            return
        if not self.shots:
            msg = "shots is empty: a base model needs solved questions to continue"
            raise InputError(msg)
        if self.form == "base_reasoning" and not all(shot.reasoning for shot in self.shots):
            msg = "a shot has no reasoning: Shot(..., reasoning=...), or use form='base'"
            raise InputError(msg)

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the prompts of all samples, beginning with the first sample of every question.

        Examples
        --------
        >>> asked = SemanticSampling([{"question": "Where?", "answer": "Rome"}], n_samples=2)
        >>> [prompt.key for prompt in asked.prompts()]
        ['semantic/1/instruct/0', 'semantic/1/instruct/1']
        """
        return tuple(
            self._prompt(question, sample)
            for sample in range(self.n_samples)
            for question in as_questions(self.questions)
        )

    def judge_prompts(
        self, readings: Mapping[str, Reading], *, both_orders: bool = False
    ) -> tuple[Prompt, ...]:
        """Return the second stage: comparisons of answers by a judge.

        Parameters
        ----------
        readings : mapping
            Parsed samples by prompt key.
        both_orders : bool
            Whether each pair is compared in both orders; both verdicts must then agree.

        Examples
        --------
        >>> SemanticSampling([{"question": "Where?", "answer": "Rome"}]).judge_prompts({})
        ()
        """
        return judge_prompts(self.prompts(), readings, both_orders=both_orders)

    def score(
        self,
        readings: ReadingsLike,
        *,
        judged: Sequence[Prompt] = (),
        abstentions: Abstentions = "left_out",
        loglik: Mapping[str, float] | None = None,
    ) -> SemanticSamples:
        """Group the parsed replies of one model into classes, and grade the classes.

        Parameters
        ----------
        readings : mapping or sequence
            Parsed replies, either by prompt key or in the order of `prompts`; None marks a failed
            call.
        judged : sequence of Prompt
            Comparisons from `judge_prompts` that a judge has answered. The parsed verdicts of the
            judge are taken from `readings` and are used instead of `collapse`.
        abstentions : {"left_out", "wrong", "missing"}
            Treatment of samples that abstain. "left_out": abstentions form a separate class
            without a grade; a question has no answer if abstention is its largest class. "wrong":
            abstentions form a separate class that is graded wrong. "missing": abstentions count as
            missing samples. For a question without a right answer, abstention is right.
        loglik : mapping, optional
            Log-likelihoods of replies in nats, by prompt key.

        Examples
        --------
        >>> asked = SemanticSampling([{"question": "Where?", "answer": "Rome"}], n_samples=2)
        >>> said = [asked.read(prompt, "In Rome") for prompt in asked.prompts()]
        >>> asked.score(said).correct
        array([[0., 0.]])
        """
        return score_readings(
            [*self.prompts(), *judged],
            readings,
            collapse=None if judged else self.collapse,
            abstentions=abstentions,
            loglik=loglik,
        )

    def _prompt(self, question: Question, sample: int) -> Prompt:
        collapse = self.collapse or _by_rule(question)
        return Prompt(
            key=f"semantic/{question.key}/{self.form}/{sample}",
            item=question.key,
            messages=self._messages(question.text),
            reply="text",
            repeat=sample,
            max_tokens=_MAX_TOKENS[self.form],
            about={
                "instrument": NAME,
                "form": self.form,
                "question": question.text,
                "domain": question.domain,
                "collapse": collapse.spec(),
                **question.grading(),
            },
        )

    def _messages(self, text: str) -> tuple[Message, ...]:
        reasoning = self.form in {"reasoning", "base_reasoning"}
        if self.form in {"instruct", "reasoning"}:
            return conversation(text, reasoning=reasoning)
        shown = [shot for shot in self.shots if shot.question.strip() != text.strip()]
        return completion(text, shown, reasoning=reasoning)


def _by_rule(question: Question) -> Collapse:
    if question.rule == "numeric":
        return numeric(absolute=question.absolute, relative=question.relative)
    return normalised()
