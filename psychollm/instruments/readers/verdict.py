"""Rules that find the answer in a reply, for every form of answer.

The first of the following six rules that finds evidence determines the answer.

Rule 1 uses an answer that is marked or named as final (a box, an answer tag, a JSON field, "final
answer:") or, if there is none, a named answer ("answer:", "the answer is"). Two different answers
of the same rank are ambiguous.

Rule 2 uses the whole reply, if it consists only of an answer.

Rule 3 uses an answer on a separate line at the start or end of the reply, unless another such line
or the opening words of the reply contradict it.

Rule 4 uses the conclusion of the last sentence ("so", "therefore"), unless the opening words
contradict it.

Rule 5 uses opening words that are followed by a reason. Rule 5 applies only to forms of answers
whose reasons mention other values.

Rule 6 uses the only value that the reply mentions, if nothing contradicts it.

A value is asserted in a clause that introduces it ("I would say 5"). A value is not asserted if it
is denied ("not 5"), reported ("he said 5"), wished for, supposed or asked ("5?"). An answer that
the reply retracts ("scratch that", "let me recount", "no wait") does not count if another answer
follows. An answer that the reply questions ("wait, ...") without rejecting it is ambiguous, unless
exactly one other answer follows. Text after the next question is ignored, because models without
instruction tuning continue with invented turns. An open choice ("yes or no"), a bound ("at least
5") and mentions of two different values are ambiguous. Without evidence of an answer, the outcome
is `REFUSED` if the reply declines to answer, and `UNREADABLE` otherwise. In a truncated reply,
only rules 1 and 2, the first line (rule 3) and the opening words apply, because later mentions may
be intermediate results.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from psychollm.instruments.readers.clauses import (
    Mention,
    Mode,
    Value,
    chooses,
    decides,
    explained,
    sentences,
    turns,
)
from psychollm.instruments.readers.markers import Marked, conclusion, marked
from psychollm.instruments.readers.plain_text import CLOSE, OPEN, plain
from psychollm.instruments.readers.refusals import apologises, declines
from psychollm.instruments.reading import Outcome, Reading

# Phrases that retract all preceding text.
_RETRACTS = re.compile(
    r"(?im)(?:^|[.!?…]\s|[,;–-]\s|\(|(?<=\w\s)(?=on second thought)|\b(?:wait|actually|hmm|no|sorry|but|aber|mais|pero|ma|mas|maar|ale|но|perdón|scusa|scusate|pardon|desculpe|entschuldigung|przepraszam|простите|извините)\b[,.:!\s]{1,3})(?P<cue>let me (?:re(?:-?check|count|consider|do|calculate|compute|think|phrase|evaluate|vise)|correct (?:myself|that)|try again"
    r"|start over|think again)|(?:but )?on (?:second thoughts?|(?:further |closer )?(?:reflection|inspection|consideration))|scratch that|strike that|i misspoke"
    r"|i (?:just )?made an? (?:\w+ )?(?:mistake|error|typo)|i take that back|i stand corrected|i(?:'ve| have)? changed my mind"
    r"|(?:having )?thought about it (?:again|more)|(?<=[.!?…–-]\s)no,? wait|(?<=\S\s)on second thoughts?|(?:actually,? )?(?:make (?:it|that)|change (?:it|that|my answer) to)"
    r"|actually,? (?:the (?:\w+ )?answer (?:is|should be)|(?:i'd|i would|i'll|i will) (?:say|go|choose|pick|change)|it (?:is|should be)\b|it's)"
    r"|(?:sorry,? )?i (?:mean(?!s|t? to)|meant(?! to))|je veux dire|ich meine|quiero decir|voglio dire|quero dizer|on (?:réflexion|réfléchissant)|à la réflexion|bei näherer betrachtung|pensándolo (?:bien|mejor)|ripensandoci|pensando (?:bem|melhor)"
    r"|wait,? no\b|correction\s?:|ich habe mich (?:geirrt|vertan|verlesen|verschrieben|verrechnet)|je me suis trompée?|me he (?:equivocado|confundido)|me equivoqué|mi sono sbagliat[oa]|me enganei|ik heb me vergist|pomyliłe?[ma](?:m)? się|я ошиб(?:ся|лась)|yanılmışım|写错了|看错了|弄错了|間違えました|틀렸네요|잘못 (?:썼|봤|말했)\w*|ich korrigiere(?: mich)?|je (?:me )?corrige|me corrijo|mi correggo|поправка|我算错了|更正|訂正)(?![\w'])"
)
_TAKES_BACK = re.compile(r"(?i)(?:but )?on second|scratch|strike|i take|i(?:'ve| have)? changed")
# Phrases that begin a correction if only another answer follows.
_MENDS = re.compile(
    r"(?i)(?:(?<![.!?…])[.!?…]+\s*|[,;–-]\s*|\n\s*|\(|(?<=[)\]0-9])\s)(?:(?:oh|ah|hmm+|no|oops|ups|non|nein|nee|нет|но|хотя|oder|ou|o|and|but|or rather)[,.!…\s–-]+)?"
    r"(?:wait|hold on|actually|sorry|pardon|hmm+|no|nope|er|err|uh|ähm?|euh|rather|edit(?:ed)?|correct(?:ed|ion)|(?:but )?(?:right )?now(?: (?:i'd|i would) (?:say|put it at))?|update[ds]?"
    r"|moment(?: mal)?|stopp?|warte|nein|korrektur|eigentlich|besser gesagt|attende[zs]|attends|non|plutôt|correctif|enfin|espera|perdón|mejor(?: dicho)?|digo|corrección|aspetta|anzi|scusa|no|correzione|espere?|não|aliás|digo|correção"
    r"|oops|ups|wacht|nee|correctie|czekaj|nie|przepraszam|стой|подождите?|нет|простите|точнее|bekle|yok|hayır|düzeltme|等等|等一下|不对|不，|不对，|应该是|待って|いや|いいえ|すみません|잠깐|아니|아니요|रुको|माफ़ कीजिए|لا|عفوا)(?![\w'])"
    r"[,.:;!…\s–-]*(?:(?:wait|actually|sorry|no|it's|it is|it should be|that's (?:wrong|not right|incorrect)|that's|i mean|i meant|make it|rather|the (?:correct |right )?answer is|answer|doch|eher|sondern|es ist|plutôt|c'est|es|è|é|mejor|meglio|melhor|besser|better|(?:an?|une?|eine?|um|een)(?=\s[0-9]))(?![^\W\d_])[,:…\s]*|(?:应该|而)?(?:是|选|为))*"
)
_BREAKS_OFF = re.compile(
    r"(?i)[\s,.–-](?:wait|hold on|hmm+|let me (?:re-?|double[ -])?check(?: (?:this|that|again))?)[.!?…\s]*$"
)
_DOUBTS = re.compile(
    r"(?i)wait|hold on|actually|hmm|moment|warte|atten|espera|aspetta|wacht|czekaj|подожди|bekle|等|待って|잠깐|रुको"
)

# This pattern matches a last line that marks the answer.
_ENDS = re.compile(
    r"(?i)\n(?:so,? |therefore,? |thus,? )?(?:the |my )?(?:final )?answer(?: is|:)[^\n]*\Z"
)
_DOUBTED = re.compile(
    r"(?i)(?<![\w'])(?:wait|hold on|let me (?:re-?)?(?:check|think|consider))(?![\w'])"
)
_SO = re.compile(r"(?i)^(?:so|therefore|thus|hence|then)[,:]?\s")
# Words that correct an earlier answer, and their largest distance from the new answer.
_CORRECTS = re.compile(r"(?i)\b(?:hmm+|wait|actually|sorry|oops)\b[^.!?\n]*$")
_REACH = 60
_HEAD = re.compile(r"[,;.!?\n]|\bbut\b")

# A reply that asks for more information has not answered.
_ASKS_BACK = re.compile(
    r"(?i)\b(?:what(?:'s| is) (?:the|your) question|what would you like|how (?:can|may) i (?:help|assist)|(?:did|do) you mean)\b|\b(?:please|(?:could|can|would) you)(?: please)? (?:clarify|specify|elaborate|say more|tell me|share|provide|paste|send"
    r"|upload|attach|rephrase)\b"
)
# Questions that offer to continue, after a paragraph that has answered.
_OFFERS = re.compile(r"(?i)what(?:'s| is) your question|what would you like|how (?:can|may) i")


class Form(ABC):
    """Form of an answer, with methods that find answers of this form in a text."""

    labels: tuple[str, ...] = ()  # further words for an answer of this form
    labels_lead: bool = False  # whether these take precedence over "answer"
    letters: bool = False  # whether "A:" may be an option
    runs_on: bool = False  # whether an answer at the end of a truncated text may be cut
    opening_decides: bool = False  # whether a reason after the opening words may name other values
    refusal_outweighs: bool = True  # whether a value in a refusal is ignored ("between A and B")
    mended: bool = True  # whether each answer after "wait," counts as a correction
    heads_oppose: bool = False  # whether the opening of a later sentence may contradict the answer

    @abstractmethod
    def mentions(self, text: str) -> Sequence[Mention]:
        """Return every value in a text, in order."""

    @abstractmethod
    def whole(self, text: str) -> frozenset[Value]:
        """Return the values of a text that consists only of an answer; empty for other texts."""

    @abstractmethod
    def opening(self, text: str) -> frozenset[Value]:
        """Return the values at the start of a text; empty if the text does not start with one."""

    def stands(self, text: str, one: Mention) -> bool:
        """Return whether a value counts although the reply declines to answer."""
        return True

    def own(self, marks: list[Marked], text: str) -> list[Marked]:
        """Return the marks that name an answer to the question."""
        return marks

    def prepared(self, text: str) -> str:
        """Return a text without words that could be mistaken for an answer."""
        return text


@dataclass(frozen=True, slots=True)
class _Found:
    """Values that one rule finds, with their source."""

    values: frozenset[Value]
    said: str
    left_open: bool = False
    declined: bool = False


def read(reply: str, form: Form, finish_reason: str | None) -> Reading:
    """Parse a reply."""
    cut = finish_reason == "length"
    text, thought = plain(reply)
    text = form.prepared(text)
    if not text:
        blank = Outcome.UNREADABLE if thought else Outcome.EMPTY
        return Reading(outcome=Outcome.TRUNCATED if cut else blank)
    if _UNANSWERED.match(text):
        return Reading(outcome=Outcome.UNREADABLE, said=text)
    reading = _first_turn(text, form, cut=cut) or _weigh(text, form, cut=cut)
    if not (reading.answered or cut):
        rest = _BRACKETED.sub(partial(_unless_valued, form), _REASONS.sub("", text))
        without = _weigh(rest, form, cut=False) if rest != text else reading
        reading = without if without.answered else reading
    if cut and (reading.outcome is Outcome.UNREADABLE or _may_go_on(text, form, reading)):
        return Reading(outcome=Outcome.TRUNCATED, said=reading.said)
    return reading


# The pattern matches a reply that repeats questions and ends where an answer should follow.
_UNANSWERED = re.compile(r"(?is)\W*q\s?:.*\bq\s?:.*\ba\s?:\s*$")
# Lines that state the reason for an answer above them.
_REASONS = re.compile(
    r"(?im)(?<=\n)[ \t]*(?:reason(?:ing)?|explanation|rationale|justification|begründung|grund|erklärung|raison|explication|motivo|razón|explicación|motivazione|spiegazione|justificativa|explicação|uitleg|reden|uzasadnienie|причина|объяснение|пояснение|gerekçe|açıklama|理由|原因|解释|説明|이유|설명|कारण|السبب)\s?:[^\n]*$"
)
# Asides in brackets of several words that are neither alternatives nor corrections.
_BRACKETED = re.compile(
    r"(?i)\s?(?<=\S)\s?\((?!(?:or|oder|ou|o|of|maybe|perhaps|possibly|not|no|yes|but|actually|if|unless|although|except|wait|edit|correct\w*|than|vielleicht|peut-être|quizás?|aber|mais|pero|ma)(?!\w))(?=[^()\n]*(?:\w[^\w()\n]+\w|[0-9][^()0-9\n]+[0-9]))[^()\n]{4,200}\)"
)


# The pattern matches the start of the next question, with which a model without instruction tuning
# continues.
_NEXT_TURN = re.compile(
    r"(?im)^[ \t]*[\[(<]?(?:(?:question|item|part|scenario|problem|exercise|task|example|puzzle|quiz|human|user|instruction|input|passage|context|prompt|statement|claim|review|tweet|article|document|paragraph|headline|email|dialogue|hypothesis|sentence|premise|text|story|riddle"
    r"|frage|aufgabe|exercice|énoncé|pregunta|ejercicio|domanda|esercizio|pergunta|vraag|opgave|pytanie|zadanie|вопрос|задача|soru|प्रश्न|सवाल|سؤال|السؤال|问题|問題|题目|質問|질문|문제|q)\s?(?:#?\s?[0-9]{1,3})?[\])>]?\s?(?:[:>]|\.(?!\w)|$|\n)|[2-9][.)]\s[^\n]{1,200}\?[ \t]*$"
    r"|(?:on a scale (?:from|of|where)\b[^\n]{1,200}\byou|how (?:confident|sure|certain) are you)\b[^\n]{0,200}\?[ \t]*$|#{2,}[ \t]*$|the following (?:is|are)\b|(?:please )?answer (?:the following|yes or no|with)\b)"
)


def _first_turn(text: str, form: Form, *, cut: bool) -> Reading | None:
    """Parse the text before the next question; return None if no question or answer is found."""
    if "\n" not in text:
        return None
    turn = next((one for one in _NEXT_TURN.finditer(text) if text[: one.start()].strip()), None)
    turn = turn or _form_again(text)
    if turn is None:
        return None
    first = _weigh(text[: turn.start()].rstrip(), form, cut=False)
    if not first.answered:
        return None
    rest = text[turn.start() :]
    if not re.search(r"(?i)\bfinal answer\b", rest):
        return first
    whole = _weigh(text, form, cut=cut)
    return (
        first
        if whole.value == first.value
        else whole
        if not whole.answered
        else Reading(outcome=Outcome.AMBIGUOUS, said=text)
    )


def _unless_valued(form: Form, aside: re.Match[str]) -> str:
    """Keep an aside that is itself an answer, and remove other asides."""
    return aside.group() if form.whole(aside.group().strip(" ()")) else ""


def _form_again(text: str) -> re.Match[str] | None:
    """Return the position at which a judge's form is repeated, or None."""
    heads = list(_FORM.finditer(text))
    named = re.match(r"[A-Za-z ]{3,20}:", text)
    if heads and named and text[: heads[0].start()].endswith("\n\n"):
        again = re.compile(rf"(?m)^{re.escape(named.group())}")
        return heads[0] if again.search(text, heads[0].start()) else None  # the next form
    first = [one for one in heads if one.group().lower() == heads[0].group().lower()]
    return first[1] if len(first) > 1 else None


