"""What a reply does with a question: abstain, or attempt an answer, and in what manner.

The words of a reading are three, such as "wrong confident doubting": what became of the question
(abstained, correct, wrong, or attempted without a grade), whether the answer shows doubt
(confident, hedged), and whether the thinking before it does (doubting, settled, untraced where
none is shown).

Both are lists of plain patterns, so that what was found can be shown. They are for English.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, Self, TypeAlias, cast

from psychollm.instruments.grading import abstains, final_text, grade_by, token_f1
from psychollm.instruments.prompt import Prompt
from psychollm.instruments.readers import read_number, read_yes_no
from psychollm.instruments.readers.clauses import sentences
from psychollm.instruments.reading import Outcome, Reading
from psychollm.instruments.traces import split_trace

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
# What follows commits itself to an answer, for all the doubt before it.
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
    """Yield the sentences of a text that doubt."""
    for one in sentences(text):
        words = text[one.start : one.end].replace("’", "'")
        if _DOUBT.search(words) or _OBJECTION.search(words):
            yield text[one.start : one.end]


def objects(text: str) -> bool:
    """Tell whether an answer leaves its question unanswered, in whatever way."""
    said = text.replace("’", "'").strip()
    asks_back = said.endswith("?") and len(said) > 1
    return asks_back or abstains(said) or _OBJECTION.search(said) is not None


def commits(text: str) -> bool:
    """Tell whether a text goes on to an answer although it doubts."""
    return _COMMITS.search(text.replace("’", "'")) is not None


Decision: TypeAlias = Literal["abstained", "correct", "wrong", "attempted"]
Manner: TypeAlias = Literal["confident", "hedged"]
Thinking: TypeAlias = Literal["doubting", "settled", "untraced"]

_BLANK = re.compile(
    r"(?i)[\W_]*(?:(?:so|the|my|final|thus|therefore),?\s+){0,3}answer(?: is)?[\W_]*"
)
_ECHO = 0.75  # F1 with the question from which a reply only asks it again
_SHOWN = 4  # sentences of a reply that names no answer: its first two and its last two


class Reply(NamedTuple):
    """What a reading of a reply says."""

    decision: Decision
    manner: Manner
    trace: Thinking

    @property
    def code(self) -> str:
        """The words of the reading."""
        return " ".join(self)

    @classmethod
    def of(cls, code: str) -> Self:
        """Return what the words say."""
        decision, manner, trace = code.split(" ")
        return cls(cast("Decision", decision), cast("Manner", manner), cast("Thinking", trace))


def read_reply(prompt: Prompt, reply: str, *, finish_reason: str | None = None) -> Reading:
    """Read a reply to a question, or a judge's verdict on one."""
    # The words of `Reply`, or 1 and 0 for a judge's yes and no. A reply that only repeats the
    # question is unreadable. An answer that doubts whether there is one and gives one all the same
    # is ambiguous: a judge may decide.
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
    said = text if named else _ends(text)
    decision = _decision(prompt, text, said)
    if decision is None:
        return Reading(outcome=Outcome.AMBIGUOUS, said=said)
    hedged = decision != "abstained" and any(True for _ in doubts(said))
    trace: Thinking = "untraced"
    if thinking:
        trace = "doubting" if any(True for _ in doubts(thinking)) else "settled"
    code = Reply(decision, "hedged" if hedged else "confident", trace).code
    return Reading(outcome=Outcome.ANSWERED, value=code, said=said)


def _decision(prompt: Prompt, text: str, said: str) -> Decision | None:
    answers = prompt.about["reference"]
    if answers and grade_by(prompt.about, text).correct:
        return "correct"
    if objects(said):
        return None if commits(said) else "abstained"
    return "wrong" if answers and not _says_two_numbers(prompt, said) else "attempted"


def _says_two_numbers(prompt: Prompt, said: str) -> bool:
    """Tell whether a number was asked for and several are said: nothing is graded then."""
    numeric = prompt.about.get("rule") == "numeric"
    return numeric and read_number(said).outcome is Outcome.AMBIGUOUS


def _ends(text: str) -> str:
    """Return the first two sentences and the last two: what lies between was on the way."""
    found = [text[one.start : one.end] for one in sentences(text)]
    if len(found) > _SHOWN:
        found = found[: _SHOWN // 2] + found[-(_SHOWN // 2) :]
    return " ".join(found)
