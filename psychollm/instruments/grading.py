r"""Grade answers in words or numbers.

Text is compared as in SQuAD (Rajpurkar et al., 2016), that is, in lower case and without
punctuation, articles and extra white space. In addition, characters are normalised (NFKC),
punctuation of any script is removed, and characters of scripts written without spaces count as
words.

Let :math:`P` be the multiset of words of a reply and :math:`G` the multiset of words of a right
answer. Precision p, recall r and the F1 score are defined by equation (1).

.. math:: p = |P \cap G| / |P|, \quad r = |P \cap G| / |G|, \quad F_1 = 2 p r / (p + r).   (1)

If there are several right answers, the best match counts. A question without right answers is
unanswerable, and only a reply that abstains is right, as in SQuAD 2.0 (Rajpurkar, Jia and Liang,
2018).

References
----------
P. Rajpurkar, J. Zhang, K. Lopyrev, P. Liang (2016). SQuAD: 100,000+ questions for machine
comprehension of text. EMNLP. P. Rajpurkar, R. Jia, P. Liang (2018). Know what you don't know:
unanswerable questions for SQuAD. ACL.
"""

import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from psychollm._base.checks import check_choice, check_text
from psychollm._base.errors import InputError
from psychollm.instruments.readers.markers import marked
from psychollm.instruments.readers.number import read_number
from psychollm.instruments.readers.plain_text import CLOSE, OPEN, plain
from psychollm.instruments.readers.refusals import declines
from psychollm.instruments.reading import Outcome

Rule = Literal["exact", "contains", "f1", "numeric"]