def _may_go_on(text: str, form: Form, found: Reading) -> bool:
    """Return whether an answer depends on a number that truncation may have shortened."""
    complete = _without_number_cut_short(text) if form.runs_on and found.answered else text
    if complete == text:
        return False
    return not complete or _weigh(complete, form, cut=True).value != found.value


def _without_number_cut_short(text: str) -> str:
    """Remove the last sentence of a truncated text if it may end within a number."""
    if not text or not (text[-1].isdigit() or (text[-2:-1].isdigit() and text[-1] in ".,")):
        return text
    last = sentences(text.rstrip("."))[-1]
    return text[: last.start].rstrip()


def _weigh(text: str, form: Form, *, cut: bool) -> Reading:
    corrected = None if cut else _corrected(text, form)
    if corrected is not None:
        return corrected
    bare = text.replace(OPEN, " ").replace(CLOSE, " ")
    return (
        _from_marks(text, form)
        or _decided(form.whole(bare), bare)
        or _from_question(bare, form)
        or _from_lines(bare, form, cut=cut)
        or (None if cut else _from_conclusion(bare, form))
        or _from_opening(bare, form, cut=cut)
        or _from_mentions(bare, form, cut=cut)
    )


def _corrected(text: str, form: Form) -> Reading | None:
    """Parse the answer that replaces a retracted answer."""
    if not form.mended and _DOUBTED.search(text):
        spans = sentences(text)
        last = _SO.sub("", text[spans[-1].start : spans[-1].end])
        if len(spans) > 2 and (final := form.whole(last)):
            return _decided(final, last)
    retracted = [
        one
        for one in _RETRACTS.finditer(text)
        if form.mended or not one["cue"].lower().endswith(" no")
    ]
    if retracted and text[: retracted[-1].start("cue")].strip():
        rest = text[retracted[-1].end() :].lstrip(" ,.:;!…–-)")
        corrected = _weigh(rest, form, cut=False)
        if corrected.answered:
            return corrected
        if _TAKES_BACK.match(retracted[-1]["cue"]):  # a retraction without a new answer
            return Reading(outcome=Outcome.AMBIGUOUS, said=text)
    if _BREAKS_OFF.search(text) and form.mentions(text):
        return Reading(outcome=Outcome.AMBIGUOUS, said=text)
    mends = list(_MENDS.finditer(text)) if form.mended else []
    before = text[: mends[-1].start()] if mends else ""
    if not mends or not form.mentions(before):
        return None
    rest = text[mends[-1].end() :]
    mended = _decided(form.whole(rest.rstrip(")")), rest)
    named = _ENDS.search(rest) is not None or any(
        one.rank < 2 for one in marked(rest, form.labels, letters=form.letters)
    )
    if mended is None and not named and _DOUBTS.search(mends[-1].group()):
        first, then = _weigh(before, form, cut=False), _weigh(rest, form, cut=False)
        others = {one.value for one in form.mentions(rest)} | {then.value} - {None}
        if first.answered and others - {first.value}:
            return Reading(outcome=Outcome.AMBIGUOUS, said=text)
    return mended


