"""The self-prediction instrument: a prediction, then the answer, and their comparison.

By default the prediction is requested first, in its own conversation. The prediction can therefore
depend only on the model's knowledge of itself, and the model cannot adapt its answer to the
prediction. "No" counts as an answer, like "yes". A reply that gives neither answer, or a failed
request, is missing data.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from psychollm._base.checks import check_choice, hold_counts
from psychollm._base.errors import LabelError, OptionError
from psychollm.data.labels import listed
from psychollm.instruments.instrument import Instrument, check_chosen, from_file
from psychollm.instruments.prompt import Message, Prompt, ReplyForm
from psychollm.instruments.questions import QUESTION_FILES, Question, as_questions, read_questions
from psychollm.instruments.self_prediction.result import SelfPredictionScores
from psychollm.instruments.self_prediction.scoring import NAME

Form: TypeAlias = Literal["reasoning", "direct"]
Scale: TypeAlias = Literal["yes_no", "percent", "verbal"]

# Requests for a prediction on each scale, in one line or at the end of a reply that reasons first.
_DIRECT = {
    "yes_no": "Would you answer it correctly? Reply with one word: Yes or No.",
    "percent": "How likely is it that you would answer it correctly? Reply with a percentage "
    "from 0 to 100 and nothing else.",
    "verbal": "How likely is it that you would answer it correctly? Reply with one of these "
    "expressions and nothing else: {phrases}.",
}
_LAST_LINE = {
    "yes_no": "Yes or No: whether you would answer it correctly",
    "percent": "a percentage from 0 to 100: how likely it is that you would answer it correctly",
    "verbal": "one of these expressions for how likely it is that you would answer it "
    "correctly: {phrases}",
}
PHRASES: tuple[str, ...] = (
    "almost no chance",
    "very unlikely",
    "unlikely",
    "roughly even chance",
    "likely",
    "very likely",
    "almost certain",
)


def prediction(question: str, *, form: Form, scale: Scale) -> str:
    """Return the user message that asks for a prediction."""
    phrases = ", ".join(PHRASES)
    if form == "direct":
        end = _DIRECT[scale].format(phrases=phrases)
    else:
        last = _LAST_LINE[scale].format(phrases=phrases)
        end = (
            "First consider, in a few sentences, what you know that bears on it and what you "
            f'do not. Then end with a line that begins with "Answer:" and gives {last}.'
        )
    return f"Here is a question. Do not answer it yet.\n\nQuestion: {question}\n\n{end}"


def request(question: str) -> str:
    """Return the user message that asks for the answer, in its own conversation."""
    asked = "Answer this question with a word, a name or a number, and nothing else."
    return f"{asked}\n\nQuestion: {question}"


def request_after(question: str) -> str:
    """Return the user message that asks for the answer after the prediction."""
    return f"Now answer it, with a word, a name or a number, and nothing else: {question}"


def judgement(question: str, references: list[str], reply: str) -> str:
    """Return the user message that asks a judge whether a reply is right."""
    right = " or ".join(references) if references else "none; the question cannot be answered"
    return (
        "Compare a reply with the right answer to a question.\n\n"
        f"Question: {question}\nRight answer: {right}\nReply: {reply}\n\n"
        "Does the reply give the right answer, in whatever words? Another answer beside it "
        "makes the\nreply wrong. Reply with one word: Yes or No."
    )


_REPLY: Mapping[Scale, ReplyForm] = {"yes_no": "yes_no", "percent": "percent", "verbal": "verbal"}
_LENGTH: Mapping[Form, int] = {"reasoning": 1024, "direct": 16}
_ANSWER_LENGTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfPrediction(Instrument[SelfPredictionScores]):
    """Questions, each with a prediction that is followed by the answer.

    Parameters
    ----------
    questions : iterable of Question or mapping
        Questions with right answers; see `read_questions`.
    form : {"reasoning", "direct"}
        Whether a model reasons before it predicts, or gives its prediction in one word.
    scales : tuple of {"yes_no", "percent", "verbal"}
        Scales of the prediction; each scale has its own prompt.
    examples : sequence of (str, bool)
        Other questions with the correct prediction for the model, shown as earlier turns (scale
        "yes_no" and form "direct" only). Models that always answer yes, or always no, may need
        examples. Examples shift the response criterion, so balance and report them.
    same_conversation : bool
        Whether the answer is requested in the conversation of the first prediction; the prediction
        may then change the answer.
    n_repeats : int
        Number of administrations of every prompt.
    max_tokens : int, optional
        Maximal length of a prediction in tokens.
    answer_tokens : int, optional
        Maximal length of an answer in tokens.

    Raises
    ------
    InputError
        If there are no questions, or a question lacks a required field.
    OptionError
        If an option is invalid or is incompatible with the others.

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
            msg = "examples require form='direct' and scales=('yes_no',)"
            raise OptionError(msg)
        for name in ("max_tokens", "answer_tokens"):
            if getattr(self, name) is not None:
                hold_counts(self, name)
        hold_counts(self, "n_repeats")

    def prompts(self) -> tuple[Prompt, ...]:
        """Return all prompts of every repeat; predictions of a question precede its answer.

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


_JUDGE_LENGTH = 16


def judge_prompts(prompts: Sequence[Prompt], replies: Mapping[str, str]) -> tuple[Prompt, ...]:
    """Return the prompts that ask a judge whether answers are right.

    Parameters
    ----------
    prompts : sequence of Prompt
        Prompts from `SelfPrediction.prompts`.
    replies : mapping of str to str
        Replies of one model, by prompt key. Blank replies, and replies to prompts that do not
        request an answer, are skipped.

    Returns
    -------
    tuple of Prompt
        One prompt per answer, whose key is the key of the answer followed by "/judge". If the
        parsed verdict is scored together with the other replies, it takes precedence over grading
        by rule.

    Raises
    ------
    LabelError
        If a key does not belong to any prompt.

    Examples
    --------
    >>> from psychollm.instruments.self_prediction import SelfPrediction
    >>> asked = SelfPrediction(questions=[{"question": "What is 2 + 2?", "answer": "4"}])
    >>> [prompt.key for prompt in judge_prompts(asked.prompts(), {"1/answer/0": "four"})]
    ['1/answer/0/judge']
    """
    known = {prompt.key: prompt for prompt in prompts}
    if unknown := sorted(set(replies) - set(known)):
        msg = (
            f"replies has keys of no prompt: {listed(unknown)}; use the instrument of the prompts"
        )
        raise LabelError(msg)
    return tuple(
        _judge(known[key], reply)
        for key, reply in replies.items()
        if known[key].about["part"] == "answer" and reply.strip()
    )


def _judge(prompt: Prompt, reply: str) -> Prompt:
    about = prompt.about
    text = judgement(about["question"], about["reference"], reply.strip())
    return Prompt(
        key=f"{prompt.key}/judge",
        item=prompt.item,
        messages=(Message("user", text),),
        reply="yes_no",
        repeat=prompt.repeat,
        max_tokens=_JUDGE_LENGTH,
        about={"instrument": NAME, "part": "judge", "question": about["question"]},
    )
