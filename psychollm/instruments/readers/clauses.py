"""Sentences and clauses of a reply, and the manner in which a clause mentions a value.

A value is not asserted if the writer denies or excludes it, attributes it to somebody else, wishes
for it, or believed it earlier. A value in a question or a supposition is only raised, not
asserted. A value among alternatives, or under a condition, is left open. The manner of a mention
is determined by words in the clause of the value or at the start of its sentence.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from psychollm.instruments.readers.lexicon import (
    AUXILIARY,
    CHOOSE,
    FALSE,
    MARKS,
    OWN,
    PERSON,
    REASON,
    SAY,
    leads_up,
    words_of,
)

Value: TypeAlias = float | str

# A letter with its combining marks. The pattern `\w` alone would end words of Hindi, Bengali or
# Arabic at a vowel sign.
WORD = rf"\w{MARKS}"
_REACH = 60  # number of characters to search; clauses are rarely longer


class Mode(Enum):
    """The manner in which a text mentions a value."""

    SAID = "said"
    DENIED = "denied"  # also excluded, reported or wished for, and not asserted by the writer
    ASKED = "asked"
    RAISED = "raised"  # supposed, or part of a phrase with another meaning
    OPEN = "left open"

    def raised_if(self, in_passing: bool) -> "Mode":  # noqa: FBT001
        """Return the given manner, or `RAISED` for an assertion made in passing."""
        return Mode.RAISED if self is Mode.SAID and in_passing else self


@dataclass(frozen=True, slots=True)
class Mention:
    """Mention of a value in a text, with its position."""

    value: Value
    start: int
    end: int
    mode: Mode = Mode.SAID
    heads: bool = False  # whether the value opens its sentence


class Sentence(NamedTuple):
    """The span of a sentence in a text."""

    start: int
    end: int
    asks: bool


# A character class at the start of the pattern makes Python's search fast.
_END = re.compile(
    r"[.!?\n](?:(?<=\n)\n*|(?<!\n)(?<![.!?].)[.!?]*[\"')\]}]*(?!\s?[=×*/])"
    r"(?=\s|$|[\u3040-\u9fff\uac00-\ud7af]))"
)
_ALWAYS_BREAK = ";:!?\n()–"
_BREAK = re.compile(
    rf"[{_ALWAYS_BREAK}]"
    r"|[.,](?![0-9]| (?:что|dass|daß|że) )|(?<![\w'])(?:(?<![Aa]ll )(?<![Aa]ny )(?<!thing )(?<!none )(?<!yone )(?<!body )(?<![Nn]o one )(?<![Aa]ny \w{6} )(?<![Ee]very \w{6} )(?<![Aa]ny of \w{4} )(?<![Aa]ny of \w{5} )(?<![Aa]ll of \w{4} )(?<![Aa]ny one )(?<![Aa]ny other )but|and(?= (?:my|i|i'd|i'll|i'm|the answer|therefore|so|thus)\b)|yet|however|though|so(?!\s(?:is|are|was|were|do|does|did)\b)|aber|sondern|mais|pero|sino|ma|mas"
    r"|sondern|maar|ale|lecz|но|а|ama|fakat|يل|بل|लेकिन|बल्कि)(?![\w'])|(?:では|じゃ)なくて?(?!て)|而是|아니라|지만(?=\s)"
)
_UNBROKEN = re.compile(rf"[^{_ALWAYS_BREAK}]*")
_NEGATION = re.compile(
    rf"(?<![{WORD}'])(?:not|never|cannot|can't|cant|neither|nor|(?<!jibu )(?<!sahihi )ni(?= (?:(?:de|la|el|le|l') ?)?\w)|rather than|instead of|nicht"
    rf"|kein\w{{0,2}}|pas|jamais|nunca|não|niet|geen|nie|inte|ikke|tidak|bukan|không|chưa|не|ليس|ليست|न कि|non(?= (?:nel|allo?|al|il|la|in|a|di|del)(?!\w))|non (?:è|sono|ho|ci|c'è)|no (?:tengo|hay|es|son|está|tiene|quedan)|n'[a-z]+)(?![{WORD}'])|n't(?!\w)|不是|并非"
)
# Words after which a writer does not assert a value, and words that begin a reason, a contrast or
# an aside.
_SPEAKS_AGAINST = re.compile(
    rf"(?<![{WORD}'])(?:not|never|no(?= \w)|none|nobody|cannot|without|lacks?|unable|neither|nor|too|than|nicht|kein\w{{0,2}}|nie|pas|jamais"
    rf"|nunca|non|não|nem|niet|geen|inte|ikke|tidak|bukan|không|не|нет|ни|değil|yok|{FALSE})(?![{WORD}'])|n't(?!\w)|[没未違错誤]|不(?![同足过])|ません|ない|ليس|لم |नहीं|없|않|못"
)
_ASIDE = re.compile(
    rf"{REASON}|(?<!\w)(?:even|if|so|rather|and|but|that|which)(?!\w)|[(:,;–]|\s-\s"
)
_REASON = re.compile(rf"(?i){REASON}")
_CONDITION = re.compile(
    r"(?i)\W{0,3}(?:even |and |but )?(?:if|whether|wenn|ob|jeśli|если|eğer|如果)(?!\w)"
)
_COLON = re.compile(r"[:=][\s\"'(\[]*$")


@lru_cache(maxsize=16)  # several checks use the same text
def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text; a line break also ends a sentence."""
    spans: list[Sentence] = []
    start = 0
    for end in [*_END.finditer(text), None]:
        stop = len(text) if end is None else end.end()
        words = text[start:stop]
        if words.strip():
            lead = len(words) - len(words.lstrip())
            asks = end is not None and "?" in end.group()
            spans.append(Sentence(start + lead, start + len(words.rstrip()), asks))
        start = stop
    return tuple(spans)