def _from_question(text: str, form: Form) -> Reading | None:
    asks = _ASKS_BACK.search(text)
    if asks is None:
        return None
    answer = text[: asks.start()].rpartition("\n\n")[0]
    if answer and _OFFERS.match(text, asks.start()):
        reading = _weigh(answer, form, cut=False)
        if reading.answered:
            return reading
    return Reading(outcome=Outcome.UNREADABLE, said=text)


def _decided(values: frozenset[Value], said: str) -> Reading | None:
    if not values:
        return None
    if len(values) > 1:
        return Reading(outcome=Outcome.AMBIGUOUS, said=said.strip())
    return Reading(outcome=Outcome.ANSWERED, value=next(iter(values)), said=said.strip())


# Fields of a judge's form. A model without instruction tuning may fill in the form again.
_FORM = re.compile(r"(?im)^(?:reference|candidate|gold|expected|student)\b[^:\n]{0,20}:")


def _from_marks(text: str, form: Form) -> Reading | None:
    marks = form.own(marked(text, form.labels, lead=form.labels_lead, letters=form.letters), text)
    for rank in sorted({mark.rank for mark in marks}):
        reading = _from_rank([mark for mark in marks if mark.rank == rank], form)
        if reading is not None:
            if (
                (not rank or _FORM.search(text))
                and form.heads_oppose
                and reading.answered
                and "\n" in text
            ):
                first = form.whole(text.strip().partition("\n")[0])
                if first - {reading.value}:  # "No", and then a form with another answer
                    return Reading(outcome=Outcome.AMBIGUOUS, said=reading.said)
            return _unless_corrected(reading, text, form)
    return None