_HOW = ("rule", "threshold", "absolute", "relative")  # names of the grading options in a prompt
_NAMED = 2  # rank of markers such as "answer:", weaker than "final answer:"
_ANSWER_LINE = re.compile(
    r"(?im)^\W{0,4}(?:so,? |therefore,? )?(?:(?:the|my) )?(?:correct )?answer"
    r"(?: to (?:this|the) question)?\s?(?::|is\b:?|=)\s*(\S[^\n]*)$"
)
ARTICLES: tuple[str, ...] = ("a", "an", "the")
_UNSPACED = re.compile("([\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003134f\u0e00-\u0eff])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """Grade of an answer.

    Examples
    --------
    >>> grade("It was in 1066.", ["1066"], rule="contains").correct
    True
    """

    outcome: Outcome  # `ANSWERED` if gradable, `REFUSED` if the reply abstains
    score: float  # 0 to 1; NaN if there is no answer to grade
    correct: bool | None  # None if there is no answer to grade
    matched: str | None = None  # closest right answer
    abstained: bool = False


def grade(
    reply: str,
    answers: Sequence[str | float],
    *,
    rule: Rule = "exact",
    threshold: float = 1.0,
    absolute: float = 0.0,
    relative: float = 0.0,
    finish_reason: str | None = None,
) -> Grade:
    """Grade a reply to a question.

    Parameters
    ----------
    reply : str
        The reply. Reasoning text and markup are ignored. If the reply marks its answer ("Answer:
        ..."), only the marked answer is graded.
    answers : sequence of str or float
        Right answers. If this sequence is empty, the question is unanswerable and abstaining is
        right.
    rule : {"exact", "contains", "f1", "numeric"}
        "exact" requires equality after normalisation. "contains" requires that the words of a
        right answer occur in sequence in the reply. "f1" is the F1 score of shared words, and
        "numeric" compares numbers within the tolerances.
    threshold : float
        Smallest score that counts as correct; values below 1 are relevant only for "f1".
    absolute, relative : float
        Absolute tolerance for "numeric", and tolerance as a proportion of the right answer. The
        larger tolerance is used.
    finish_reason : str, optional
        Reason why the generation ended; "length" means that the reply was cut off, and an empty
        reply then counts as truncated.

    Returns
    -------
    Grade
        Grade of the reply; an empty reply has no grade. Abstention from an answerable question is
        wrong and sets `abstained`, unless the reply also contains a right answer.

    Raises
    ------
    If a right answer is blank, if it is not a number although numbers are compared, or if an
    option is out of range.

    Examples
    --------
    >>> grade("The Normans.", ["Normans", "the Vikings"]).correct
    True
    >>> grade("I don't know.", []).correct, grade("Paris", []).correct
    (True, False)
    >>> grade("about 3.1", [3.14159], rule="numeric", relative=0.02).correct
    True
    """
    check_choice("rule", rule, Rule)
    _check(answers, rule, threshold, absolute, relative)
    text = final_text(reply)
    if not text:
        cut = finish_reason == "length"
        return Grade(
            outcome=Outcome.TRUNCATED if cut else Outcome.EMPTY, score=math.nan, correct=None
        )
    scores = [_score(text, str(one), rule, absolute, relative) for one in answers]
    score = max(scores, default=0.0)
    if score < threshold and abstains(text):
        right = not answers
        return Grade(outcome=Outcome.REFUSED, score=float(right), correct=right, abstained=True)
    matched = str(answers[scores.index(score)]) if score > 0 else None
    return Grade(
        outcome=Outcome.ANSWERED, score=score, correct=score >= threshold, matched=matched
    )


def grade_by(
    about: Mapping[str, Any],
    reply: str,
    *,
    answers: Sequence[str] | None = None,
    finish_reason: str | None = None,
) -> Grade:
    """Grade a reply with the options of its prompt, against `answers` if given."""
    how = {name: about[name] for name in _HOW if name in about}
    right = about["reference"] if answers is None else answers
    return grade(reply, right, finish_reason=finish_reason, **how)


def normalise(text: str, *, articles: Sequence[str] = ARTICLES) -> str:
    """Return a text in the form used for comparison.

    Parameters
    ----------
    text : str
        Any text.
    articles : sequence of str
        Words to leave out, in lower case.

    Examples
    --------
    >>> normalise("The U.S.A., ‘land’ of  a dream")
    'usa land of dream'
    """
    return " ".join(_words(text, articles))


def exact_match(text: str, answers: Sequence[str]) -> bool:
    """Return whether a text equals one of the right answers after normalisation.

    Parameters
    ----------
    text : str
        An answer.
    answers : sequence of str
        Right answers.

    Examples
    --------
    >>> exact_match("the Rhine!", ["Rhine"])
    True
    """
    return any(normalise(text) == normalise(one) for one in answers)


def token_f1(text: str, answers: Sequence[str]) -> float:
    """Return the largest F1 score of a text against the right answers.

    Parameters
    ----------
    text : str
        An answer.
    answers : sequence of str
        Right answers. If there are no right answers, the result is 1 for a text without words and
        0 otherwise.

    Examples
    --------
    >>> round(token_f1("the river Rhine", ["Rhine"]), 3)
    0.667
    """
    return max((_f1(text, one) for one in answers), default=float(not _words(text, ARTICLES)))


def abstains(text: str) -> bool:
    """Return whether an answer abstains: it declines, or claims that no answer exists.

    Parameters
    ----------
    text : str
        An answer.

    Examples
    --------
    >>> abstains("This cannot be determined."), abstains("unanswerable"), abstains("Rome")
    (True, True, False)
    """
    check_text("text", text)
    return declines(text, in_words=True) or normalise(text) in _NO_ANSWER


_NO_ANSWER = frozenset(
    {"no answer", "unanswerable", "not answerable", "none", "no answer possible", "not given"}
)


def final_text(reply: str) -> str:
    """Return the marked answer or the whole reply, without reasoning text and markup."""
    check_text("reply", reply)
    text = plain(reply).text
    marks = [mark.text for mark in marked(text) if mark.rank < _NAMED and mark.text.strip()]
    named = marks or [line[1] for line in _ANSWER_LINE.finditer(text)]
    text = named[-1] if named else text
    return text.replace(OPEN, " ").replace(CLOSE, " ").strip(" \t\n\"'")


def _check(
    answers: Sequence[str | float], rule: str, threshold: float, absolute: float, relative: float
) -> None:
    if not 0 < threshold <= 1:
        msg = f"threshold is {threshold}: it must be above 0 and at most 1"
        raise InputError(msg)
    if not (0 <= absolute < math.inf and 0 <= relative < math.inf):
        msg = f"tolerances {absolute} and {relative} must be finite and not negative"
        raise InputError(msg)
    for one in answers:
        if rule == "numeric" and not read_number(str(one)).answered:
            msg = f"the right answer {one!r} is not a number: use a rule other than 'numeric'"
            raise InputError(msg)
        if not str(one).strip():
            msg = "a right answer is blank: leave it out, or pass none if the question has none"
            raise InputError(msg)


def _score(text: str, answer: str, rule: Rule, absolute: float, relative: float) -> float:
    if rule == "f1":
        return _f1(text, answer)
    if rule == "numeric":
        return float(_close(text, answer, absolute, relative))
    if rule == "contains":
        words, wanted = _words(text, ARTICLES), _words(answer, ARTICLES)
        return float(f" {' '.join(wanted)} " in f" {' '.join(words)} " if wanted else not words)
    return float(normalise(text) == normalise(answer))


def _close(text: str, answer: str, absolute: float, relative: float) -> bool:
    given, right = read_number(text).value, read_number(answer).value
    if given is None or right is None:
        return False
    allowed = max(absolute, relative * abs(float(right)))
    # Tolerances are decimal numbers, but in binary arithmetic 3.1 - 3 exceeds 0.1. A small margin
    # corrects for this.
    return abs(float(given) - float(right)) <= allowed + 1e-12 * abs(float(right))


def _f1(text: str, answer: str) -> float:
    words, wanted = _words(text, ARTICLES), _words(answer, ARTICLES)
    if not words or not wanted:
        return float(words == wanted)
    common = sum((Counter(words) & Counter(wanted)).values())
    return 2.0 * common / (len(words) + len(wanted))


def _words(text: str, articles: Sequence[str]) -> list[str]:
    """Return the words of a text; in scripts without spaces, each character is a word."""
    check_text("text or answers", text)
    text = unicodedata.normalize("NFKC", text).casefold().translate(_NO_SIGNS)
    if not text.isascii():
        text = "".join(one for one in text if unicodedata.category(one)[0] != "P")
        text = _UNSPACED.sub(r" \1 ", text)
    return [word for word in text.split() if word not in articles]


# As in SQuAD, this removes punctuation and ASCII symbols such as "$".
_NO_SIGNS = str.maketrans("", "", string.punctuation)