@lru_cache(maxsize=32)
def clause_before(text: str, position: int, *, colon: bool = False) -> str:
    """Return the words of a clause before a position."""
    # With `colon`, words before a preceding colon are included ("He said: yes").
    reach = text[max(position - _REACH, 0) : position]
    end = _COLON.search(reach) if colon else None
    stop = end.start() if end else len(reach)
    # One backward search from the position is about ten times faster than forward searches for
    # each of nine signs.
    start = stop - len(_UNBROKEN.match(reach[:stop][::-1]).group())  # type: ignore[union-attr]
    for one in _BREAK.finditer(reach, start, stop):
        start = one.end()
    return reach[start:]


def denied(text: str, position: int) -> bool:
    """Return whether the clause denies the value at a position."""
    return _denies(clause_before(text, position))


def _denies(clause: str) -> bool:
    return _NEGATION.search(clause.lower()) is not None


_THEIRS = r"""(?:his|her|their|(?!(?:it|that|let|here|what|there|today)'s)[a-z0-9]{1,20}'s|student|users?'
    |common|popular|tempting|typical|naive|previous|earlier|initial|obvious|wrong|incorrect|false|other
    |another|expected|possible|sample|example|student|human|average|hypothetical|placeholder|least|second|third|next|worst|alternative)\s(?:\w{1,12}\s)?(?:answers?|choice|pick|guess|opinion|view|vote|response|rating
    |verdict|option|estimate|confidence)"""