def _unless_corrected(found: Reading, text: str, form: Form) -> Reading:
    """Make an answer ambiguous if a later sentence corrects it: "Hmm, actually no"."""
    if not (form.heads_oppose and found.answered):
        return found
    rest = text[text.rfind(found.said) + len(found.said) :]
    corrected = _opposing(rest, form, heads=False) - {found.value}
    return Reading(outcome=Outcome.AMBIGUOUS, said=found.said) if corrected else found


def _opposing(rest: str, form: Form, *, heads: bool) -> set[Value]:
    """Return later values that correct an answer or, with `heads`, begin a sentence."""
    return {
        one.value
        for one in form.mentions(rest)
        if one.mode is Mode.SAID
        and (
            (heads and one.heads) or _CORRECTS.search(rest, max(one.start - _REACH, 0), one.start)
        )
    }


def _from_rank(marks: Iterable[Marked], form: Form) -> Reading | None:
    pieces = [_segment(mark.text, form) for mark in marks]
    speaking = [piece for piece in pieces if piece.values]
    if any(piece.left_open for piece in speaking):
        return Reading(outcome=Outcome.AMBIGUOUS, said=speaking[-1].said)
    if speaking:
        values = frozenset[Value]().union(*(piece.values for piece in speaking))
        return _decided(values, speaking[-1].said)
    if pieces[-1].declined:
        return Reading(outcome=Outcome.REFUSED, said=pieces[-1].said)
    return None


