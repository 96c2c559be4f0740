"""The instrument: asks for a prediction, then for the answer, and holds one against the other.

The prediction comes first and in a conversation of its own, so that it can rest on nothing but
what a model knows of itself, and the answer cannot be made to fit it. "No" is an answer like
"yes"; a reply that says neither, or a call that failed, is missing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psychollm._base.checks import check_choice, check_count
from psychollm._base.errors import OptionError
from psychollm.instruments.instrument import Instrument, check_chosen, from_file
from psychollm.instruments.prompt import Message, Prompt, ReplyForm
from psychollm.instruments.questions import QUESTION_FILES, Question, as_questions, read_questions
from psychollm.instruments.self_prediction.replies import NAME
from psychollm.instruments.self_prediction.result import SelfPredictionScores
from psychollm.instruments.self_prediction.wording import (
    Form,
    Scale,
    prediction,
    request,
    request_after,
)

_REPLY: Mapping[Scale, ReplyForm] = {"yes_no": "yes_no", "percent": "percent", "verbal": "verbal"}
_LENGTH: Mapping[Form, int] = {"reasoning": 1024, "direct": 16}
_ANSWER_LENGTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfPrediction(Instrument[SelfPredictionScores]):
    """Questions, each with a prediction asked before and an answer asked after.

    Parameters
    ----------
    questions : iterable of Question or mapping
        With their right answers; see `read_questions`.
    form : {"reasoning", "direct"}
        Whether a model considers the question before it predicts, or says one word.
    scales : tuple of {"yes_no", "percent", "verbal"}
        How the prediction is stated; each scale is a prompt of its own.
    examples : sequence of (str, bool)
        Other questions with the prediction that is right for the model to give, shown as earlier
        turns (scale "yes_no" and form "direct" only). Models whose answer is always yes, or
        always no, may need them. They move the threshold: balance them, and report them.
    same_conversation : bool
        Whether the answer is asked for after the first prediction, in its conversation; then the
        prediction may change the answer.
    n_repeats : int
        Times that every prompt is put.
    max_tokens : int, optional
        Limit on the length of predictions.
    answer_tokens : int, optional
        Limit on the length of answers.

    Raises
    ------
    InputError
        If there are no questions, or one lacks what is needed.
    OptionError
        If an option does not exist or does not fit the others.

    Examples
    --------
    >>> asked = SelfPrediction(questions=[{"question": "What is 2 + 2?", "answer": "4"}])
    >>> [prompt.key for prompt in asked.prompts()]
    ['1/predict/yes_no/0', '1/answer/0']
    >>> predict, answer = asked.prompts()
    >>> scores = asked.score({predict.key: asked.read(predict, "Easy. Answer: Yes"),
    ...                       answer.key: asked.read(answer, "four")})
    >>> scores.said, scores.correct
    (array([1.]), array([0.]))
    """

    NAME = NAME

    questions: Iterable[Question | Mapping[str, Any]] = from_file(read_questions, QUESTION_FILES)
    form: Form = "reasoning"
    scales: tuple[Scale, ...] = ("yes_no",)
    examples: Sequence[tuple[str, bool]] = ()
    same_conversation: bool = False
    n_repeats: int = 1
    max_tokens: int | None = None
    answer_tokens: int | None = None
    asked: tuple[Question, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "asked", as_questions(self.questions))
        check_choice("form", self.form, Form)
        check_chosen("scales", self.scales, Scale)
        if self.examples and (self.scales != ("yes_no",) or self.form != "direct"):
            msg = "examples can be shown with form='direct' and scales=('yes_no',) only"
            raise OptionError(msg)
        for name in ("max_tokens", "answer_tokens"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        check_count("n_repeats", self.n_repeats)

    def prompts(self) -> tuple[Prompt, ...]:
        """Return every prompt of every repeat: the predictions of a question, then its answer.

        Examples
        --------
        >>> asked = SelfPrediction(questions=[{"question": "Who?", "answer": "she"}],
        ...                        scales=("yes_no", "percent"))
        >>> [prompt.reply for prompt in asked.prompts()]
        ['yes_no', 'percent', 'text']
        """
        return tuple(
            prompt
            for repeat in range(self.n_repeats)
            for question in self.asked
            for prompt in self._of(question, repeat)
        )

    def _of(self, question: Question, repeat: int) -> list[Prompt]:
        predictions = [self._prediction(question, scale, repeat) for scale in self.scales]
        return [*predictions, self._answer(question, repeat, predictions[0].key)]

    def _prediction(self, question: Question, scale: Scale, repeat: int) -> Prompt:
        shown: list[Message] = []
        for example, known in self.examples:
            shown.append(Message("user", prediction(example, form=self.form, scale=scale)))
            shown.append(Message("assistant", "Yes" if known else "No"))
        text = prediction(question.text, form=self.form, scale=scale)
        return Prompt(
            key=f"{question.key}/predict/{scale}/{repeat}",
            item=question.key,
            messages=(*shown, Message("user", text)),
            reply=_REPLY[scale],
            repeat=repeat,
            max_tokens=self.max_tokens or _LENGTH[self.form],
            about=self._about(question, "predict") | {"scale": scale},
        )

    def _answer(self, question: Question, repeat: int, before: str) -> Prompt:
        after = self.same_conversation
        text = request_after(question.text) if after else request(question.text)
        return Prompt(
            key=f"{question.key}/answer/{repeat}",
            item=question.key,
            messages=(Message("user", text),),
            reply="text",
            follows=before if after else None,
            repeat=repeat,
            max_tokens=self.answer_tokens or _ANSWER_LENGTH,
            about=self._about(question, "answer") | question.grading(),
        )

    def _about(self, question: Question, part: str) -> dict[str, Any]:
        about = {"instrument": NAME, "part": part, "question": question.text}
        return about | ({"domain": question.domain} if question.domain else {})