_REPORTED = re.compile(
    rf"""(?x)
    (?<![\w'])(?!(?:{OWN}|{AUXILIARY})\s)[\w'-]{{1,20}}\s(?:{AUXILIARY}\s){{0,3}}(?:{SAY}|(?P<does>{CHOOSE}))(?![\w'-])
  | (?<!\w){PERSON}(?:\s(?:am|is|are|was|were|seems?|feels?|ist|war|est|está|è|is)|'re|'s)\s[^.]{{0,20}}$
  | (?<!\w)(?:{PERSON}|(?:sources|books|websites|manuals?|textbooks?))\s(?:{AUXILIARY}\s){{0,3}}(?:goes|went|go|gives?|gave|rates?|rated)(?!\w)
  | (?<!\w){_THEIRS}(?!\w)
  | \b(?:ask|request)(?:s|ed)?\sfor\b
  | (?<!\w)(?:ha\sdetto|han\sdicho|a\sdit|ont\sdit|hat\sgesagt|sagte|sagt|meinte|meint|behauptete?|glaubt|dit|disait|dijo|dice|dicen|digan?|digam|disent|dicono|dicano|mówią|mówi|sagen (?:viele|manche|einige|andere|leute)|cree|creen|disse|dizem
    |dicono|zegt|zei|zeggen|vindt|(?<!я )(?<!я бы )сказала?|говорит|говорят|считает|считают)(?!\w)
  | [他她们人家师友](?:都|会)?(?:说|認為|认为|觉得|回答)
    """
)
_FORMER = re.compile(
    r"""(?x)
    \bwollte\sich\b | \b(?:(?:zu)?erst|zunächst|anfangs|anfänglich|ursprünglich|vorher)\s(?:\w+\s){0,2}?(?:dachte|glaubte|sagte|kam|hatte|nahm|tippte|schwankte)\sich\b | \b(?:d'abord|au\s(?:début|départ)|initialement)\b.{0,12}\b(?:pensais?|pensé|cru)\b
  | \b(?:eerst|aanvankelijk)\s(?:dacht|koos|wilde)\sik\b | \b(?:früher|vorher|gestern|zuvor)\s(?:hätte|hatte|habe)\sich\b | \b(?:primero|al\sprincipio)\b.{0,8}\b(?:pensé|creí)\b | \ball'inizio\b.{0,8}\bpens\w+ | \bсначала\b.{0,10}\b(?:думал|хотел|казал|считал|выбр|склон) | (?:最初|初め|はじめ)は$ | (?:一开始|起初|最初)(?:以为|觉得|想选?|选了?|选的是|认为是?|算的是)?$
  | \b(?:previously|earlier)\b.{0,24}\b(?:said|answered|wrote|thought)\b | \bi\s(?:had\s|have\s)?(?:first\s|initially\s|originally\s|once\s|was\s)?(?:thought|assumed|believed
      |guessed|suspected|used\sto|inclined|tempted|leaning|drawn|torn)\b
  | (?:\b(?:would|could|might|should)|'d)\shave\b(?!\sto) | \bwas\s(?:going|about)\sto\b
  | \b(?:at\sfirst|initially|originally|first\sglance)\b.{0,24}\b(?:thought|think|look(?:s|ed)?|seem\w*
      |appear\w*|said|guess\w*|i)\b
    """
)
# Phrases that withhold a value: wishes, reluctance, exclusion.
_WITHHELD = re.compile(
    r"""(?x)
    \b(?:wish\w*|hop(?:e|ed|ing)|if\sonly|tempt\w*|hesita\w+|reluctant|refus\w+|unwilling|pretend|imagine|suppos(?:e(?!\sso)|ing)
      |assuming|hypothetical\w*|unable|(?:would|'d)\s(?:really\s)?(?:like|love|have\s(?:liked|loved))\s(?:to|it)
      |no\s(?:reason|basis|grounds?|evidence|justification|way|point|right|longer)|far\sfrom|nothing|nobody|none|hardly|scarcely
      |(?:it|that|this)(?:'s|'d\sbe|\s(?:is|was|would\sbe))\s(?!fair|safe|right|correct|reasonable|accurate)(?:an?\s)?\w+\s(?:\w+\s\w+\s)?(?:to|if)
      |(?<!no\s)(?<!not\s)(?<!n't\s)doubt(?:ful|ed)?(?!\s(?:about\s)?it(?!'s|\sis))|by\sno\smeans|used\sto\sbe
      |(?:i|you)(?:'d|\swould)?\s(?:still\s|also\s)?(?:need|require|lack)\b|i\s(?:\w+ly\s)?want(?:ed)?\sto\s(?:say|answer)|i(?:'d|\swould)?\s(?:need|want|have)\sto\sbe|wonder\w*|whether
      |(?:sure|unclear|know|see|check|tell|say|ask)\sif|rumou?rs?|legend\shas|(?:anything|all|everything)\sbut
      |(?:except|exclud|eliminat|discard|reject)\w*|(?:other|apart|aside)\s(?:than|from)|rul(?:e|es|ed|ing)\sout
      |(?:misconception|misunderstanding|myth|fallac(?:y|ie)|illusion|mistake|error|trap)s?\s(?:is|are|was|were|would\sbe)
      |to\sthe\s(?:first|second|third|last|former|latter)|sake\sof|cross(?:ed|ing)?\sout|disagree\swith)\b
  | (?<!\w)(?:gerne?|lieber|wünsch\w+|hoff\w+|bezweif\w+|au(?:ß|ss)er|j'aimerais|je\svoudrais|j'espère|je\sdoute|sauf|excepté
      |no\s(?:es|diría|digo|creo|pienso|puedo|me\sparece)|non\s(?:è|direi|credo|penso|posso|mi\s(?:pare|sembra))|não\s(?:é|diria|acho|creio|posso)|falsch\sist
      |(?:tod[oa]s?|cualquiera?|qualquer(?:\suma?)?)\smenos|hariç|oprócz|utom|kecuali|me\sgustaría|quisiera|ojalá|dudo|excepto|salvo|vorrei|magari|tranne|eccetto|gostaria|duvido|exceto|graag
      |descart\w+|scart\w+|élimin\w+|écart\w+|exclu\w+|(?:seguro|segura|sûre?|sicur[oa]|cert[oa]|sicher|zeker|pewien|pewna|уверен\w*)\s(?:de\s|di\s)?(?:si|se|ob|of|czy)|betwijfel|behalve|хотел\w*\sбы|надеюсь|сомневаюсь|кроме)(?!\w)
  | 我希望|我想说|除了|怀疑|と(?:言|思)いたい
    """
)
_HEADED = re.compile(
    rf"(?<!\w)(?:{FALSE}|not|eliminated?|excluded?|rejected|ruled out)(?: (?:answers?|options?|choices?))?\s?:\s*[\"'(]*$|(?<!\w)(?:fel(?:aktigt)? (?:svar|alternativ)|(?:jawaban|opsi|pilihan) (?:yang )?salah|(?:đáp án|câu trả lời) sai)\s?:\W*$"
    r"|\b(?:any|all|every|each|no)\s?(?:one|thing|body)?(?: of)? (?:\w+ )?but (?:for )?\W*$|^\W*(?:(?:in order )?to (?:say|answer)|(?:say|answer|claim)ing)\W*$"
)
_DENIED_AFTER = re.compile(
    rf"[\"')\]]*\s(?:(?!because|since|as|weil|while|but|and)[^\W\d]\w*\s){{0,2}}?(?:(?:is|are|was|were|can be|would be|seems|looks|ist|est|es|è|é|sind|sont|son|sono|são|zijn|są)\s(?:not\s|also\s|just\s|simply\s|\w+ly\s)?"
    rf"(?:{FALSE}|out|eliminated|ruled out|excluded|implausible|impossible)|(?:is|are|was) not(?! [0-9])|isn't|ist nicht|está (?:errad|incorret|incorrect|equivocad)[oa]|scheidet|entfällt|fallen weg|fällt weg|n'est pas|no es|non è|não é|is niet)(?!\w)"
    r"|\s?(?:では|じゃ)(?:な[いく]|あり)|\s?(?:(?:都|均|项|选项)(?:不|是?错|与[^,.]{1,8}不)|不是|不对|是错|아니|이 아니|가 아니|번?[이가은는]?\s[^.!?\n]{0,16}지만|点?にしない|\)?\s?ف?(?:خطأ|خاطئ)|\s?(?:गलत|ग़लत|सही नहीं))"
)
_AFTER = re.compile(
    rf"""(?x)
    [\"')]*\s(?:(?:would|might|could|seems?|feels?|sounds?|is|was)\s(?:be\s|like\s)?(?:too\b|over\w+ing\b
      |misleading|dishonest|premature|tempting|an?\s(?:over|exagg|lie\b|stretch)|what\s(?:{PERSON}|most))
      |(?:is|was)\swhat\b)
  | [\"')]*\s(?:\w+\s){{0,2}}would\s(?:require|need|mean|imply|suggest|depend|presuppose)\b
  | [\"')]*\s(?:for\sthe\ssake\sof|before|prior\sto|until|back\sthen|at\sfirst|originally|initially)\b
  | [\"')]*\s(?:is|was)\sthe\s(?:threshold|limit|cut-?off|minimum|maximum|average|old|previous|default|midpoint|middle|lowest|highest|worst)\b
  | [^.;\n]{{0,40}}\bbut\s(?:it|this|that|he|she)(?:'s|\sis|\swas|\swould\sbe|\sdoes)?\s?(?:isn't|wasn't|not|n't|wrong|incorrect|false)\b
  | [\"')]*,?\s(?:{PERSON}\s{SAY}|(?:said|says|claimed|replied|thinks|thought)\s(?!i\b)\w+|(?:which|but\s(?:that|this|it))\s(?:was|is|would\sbe)\s(?:an?\s)?(?:mistake|wrong|incorrect|error|not))\b
    """
)