def _segment(text: str, form: Form) -> _Found:
    """Parse a named answer by its opening words or, failing that, by its first sentence."""
    values = form.whole(text)
    if not values and (values := form.opening(text)) and form.heads_oppose:
        values |= {one.value for one in form.mentions(text) if one.mode is Mode.SAID}
    if values:
        return _Found(values, text)
    if declines(_HEAD.split(text)[0]):
        return _Found(frozenset(), text, declined=True)
    spans = sentences(text)
    first = text[spans[0].start : spans[0].end] if spans else text
    if first != text and (values := form.whole(first)):
        return _Found(values, text)
    mentions = [one for one in form.mentions(first) if one.mode in {Mode.SAID, Mode.OPEN}]
    said = frozenset(one.value for one in mentions)
    left_open = any(one.mode is Mode.OPEN for one in mentions)
    if not mentions and len(spans) > 1 and (values := form.whole(text[spans[-1].start :])):
        return _Found(values, text)
    return _Found(said, text, left_open=left_open, declined=declines(text))


def _from_lines(text: str, form: Form, *, cut: bool) -> Reading | None:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) < 2:
        return None
    alone = [form.whole(line) for line in lines]
    alone = [values if len(values) == 1 else frozenset() for values in alone]
    first, last = alone[0], frozenset() if cut else alone[-1]
    if not first and not last:
        return None
    values = frozenset[Value]().union(*alone)
    if last and not first:
        opening = form.opening(lines[0])
        values |= opening if len(opening) == 1 else frozenset()
    if first and form.heads_oppose:
        values |= _opposing("\n".join(lines[1:]), form, heads=True)
    return _decided(values, lines[-1] if last else lines[0])


