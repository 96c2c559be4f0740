"""Scoring of one model's replies to the abstention questions, by rule and by judge.

A parsed reply is coded by three words, such as "wrong confident doubting". The first word is the
outcome: abstained, correct, wrong, or attempted (not gradable). The second word, confident or
hedged, states whether the answer expresses doubt. The third word states whether the reasoning
expresses doubt: doubting, settled, or untraced if there is no reasoning text.

Lists of plain English patterns detect doubt and abstention, so every match can be inspected.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Self, TypeAlias, cast

import numpy as np

from psychollm._base.types import FloatArray
from psychollm.instruments.abstention.result import AbstentionScores
from psychollm.instruments.grading import abstains, final_text, grade_by, token_f1
from psychollm.instruments.prompt import Prompt, told
from psychollm.instruments.readers import read_number, read_yes_no
from psychollm.instruments.readers.clauses import sentences
from psychollm.instruments.readers.plain_text import split_trace
from psychollm.instruments.reading import Outcome, Reading, ReadingsLike, aligned

_DOUBT = re.compile(
    r"""(?ix)
    \b(?:not|n't|never)\ (?:\w+\ ){0,2}?(?:sure|certain|confident|clear|convinced|positive)\b
  | \b(?:unsure|uncertain|unclear|doubtful|dubious|ambiguous|puzzling|confusing)\b
  | \b(?:i|we)\ (?:\w+\ )?doubt\b
  | \b(?:do\ not|don't|can't|cannot|can\ not)\ (?:\w+\ )?(?:know|tell|recall|remember|verify)\b
  | \b(?:maybe|perhaps|possibly|presumably)\b
  | \b(?:my\ (?:best\ )?|just\ (?:a\ )?|a\ )guess(?:ing)?\b | \bi(?:'m|\ am|\ will|'ll)?\ guess
  | \b(?:could|might|may)\ (?:well\ |also\ )?be\ (?:wrong|mistaken|off|incorrect)\b
  | \bhard\ to\ (?:say|tell|know)\b
  | \b(?:no|not\ any)\ (?:real\ )?way\ (?:to|of)\ (?:know|tell)
  | \b(?:not\ enough|insufficient|missing)\ (?:information|data|details?|context)\b
  | \bshaky\b | \bhazy\b | \btentative
    """
)
_OBJECTION = re.compile(
    r"""(?ix)
    \bthere\ (?:is|are|was|were)\ no(?:t\ (?:a|an|any|enough))?\b
  | \bthere(?:'s|\ isn't|\ aren't|\ wasn't)\ (?:no|any|a)\b
  | \b(?:does|do|did)(?:\ not|n't)\ \w+\b
  | \b(?:has|have|had)\ no\b | \bno\ such\b | \bnon-?existent\b
  | \b(?:is|are|was|were)(?:\ not|n't)\ (?:actually\ )?(?:a\ )?
    (?:specified|stated|given|mentioned|provided|listed|defined|said|known|clear|recorded|real
      |valid|possible|included|there|determined|recogni[sz]ed|enough)\b
  | \b(?:unclear|unspecified|ambiguous|undefined|fictional|fictitious|made-?\ ?up|imaginary
      |unpredictable|subjective|underspecified)\b
  | \bdepend(?:s|ing)?\ (?:up)?on\b
  | \bmatters?\ of\ (?:\w+\ )?(?:taste|opinion|preference)\b | \bpersonal\ (?:taste|preference)
  | \b(?:can(?:not|'t|\ not)|impossible\ to)\ (?:\w+\ )?(?:be\ )?
    (?:predict|foresee|forecast|know|tell|say|find|identify|work\ out|determine
      |predicted|foreseen|known)
  | \b(?:nobody|no\ one|no-one)\ (?:can|could|knows)\b
  | \bnot\ (?:aware\ of|familiar\ with|yet|specified|stated|given|mentioned|provided|known
      |defined)\b
  | \bno\ (?:record|knowledge|information|objective|definite|definitive|single)\b
  | \bnever\ heard\b | \b(?:false|mistaken|wrong|incorrect)\ (?:premise|assumption|claim)\b
  | \b(?:could|can|would)\ you\ (?:please\ )?(?:clarify|specify|tell|say|provide)\b
  | \bplease\ (?:clarify|specify|provide)\b
  | \b(?:need|require|lack)s?\ (?:more|further|additional|to\ know)\b
    """
)
# These words state that a writer commits to an answer despite earlier doubt.
_COMMITS = re.compile(
    r"""(?ix)
    \b(?:but|however|still|yet|though|so|nevertheless)\b[^.!?\n]{0,60}
    \b(?:guess|say|estimate|assume|suppose|think|believe|choose|pick|go\ with|likely|probably|most
      |answer\ is|it's|it\ is)\b
  | \b(?:my|best|rough|educated)\ (?:\w+\ )?(?:guess|estimate|answer)\b
  | \b(?:assuming|if\ we\ (?:assume|take|mean)|if\ you\ mean)\b
  | \bi(?:'d|\ would)\ (?:\w+\ )?(?:guess|say|estimate|choose|pick|go\ with)\b
    """
)


def doubts(text: str) -> Iterator[str]:
    """Yield the sentences of a text that express doubt."""
    for one in sentences(text):
        words = text[one.start : one.end].replace("’", "'")
        if _DOUBT.search(words) or _OBJECTION.search(words):
            yield text[one.start : one.end]


def objects(text: str) -> bool:
    """Return whether an answer declines the question or objects to it."""
    words = text.replace("’", "'").strip()
    asks_back = words.endswith("?") and len(words) > 1
    return asks_back or abstains(words) or _OBJECTION.search(words) is not None


def commits(text: str) -> bool:
    """Return whether a text commits to an answer despite doubt."""
    return _COMMITS.search(text.replace("’", "'")) is not None


Decision: TypeAlias = Literal["abstained", "correct", "wrong", "attempted"]
Manner: TypeAlias = Literal["confident", "hedged"]
Thinking: TypeAlias = Literal["doubting", "settled", "untraced"]

_BLANK = re.compile(
    r"(?i)[\W_]*(?:(?:so|the|my|final|thus|therefore),?\s+){0,3}answer(?: is)?[\W_]*"
)
_ECHO = 0.75  # F1 score above which a reply only repeats the question
_SHOWN = 4  # number of sentences used if no answer is marked


class Reply(NamedTuple):
    """Three words that code a parsed reply."""

    decision: Decision
    manner: Manner
    trace: Thinking

    @property
    def code(self) -> str:
        """The words for decision, manner and reasoning trace, as one string."""
        return " ".join(self)

    @classmethod
    def of(cls, code: str) -> Self:
        """Return the reply that a string of three words encodes."""
        decision, manner, trace = code.split(" ")
        return cls(cast("Decision", decision), cast("Manner", manner), cast("Thinking", trace))


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Parse a reply to a question, or a judge's verdict on a reply."""
    # The value is one of the words of `Reply`, or 1 or 0 for a judge's yes or no. A reply that
    # only repeats the question is unreadable. A reply that doubts whether an answer exists but
    # gives an answer is ambiguous; a judge may decide.
    if prompt.about["stage"] == "judge":
        return read_yes_no(reply, finish_reason=finish_reason)
    cut = finish_reason == "length"
    thinking, answer, named = split_trace(reply)
    text = final_text(answer)
    if not text or _BLANK.fullmatch(text):
        blank = Outcome.UNREADABLE if thinking else Outcome.EMPTY
        return Reading(outcome=Outcome.TRUNCATED if cut else blank)
    if cut and not named:
        return Reading(outcome=Outcome.TRUNCATED, said=text)
    if text.endswith("?") and token_f1(text, [prompt.about["question"]]) >= _ECHO:
        return Reading(outcome=Outcome.UNREADABLE, said=text)
    wording = text if named else _ends(text)
    decision = _decision(prompt, text, wording)
    if decision is None:
        return Reading(outcome=Outcome.AMBIGUOUS, said=wording)
    hedged = decision != "abstained" and any(True for _ in doubts(wording))
    trace: Thinking = "untraced"
    if thinking:
        trace = "doubting" if any(True for _ in doubts(thinking)) else "settled"
    code = Reply(decision, "hedged" if hedged else "confident", trace).code
    return Reading(outcome=Outcome.ANSWERED, value=code, said=wording)


def _decision(prompt: Prompt, text: str, wording: str) -> Decision | None:
    answers = prompt.about["reference"]
    if answers and grade_by(prompt.about, text).correct:
        return "correct"
    if objects(wording):
        return None if commits(wording) else "abstained"
    return "wrong" if answers and not _says_two_numbers(prompt, wording) else "attempted"


def _says_two_numbers(prompt: Prompt, wording: str) -> bool:
    """Return whether a reply gives several numbers although one was requested."""
    numeric = prompt.about.get("rule") == "numeric"
    return numeric and read_number(wording).outcome is Outcome.AMBIGUOUS


def _ends(text: str) -> str:
    """Return the first two and the last two sentences, where an answer is most likely."""
    ends = [text[one.start : one.end] for one in sentences(text)]
    if len(ends) > _SHOWN:
        ends = ends[: _SHOWN // 2] + ends[-(_SHOWN // 2) :]
    return " ".join(ends)


Row = tuple[str, str]  # model that replied, as named to a judge, and key of the prompt
FAILED = Reading(outcome=Outcome.FAILED)
_GRADES = {"correct": 1.0, "wrong": 0.0}


def score_readings(prompts: Sequence[Prompt], readings: ReadingsLike) -> AbstentionScores:
    """Score the parsed replies of one model."""
    # The prompts may include a judge's prompts, or consist only of them. In the second case, there
    # are no scores by rule.
    by_key = dict(zip((one.key for one in prompts), aligned(prompts, readings), strict=True))
    rows = _rows(prompts)
    about = [prompt.about for prompt in rows.values()]
    asked = [one.about["stage"] == "ask" for one in rows.values()]
    replies = [
        by_key[prompt.key] if own else FAILED
        for prompt, own in zip(rows.values(), asked, strict=True)
    ]
    read = [Reply.of(str(one.value)) if one.answered else None for one in replies]
    judged = _judged(prompts, by_key, rows)

    def verdicts(asks: str, view: str) -> FloatArray:
        return np.array([judged.get((*row, asks, view), np.nan) for row in rows], dtype=float)

    return AbstentionScores(
        models=told(about, "model"),
        items=tuple(one.item for one in rows.values()),
        scenarios=told(about, "scenario"),
        pairs=told(about, "pair"),
        datasets=told(about, "dataset"),
        runs=tuple(one.repeat + 1 for one in rows.values()),
        outcomes=tuple(one.outcome for one in replies),
        should_abstain=np.array([float(one["should_abstain"]) for one in about], dtype=float),
        abstained=_flags([one and one.decision == "abstained" for one in read]),
        correct=np.array(
            [_GRADES.get(one.decision, np.nan) if one else np.nan for one in read], dtype=float
        ),
        confident=_flags([one and one.manner == "confident" for one in read]),
        doubting=_flags(
            [one.trace == "doubting" if one and one.trace != "untraced" else None for one in read]
        ),
        abstained_judged=verdicts("abstains", "answer"),
        abstained_judged_whole=verdicts("abstains", "whole"),
        confident_judged=verdicts("confident", "answer"),
        confident_judged_whole=verdicts("confident", "whole"),
        doubting_judged=verdicts("uncertain", "trace"),
    )


def _rows(prompts: Sequence[Prompt]) -> dict[Row, Prompt]:
    """Return one prompt per reply: the original prompt or, if it is missing, a judge's prompt."""
    rows = {("", one.key): one for one in prompts if one.about["stage"] == "ask"}
    for prompt in prompts:
        if prompt.about["stage"] == "judge":
            row = _judged_row(prompt)
            if row not in rows and ("", row[1]) not in rows:
                rows[row] = prompt
    return rows


def _judged_row(prompt: Prompt) -> Row:
    """Return the model and the prompt of the judged reply, with the index of its sample."""
    _, mark, sample = prompt.key.rpartition("#")
    again = f"#{sample}" if mark and sample.isdigit() else ""
    return str(prompt.about.get("model", "")), f"{prompt.about['of']}{again}"


def _judged(
    prompts: Sequence[Prompt], judgements: Mapping[str, Reading], rows: Mapping[Row, Prompt]
) -> dict[tuple[str, str, str, str], float]:
    judged = {}
    for prompt in prompts:
        about, value = prompt.about, judgements[prompt.key].value
        if about["stage"] == "judge" and value is not None:
            model, key = _judged_row(prompt)
            row = (model, key) if (model, key) in rows else ("", key)
            judged[(*row, about["asks"], about["view"])] = float(value)
    return judged


def _flags(values: Sequence[bool | None]) -> FloatArray:
    return np.array([np.nan if one is None else float(one) for one in values], dtype=np.float64)