# This matches "If it were so, B", but neither "if I had to choose, B" nor arithmetic such as "if
# we add 2, 5".
_SUPPOSES = re.compile(
    r"\W*(?:(?:but|and|so|well) )?(?:if|unless|provided|(?:it |that )?depends(?! on)|(?:as|so) long as|only (?:if|when)|in case|suppose|supposing|assuming|were (?:the|it|this|that|i|we)|had (?:the|it|this|i|we|you)|wenn|falls|angenommen|si(?= \w)"
    r"|se(?= \w)|als(?= \w+ \w+ \w+,)|indien|если|eğer|jeśli|gdyby|अगर|यदि|إذا|لو|hätte ich|wäre ich)(?!\w)|\W*(?:如果|要是|もし)"
    r"|\W*(?:according to (?:my|some|him|her|them|others|people|you|most|many|legend|critics|experts|wikipedia|the (?:users?|forecast|media|press|news))|in (?:a perfect|an ideal) world|ideally|hypothetically"
    r"|in (?:his|her|their|your) (?:opinion|view)|for the sake of argument)\b"
)
_IDLE = (
    r"[,\s]*(?:any(?=,)|anything|any|pressed|forced|asked|needed|necessary|possible|in doubt|memory serves"
    r"|you (?:ask|want|insist|must|like|prefer)|i (?:had|have|must|were|was|am|were to|remember|recall|understand|counted|calculated|did"
    r"|read)(?: (?:correctly|right|rightly|this|to|forced|not|honest))+|i'm (?:not|forced|reading|honest|being|mis\w+|very much mistaken)|i must)\b"
)
_IDLE_CONDITION = re.compile(_IDLE)
_CONTRARY = re.compile(r"\b(?:were|had|could|knew|didn't|wasn't|weren't|would|might)\b|'d\b")
_WORKED = re.compile(r"[0-9]|\b(?:each|every)\b")
_CONDITION_AFTER = re.compile(
    r"[\"')]*(?:\s\w+){0,4}?,?\s(?:but )?(?:only )?(?:(?:had i|were i|if|unless|provided|assuming|as long as|depending on|(?:under|on) the (?:assumption|condition))\b"
    rf"(?!{_IDLE}|\s(?:this|that|it) helps)|but not always(?! \w)|aber nicht immer|mais pas toujours|pero no siempre|mas nem sempre|но не всегда|(?:falls|wenn|sofern|siempre que|à condition)\b)"
)
_AMONG = re.compile(
    r"\b(?:among|amongst|between|entre|zwischen|tussen|między|между|torn|choose from|options are|choices are|either)\b(?!.*\b(?:is|are|be)\b)"
)