def _from_conclusion(text: str, form: Form) -> Reading | None:
    said = conclusion(text)
    if said is None:
        return None
    evidence = _segment(said, form)
    values = evidence.values
    if not values and not evidence.declined:
        stated = form.mentions(said)
        values = frozenset(one.value for one in stated if one.mode in {Mode.SAID, Mode.RAISED})
        values = values if len(stated) == 1 and form.runs_on else frozenset()
    if len(values) != 1 or evidence.left_open:
        return None
    opening = form.opening(text)
    return _decided(values | (opening if len(opening) == 1 else frozenset()), said)


def _from_opening(text: str, form: Form, *, cut: bool) -> Reading | None:
    if not (cut or form.opening_decides):
        return None
    values = form.opening(text)
    if not form.opening_decides:
        opposing = {Mode.SAID, Mode.ASKED, Mode.RAISED}
        others = {one.value for one in form.mentions(text) if one.mode in opposing}
        if others - values:
            return None
    return _decided(values, text) if len(values) == 1 else None


def _decided_last(text: str, mentions: Sequence[Mention]) -> Reading | None:
    """Parse the final decision of a reply that has weighed other values."""
    last = max(mentions, key=lambda one: one.start, default=None)
    if last is None or last.mode is not Mode.SAID or not decides(text, last.start, last.end):
        return None
    for one in mentions:
        between = text[one.end : last.start]
        agrees = one.value == last.value
        if one is last or (agrees and one.mode is Mode.SAID):
            continue
        if (
            one.mode in {Mode.OPEN, Mode.RAISED}
            and "..." not in between
            and chooses(text, last.start)
        ):
            continue  # only the last counts in "Between C and D I prefer D"
        if agrees or one.mode in {Mode.SAID, Mode.OPEN} or not turns(between):
            return None
    return _decided(frozenset({last.value}), text[last.start : last.end])


def _from_mentions(text: str, form: Form, *, cut: bool) -> Reading:
    refused = declines(text)
    mentions = form.mentions(text)
    before = {one.value for one in mentions if one.mode is Mode.SAID}
    if refused or apologises(text):
        mentions = [one for one in mentions if one.mode is not Mode.SAID or form.stands(text, one)]
    said = [one for one in mentions if one.mode is Mode.SAID]
    values = {one.value for one in said}
    last = max((one.start for one in said), default=-1)
    asked = {
        one.value
        for one in mentions
        if (one.mode is Mode.RAISED and not explained(text, one, mentions))
        or (
            one.mode in {Mode.ASKED, Mode.OPEN}
            and one.start > last
            and not explained(text, one, mentions)
        )
    }
    decided = None if cut else _decided_last(text, mentions)
    if decided is not None:
        return decided
    if len(values) == 1 and not asked - values and not cut and (not refused or before == values):
        words = text[said[0].start : said[0].end]
        return Reading(outcome=Outcome.ANSWERED, value=said[0].value, said=words)
    if refused and (form.refusal_outweighs or not values):
        return Reading(outcome=Outcome.REFUSED, said=text)
    left_open = any(one.mode is Mode.OPEN for one in mentions)
    if not cut and (left_open or len(values | asked) > 1):
        return Reading(outcome=Outcome.AMBIGUOUS, said=text)
    return Reading(outcome=Outcome.UNREADABLE, said=text)