_WAVERS = re.compile(
    r"\?\W{0,3}(?:maybe|perhaps|possibly|or|vielleicht|oder|peut-être|ou|quizás?|o|forse|talvez)\W*$"
)
_PERSPECTIVE = re.compile(
    r"(?:^|[,;:.]\s*)\W*(?:but |and |aber )?(?:before that|before then|until then|(?:under|on|in|by) (?:an?|the|one|this|that|another) (?:\w+ )?(?:reading|interpretation)|back then|formerly|in the past|for (?:him|her|them|some|others|most)"
    r"|selon (?:lui|elle|eux|mon|ma|les|certains)|d'après (?:lui|elle|eux)|laut |angeblich|según (?:él|ella|ellos|mi|algunos)|secondo (?:lui|lei|alcuni)"
    r"|segundo (?:ele|ela|alguns)|volgens (?!mij)|по словам|неверно|неправда|сомневаюсь|не думаю|вряд ли|ich bezweifle"
    r"|ich glaube nicht|ich denke nicht|es stimmt nicht|nie sądzę)(?![^\W\d])[^,;:.]{0,40}(?:,(?: (?:что|dass|że))?)?[^,;:.]{0,30}$"
)
_LIKEWISE = re.compile(r"\bso (?:is|are|was|were|do|does|did)\b")

# "The probability of B: 10 %" mentions B without choosing it.
_MEASURED_BEFORE = re.compile(
    r"\b(?:probability|chances?|confidence|likelihood|odds|certainty|p)\s?(?:of|that|for|in|\()\b.*$"
)
_WEIGHED_BEFORE = re.compile(
    r"[0-9]\s?(?:%|percent)\s(?:probability|chance|likelihood|odds|possibility|sure|certain|confident)\s.*$"
)
_MEASURED_AFTER = re.compile(
    r"[^,;.!?\n]{0,40}?(?:[:=(]|\b(?:is|at|are))\s?(?:about |only )?[0-9]"
)

# After these words, a value is a probability of error: "a 30 % chance that I'm wrong", "certain
# that I don't know".
_ERROR = (
    r"wrong|mis\w{3,}|guessing|incorrect\w*|inaccurate|mistak\w+|error|errors|err|erring|false|untrue|not (?:right|correct|true|know)|backwards?|mix\w* up|confus\w+|uncertain\w*|unsure"
    r"|(?<!no )(?<!out )doubts?|don't know|(?:can't|cannot) (?:answer|know|say|tell)|unable|no idea|falsch\w*|irre|fehler"
    r"|täusche|faux|tort|tromp\w+|equivo\w+|erro|errore|erreur|errad[oa]|error|sbagli\w+|fout|ongelijk|ошиб\w+|неправ\w*"
)
_UNTO = r"[^,;.!?\n()–]"
_CONTRAST = re.compile(r"\b(?:but|though|although|however|yet)\b|\s-\s")
_OF_ERROR_AFTER = re.compile(rf"{_UNTO}{{0,48}}?(?:(?<!\w)(?:{_ERROR})(?!\w)|错|間違|誤)")
_OF_ERROR_BEFORE = re.compile(rf"(?:(?<!\w)(?:{_ERROR})(?!\w)|错|間違|誤)\)?{_UNTO}{{0,30}}$")


def manner(text: str, sentence: Sentence, start: int, end: int, *, answers: bool = False) -> Mode:
    """Return the mode in which a sentence mentions a value, such as asserted or denied.

    With `answers`, the value is a complete answer, such as "no". A negation that follows a
    complete answer does not deny it.
    """
    clause = clause_before(text, start)
    named = _COLON.search(text, max(start - _REACH, 0), start)
    before = (clause_before(text, start, colon=True) if named else clause).lower()
    after = text[end : end + _REACH].lower()
    if not sentence.asks and (
        (before.strip() and (_denies(clause) or _disowned(before, after)))
        or _DENIED_AFTER.match(after)
    ):
        return Mode.DENIED
    if not answers and _SPEAKS_AGAINST.search(_ASIDE.split(after[: sentence.end - end], 1)[0]):
        return Mode.RAISED
    if sentence.asks or after.startswith("?"):
        return Mode.ASKED
    if _AFTER.match(after):
        return Mode.RAISED
    # Words that attribute the value to a person or a time may be separated from it by a comma.
    lead = text[max(start - 2 * _REACH, 0) : start].lower()
    own = lead[max(sentence.start - start, -len(lead)) :] if sentence.start < start else ""
    if own.strip() and (
        _PERSPECTIVE.search(own)
        or (_MEASURED_BEFORE.search(before) and _MEASURED_AFTER.match(after))
        or _WEIGHED_BEFORE.search(before)
        or _CONDITION.match(clause)
        or _LIKEWISE.search(before)
        or _supposed(text, sentence, start)
    ):
        return Mode.RAISED
    left_open = (
        (_AMONG.search(before) and not _CHOOSES.search(before))
        or _WAVERS.search(lead, len(lead) - _REACH)
        or conditioned(text, end)
    )
    return Mode.OPEN if left_open else Mode.SAID


def _disowned(before: str, after: str) -> bool:
    reported = _REPORTED.search(before)
    if reported and (
        reported["does"] is None or re.match(r"\W*(?:$|[^\w\s]|(?:and|but|while)\b)", after)
    ):
        return True
    return any(words.search(before) for words in (_FORMER, _WITHHELD, _HEADED))


def of_one_manner(text: str, ones: list[Mention], joins: re.Pattern[str]) -> list[Mention]:
    """Give all values of a list the same mode of mention: "A, B and D are wrong"."""
    start = 0
    for i in range(1, len(ones) + 1):
        alike = i < len(ones) and ones[i].value == ones[i - 1].value
        if i < len(ones) and not alike and joins.fullmatch(text, ones[i - 1].end, ones[i].start):
            continue
        modes = [one.mode for one in ones[start:i]]
        unsaid = [mode for mode in modes if mode is not Mode.SAID]
        shared = Mode.DENIED if Mode.DENIED in unsaid[-1:] else next(iter(unsaid), Mode.SAID)
        ones[start:i] = [replace(one, mode=shared) for one in ones[start:i]]
        start = i
    return ones


# The rest of the clause is the writer's own statement, even if the value is quoted.
_OWN_SAYING = re.compile(
    r"(?i)^.*(?<![\w'])(?:i'll|i'd|i will|i would|i(?: now)? (?=(?:say|choose|pick|go|opt|settle|take|rate|give|put|prefer|choose|answer|vote|select)\b)|i'm (?:down|up|now)(?= (?:to|at)\b)|(?:i'd|i'll|i would|i will|i'm|i am|i)(?: now)? (?:have to |need to |must |will )?(?:go|come|lower|rais|reduc|drop|revis|adjust|bring|mov|scal)\w*(?: (?:that|it|this|my \w+))?(?: (?:down|up|back))?(?= to\b)"
    r"|(?:i am|i'm) (?:going|sticking|settling) (?=(?:with|for|on)\b)|(?:ich|da) (?=(?:sage|wähle|nehme|gebe|tippe|vergebe)\b)|je (?=(?:dis|dirais|choisis|mets|donne|réponds|prends)\b)"
    r"|(?:me quedo|yo)(?= con\b)|(?:elijo|escojo|scelgo|escolho|wybieram|выбираю|отвечу|digo|dico)\b|(?:it|that) (?=(?:has to|must) be\b)|jibu(?: sahihi)? ni|leav(?:es|ing)(?: us with| only| just)?(?=\W*$)|saya (?:mem)?beri(?= nilai\b)|il(?= (?:ne )?reste\b)|es(?= bleibt\b)|ik (?=(?:zeg|kies|neem|geef)\b)|я (?=(?:скажу|выбираю|ставлю|отвечу)\b))"
)


def leads(text: str, position: int, further: frozenset[str] = frozenset()) -> bool:
    """Return whether all words between the start of a clause and a position introduce an answer."""
    clause = _OWN_SAYING.sub("", clause_before(text, position))
    return all(leads_up(word, further) for word in words_of(clause))


def conditioned(text: str, end: int) -> bool:
    """Return whether a condition follows a value: "Yes, if ..."."""
    return _CONDITION_AFTER.match(text[end : end + _REACH].lower()) is not None


def _supposed(text: str, sentence: Sentence, start: int) -> bool:
    """Return whether a sentence opens with a condition on the value at a position."""
    lead = text[sentence.start : min(start, sentence.start + 3 * _REACH)].lower()
    supposes = _SUPPOSES.match(lead)
    if supposes is None or _IDLE_CONDITION.match(lead, supposes.end()):
        return False
    if re.search(r"[,;] (?:but|however|still|yet|aber|mais|pero|ma|mas|maar|но)\b", lead):
        return False
    worked = text[start : start + 1].isdigit() and _WORKED.search(lead)
    return not worked or bool(_CONTRARY.search(lead))


def of_error(text: str, start: int, end: int) -> bool:
    """Return whether a value is the probability that the writer is wrong or does not know."""
    before = text[max(start - _REACH, 0) : start].lower()
    after = _CONTRAST.split(text[end : end + _REACH].lower())[0]
    return bool(_OF_ERROR_AFTER.match(after) or _OF_ERROR_BEFORE.search(before))


_OWN_VOICE = re.compile(
    r"(?<![\w'])(?:it's|it is|i|i'd|i'll|i'm|my|me|answer|verdict|conclusion|actually|leav(?:es|ing)|is(?=\W*$)|c'est|finalement|finally|letztlich|al final|alla fine|в итоге|finalmente|ostatecznie|uiteindelijk|выбираю|wybieram|elijo|escojo|scelgo|escolho|marco|ich|meine|je|ma|mi|yo|io|mia|eu|minha|ik|mijn|я|мой)(?![\w'])"
)
_PREFERRED = re.compile(
    r"[\"')]*\s(?:is|seems|fits|looks)\s(?:the\s|much\s|clearly\s)?(?:better|best|correct|right|more (?:likely|plausible|accurate))\b"
)
_TURNS = re.compile(
    r"(?<!\.)[.!?](?!\.)|\n|(?<!\w)(?:but|though|however|yet|so|aber|mais|pero|ma|mas|но|但)(?!\w)"
)


def decides(text: str, start: int, end: int) -> bool:
    """Return whether a clause gives the answer in the writer's own voice."""
    before = clause_before(text, start).lower()
    return bool(_OWN_VOICE.search(before) or _PREFERRED.match(text, end))


_CHOOSES = re.compile(
    r"(?<![\w'])(?:i(?:'d|'ll| would| will)? (?:\w+ly )?(?:prefer|pick|choose|go (?:with|for)|opt for|settle (?:on|for)|take|say|put (?:it|that|this|my \w+) at)|i'm going (?:with|for)|ich (?:nehme|wähle|sage|bevorzuge)|je (?:mets|choisis|prends|préfère|dirais)|elijo|escojo|prefiero|me quedo con|scelgo|preferisco|escolho|prefiro|ik kies|wybieram|выбираю)(?![\w'])[^.;!?\n]{0,20}$"
)


def chooses(text: str, start: int) -> bool:
    """Return whether a clause states that the writer chooses the value at a position."""
    return _CHOOSES.search(clause_before(text, start).lower()) is not None


def explained(text: str, one: Mention, mentions: Sequence[Mention]) -> bool:
    """Return whether a value is part of the reason or concession after the last assertion."""
    said = [other for other in mentions if other.mode is Mode.SAID]
    last = said[-1].end if said else one.end
    again = said and any(other.value == said[-1].value for other in mentions if other.start > last)
    between = text[last : one.start]
    return bool(not again and _REASON.search(between) and not re.search(r"[.!?\n]", between))


def turns(between: str) -> bool:
    """Return whether another sentence or a contrast begins between two values."""
    return _TURNS.search(between) is not None
