"""Parse the choice of one of several options, by its letter or its text.

Letters take precedence over texts: a reply that names one letter and then discusses the texts of
other options has chosen the letter. A letter directly followed by the text of another option is
ambiguous. A letter that is also a word ("a", "I") counts only if it is used as a label: in
brackets, before a full stop or colon, after "option", before "is correct", or next to another
letter.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from psychollm._base.errors import InputError
from psychollm.instruments.readers.clauses import (
    WORD,
    Mention,
    Mode,
    Sentence,
    Value,
    clause_before,
    leads,
    manner,
    of_one_manner,
    sentences,
)
from psychollm.instruments.readers.lexicon import FALSE, OPTION_LEADS, OR, TRUE
from psychollm.instruments.readers.plain_text import CLOSE, OPEN
from psychollm.instruments.readers.verdict import Form, read
from psychollm.instruments.reading import Reading

_SUFFIX = "(?:[dt][iıuü]r|y?[iıuü]|y?[ae]|n[iıuü]n)(?!\\w)"  # Turkish suffixes: "C'dir"
_EDGES = " \t\n\"'()[]{}<>.,;:!–-*`✔✅✓☑👍"
_CALLED = (
    r"(?:options?|choices?|letter|answer|antwort|réponse|opción|opcion|opção|opzione|optie|opcja"
    r"|alternativa|вариант|ответ|seçenek|cevap|respuesta|risposta|resposta|antwoord|odpowiedź|उत्तर"
    r"|گزینه\S{0,3}|варіант|možnost|ข้อ|ตัวเลือก|选项|选择|选|選択肢|選|선택지|الخيار|विकल्प)"
)
_PICKS = re.compile(
    rf"(?i)(?:{_CALLED}|choose|chose|pick|select|go with|going with|is|it's|be|say|guess|probably|likely"
    r"|maybe|definitely|clearly|not|so|think|but|or|and|with|oder|ou|o|und|et|y|e)\s?[\"'(\[]?$"
)
_LABELS = re.compile(
    r"[)\].:,;\"'&+]|\s?&|\s?\+|\s?$|\s+(?:it is|is|was|seems|looks|would|could|must|can|or|and|oder|ou|o|und|et|y|e|of(?= [A-Z](?!\w))|but"
    r"|because|since|as|rather)\b|\s?[/>–]|-[A-Z](?![\w])|\s-\s|\s?[✔✓✅☑]|\n|です|입니다|\s?と(?:な|思|考)|를|을|가\s|이\s|번|或|は|\s+(?:zijn|sein|être|ser|essere|być)\b|은|を選"
)
_AS_PRONOUN = re.compile(r"I (?:would|could|can|must|looks?|as)\b")
_WORD_LETTERS = frozenset("AEIOUY")
_LISTED = re.compile(
    rf"\s*[)\"']?\s*(?:,\s?(?:and|or)?|&|/|\+|{OR}|bis|to|through|à|y la|e la|et la|și|ja|och|og|a|와|과|하고|و|and|nor|(?:or|and) not|und|et|y|e|и|和|と|か|や)\s*[(\"']?"
)
_IS = re.compile(
    r"(?i)(?:\b(?:is|are|was|were|be|called|named|ist|est|es|è|é|jest|to)|[^\x00-\u024f])\s*(?:the\s|an?\s)?[\"'(]*$"
)
_IS_IT = re.compile(
    r"(?i)[\"')\]]*\s*(?:$|[^\w\s]|(?:is|are|was|would be|must be)\s(?:the|correct|right|my|it|what|best)\b|(?:because|since|as|ist|est|es|è|é)\b|\()"
)
_SPOKEN_OF = re.compile(
    r"(?i)[\"')\]]*\s(?:et al|was\s(?:my|his|her|their|the)\s(?:first|initial)|(?:is|was|looks|seems|sounds)\s(?:unlikely|improbable|doubtful|the\s(?:first|second|third|last|letter)\b|an?|for|too|also|only|in|on|from|possible|(?P<weighed>tempting|plausible|close)))\b"
)
# Statements about a letter that do not choose its option.
_DESCRIBED = re.compile(
    r"[\"')\]]*\s(?:(?:ist|est|es|è|é)(?!\s(?:la|le|die|der|das|el|il|lo|o|a)\s)|is|was|are|were|(?:would|must|should|could|has to) be)\s(?!(?:[a-z]+ly\s|indeed\s|by far\s|in fact\s|(?:much\s)?(?:the\s)?(?:most|more)\s)?"
    rf"(?:(?:{TRUE})(?!\w)|(?:the|my|our)\s(?!first|second|third|next|last|letter|other)|correct|right|best|better|true|accurate|plausible|likely|probable|it\b|what\b|left\b|fine\b|appropriate|consistent|in\b|for\b|how\b|where\b|why\b|because\b|a\b|an\b|[A-Z]))"
)
_VERDICT = rf"(?:not\s)?(?:{TRUE})|{FALSE}|yes|no"
_WRONG = re.compile(rf"(?i)not\s|no$|(?:{FALSE})$")
# These words may follow a chosen letter. Before any other word, the letter is the subject of a
# sentence ("D contradicts").
_GOES_ON = re.compile(
    r"(?i)\s*(?:$|[^\s\w]|[^.,;:\n]{0,60}\bbest\b|(?:is|was|seems|would|must|should|has to|looks|fits?|match(?:es)?|makes|works|remains|are(?= (?:both |all )?(?:right|correct|true|possible|valid))|wie|comme|como|come|zu(?=\W*$)|zijn|sein|être|ser|essere|być|it is|all the way|hands down|for sure|becuase|becouse|cuz|because|since|as|and|or|oder|ou|o|of|lub|или|but|so|on|in|for|from|with"
    r"|here|then|by|jest|ist|est|es|è|é|weil|parce|porque|und|et|y|e|que|qui(?= (?:(?:convient|correspond)(?! le moins| pas| mal| moins| peu)|est (?:la )?(?:bonne|correcte|juste|exacte)|me semble (?:la )?(?:bonne|correcte|juste|exacte)))|karena|eftersom|vì|der|die|das|it|this|that|i|given|based|due|over|rather|instead|after all|sagen|nehmen|wählen|zeggen|kiezen|say|think)\b|[A-Z](?!\w)|şık|seçene|(?!项[^\W\d_]|を[^\W\d_]{1,4}人|选项[^\W\d_]|については|는|은|は(?![正最答適])|(?!не\s)(?!является|верн|правильн|подходит(?! лишь| только)|потому|так|поскольку|как|и|мне|мой|самый|наиболее|скорее|больше)[\u0400-\u04ff]{4}|[يت]\w{2})[^\x00-\u024f])"
)
_JOINED = re.compile(rf"\s*(?:,|/|&|\+|(?:{OR}|and|und|et|y|e)(?!\w))\s*")
# After these nouns, a letter is part of a name ("vitamin C").
_NAMED = re.compile(
    r"(?i)\b(?:plan|vitamine?|hepatitis|influenza|grade:?|class|exhibit|schedule|appendix|annex|question|item|case|claim|scenario|mr\.?|mrs\.?|ms\.?|dr\.?|points?|section|group|type|team|phase|stage|figure|table|size|level|gate|room|building|line|side|angle|vertex|node|block|company|player|person|train|car|box|bag|tank|pipe|worker|machine|town|city|note|key of|e\.g\.|cf\.|see|suppose|let|given)\s$|(?:ビタミン|维生素|비타민)\s?$"
)
# In abbreviations and initials ("A.I.", "D. Hume"), letters do not name an option.
_ABBREVIATED = re.compile(r"\.(?:[A-Za-z]{1,3}(?!\w)|\s?[A-Z]\.(?!\s*$)|\s[A-Z]\.?\s[A-Z][a-z])")
_INITIAL, _SURNAME = re.compile(r"(?<!\w)[A-Z]\.\s?$"), re.compile(r"\.\s[A-Z][a-z]")
# Letters with these words between them denote objects or a range of options.
_RELATED = re.compile(
    r"(?i:\s(?:vs\.?|versus|or something|or so)\b)|\s[0-9]+[.):]\s|\.\s(?!it|this|that|there|he|she|they|we|all|most)[a-z]+\s(?:is|are|was|were|can|has|have)\b|"
    r"\s?(?:(?:to|through|bis|à)\s|[-–→∪∩=<>≤≥⇒∧∨])\s?(?:point\s)?[A-Z](?!\w)|\s?[=<>≤≥]\s?[0-9]"
)
_RELATING = re.compile(
    r"\bP\($|[0-9]\s?%\s$|(?<!\w)[A-Z]\s?(?:vs\.?\s|versus\s|(?:to|through|bis|à)\s|[-–→∪∩=<>≤≥⇒∧∨]\s?)$"
)
_AT_ODDS = re.compile(
    r"\bP\($|[0-9]\s?%\s$|(?<!\w)[A-Z]\s?(?:vs\.?\s|versus\s|[-–→∪∩=<>≤≥⇒∧∨]\s?)$"
)
_UNSURE = re.compile(
    r"(?i)\s?[:.)]\s*(?:\?|(?:well|hmm+|um+|sorry|honestly)[,.\s]+|i(?:'m| am) (?:not (?:\w+ )?sure|unsure|uncertain|sorry|afraid|unable|not able)|unsure|not sure|i (?:do not|don't|can't|cannot|could not) |let me (?:think|see)|unknown|unclear|maybe|it depends|hard to|no idea|none\b|n/?a\b|cannot|can't|there is no)"
    r"|\s?:\s[^\n]*?\b(?:i|we|you|not|no|n't|info|information|enough|unclear|unknown|depends?|question|none|neither|both)\b(?!\s?[a-z]*\s?[0-9])"
)
_REASON = re.compile(r"\s?(?:$|[).\],;:–\n]|-\s|\(|\s(?:because|since|as|weil|parce|porque)\b)")


def read_option(
    reply: str,
    options: Sequence[str] | Mapping[str, str] = "ABCD",
    *,
    finish_reason: str | None = None,
) -> Reading:
    """Parse which option a reply chooses.

    Parameters
    ----------
    reply : str
        The reply.
    options : sequence of str, or mapping of str to str
        Letters of the options, or a mapping from each letter to the text of the option. If texts
        are given, a reply may also choose an option by its text.
    finish_reason : str, optional
        Reason why the generation ended; "length" means that the reply was cut off.

    Raises
    ------
    InputError
        If there are fewer than two options.

    Examples
    --------
    >>> read_option("The answer is (B).").value
    'B'
    >>> read_option("It is Rome.", {"A": "Paris", "B": "Rome"}).value
    'B'
    >>> read_option("A or B").outcome.value
    'ambiguous'
    """
    texts = dict(options) if isinstance(options, Mapping) else dict.fromkeys(options, "")
    if len(texts) < 2 or not all(key.strip() for key in texts):
        msg = f"options {list(texts)} has fewer than two letters: name at least two"
        raise InputError(msg)
    return read(reply, _Option(_patterns(tuple(texts.items()))), finish_reason)


class _Patterns:
    """Search patterns, compiled once per set of options."""

    def __init__(self, items: tuple[tuple[str, str], ...]) -> None:
        plain = {key: unicodedata.normalize("NFKC", key) for key, _ in items}  # for ①
        self.keys = {plain[key].lower(): key for key, _ in items}
        self.texts = {_norm(text): key for key, text in items if text.strip()}
        letters = "|".join(re.escape(plain[key]) for key, _ in items)
        self.letter = re.compile(
            rf"(?<![A-Za-z0-9_'])(?<![A-Za-z0-9]{{2}}-)(?<![Nn]/)(?<![A-Za-z]\.)(?:(?:{letters})(?![A-Za-z0-9_$#]|\+(?!\s?[A-Z](?!\w))|'(?!{_SUFFIX})|-[A-Za-z]{{2}})|(?i:{letters})(?=\))(?!\)\()|(?:(?<=option )|(?<=go with )|(?<=pick )|(?<=choose )|(?<=going with )|(?<=answer is )|(?<=anwser is )|(?<=answer: ))(?i:{letters})(?=\W*$|[.,;:]|\sbec|\sis the (?:right|correct|best)\b))"
        )
        texts = sorted((text.strip() for _, text in items if text.strip()), key=len, reverse=True)
        bodies = [r"\s+".join(re.escape(word) for word in text.split()) for text in texts]
        self.text = (
            re.compile(rf"(?i)(?<![{WORD}])(?:{'|'.join(bodies)})(?![{WORD}])") if bodies else None
        )
        self.judged = re.compile(
            rf"(?im)(?:^|(?<=[;,])\s?|(?<=\.)\s)\W*(?:{_CALLED}\s)?(?P<key>{letters})(?![\w'])[^\w\n]*?[^\w\n,;]+"
            rf"(?:(?:(?:this|it|that)\s)?(?:(?:option|answer|statement)\s)?(?:is|-|–)\s)?(?P<verdict>{_VERDICT})(?=\s*(?:$|[.;,]|because\b|as\b|since\b|[–(]))"
        )
        self.listed = re.compile(
            rf"(?m)^[ \t]*(?:(?i:{_CALLED})\s)?[(\[]?(?P<key>{letters})[.):\]]+[ \t]+\S[^\n]*$"
        )
        self.start = re.compile(
            rf"(?i)\s*(?:{_CALLED}\s?)?[\"'(\[{{<]*(?P<key>{letters})(?![A-Za-z0-9_+$']|-[A-Za-z])(?P<close>[\"')\]}}>]*)"
        )


@lru_cache(maxsize=64)
def _patterns(items: tuple[tuple[str, str], ...]) -> _Patterns:
    return _Patterns(items)


def _norm(text: str) -> str:
    return " ".join(text.lower().strip(_EDGES).split())


# These Cyrillic letters look like Latin letters and name the same option in either alphabet.
_LOOKALIKES = str.maketrans("АСас", "ACac")


_CYRILLIC = re.compile(
    r"(?i:(?<=[:(–] )|(?<=\()|(?<=вариант )|(?<=ответ )|(?<=буква ))[АС](?=\W|$)"
)


class _Option(Form):
    labels = ("choice", "option", "selected option", "letter")
    letters = True

    def __init__(self, patterns: _Patterns) -> None:
        self._of = patterns

    def prepared(self, text: str) -> str:
        """Replace a single Cyrillic letter by a Latin one; mark an option that is called right."""
        if len(text.strip(_EDGES)) == 1:
            return text.translate(_LOOKALIKES)
        text = _CYRILLIC.sub(lambda one: one.group().translate(_LOOKALIKES), text)
        text = self._without_echo(text)
        judged = list(self._of.judged.finditer(text))
        right = [one for one in judged if not _WRONG.match(one["verdict"])]
        if len(judged) < 2 or len(right) != 1:
            return text
        kept = self._of.judged.sub(
            lambda one: one.group() if one.span() == right[0].span() else "", text
        )
        return kept.replace(right[0].group(), f"{OPEN}{right[0]['key']}{CLOSE}")

    def _without_echo(self, text: str) -> str:
        """Remove a repeated list of all options if the rest of the reply names an option."""
        if "\n" not in text or OPEN in text:
            return text
        listed = list(self._of.listed.finditer(text))
        keys = [one["key"] for one in listed]
        if len(keys) < 3 or len(set(keys)) < len(keys) or set(keys) != set(self._of.keys.values()):
            return text
        rest = self._of.listed.sub("", text)
        return rest if self._of.letter.search(rest) else text

    def whole(self, text: str) -> frozenset[Value]:
        if "?" in text:
            return frozenset()
        words = _norm(text)
        if words in self._of.keys:
            return frozenset({self._of.keys[words]})
        if words in self._of.texts:
            return frozenset({self._of.texts[words]})
        start = self._of.start.match(text)
        if start is None:
            return self._text_then_letter(text)
        key = self._of.keys[start["key"].lower()]
        rest = _norm(text[start.end() :])
        if not rest or self._of.texts.get(rest) == key:
            return frozenset({key})
        if rest in self._of.texts:
            return frozenset({key, self._of.texts[rest]})
        if rest in self._of.keys:
            return frozenset({key, self._of.keys[rest]})
        return frozenset()

    def _text_then_letter(self, text: str) -> frozenset[Value]:
        if self._of.text is None or (named := self._of.text.match(text.lstrip(_EDGES))) is None:
            return frozenset()
        rest = _norm(text.lstrip(_EDGES)[named.end() :])
        if rest in self._of.keys:
            return frozenset({self._of.texts[_norm(named.group())], self._of.keys[rest]})
        return frozenset()

    def opening(self, text: str) -> frozenset[Value]:
        start = self._of.start.match(text)
        if start and (_ABBREVIATED.match(text, start.end()) or _UNSURE.match(text, start.end())):
            return frozenset()
        if start is None or not (start["close"] or _REASON.match(text, start.end())):
            return frozenset()
        closed = start["close"] or text[start.end() : start.end() + 1] in {".", ")", ":"}
        if start["key"] not in self._of.keys.values() and not closed:
            return frozenset()
        values = {self._of.keys[start["key"].lower()]}
        beside = self._beside(text, start.end())
        joined = _JOINED.match(text, start.end())
        if joined and (second := self._of.letter.match(text, _past(text, joined.end()))):
            values.add(self._of.keys[second.group().lower()])
        return frozenset(values | beside)

    def _beside(self, text: str, end: int) -> set[str]:
        """Return the option whose text directly follows a letter."""
        named = self._of.text and self._of.text.match(text, _past(text, end))
        return {self._of.texts[_norm(named.group())]} if named else set()

    def mentions(self, text: str) -> list[Mention]:
        mentions: list[Mention] = []
        for sentence in sentences(text):
            mentions += self._letters(text, sentence)
        letters = [one for one in mentions if one.mode is Mode.SAID]
        named = self._named(text)
        texts = [one for one in named if one.mode is Mode.SAID]
        if not letters or not {one.value for one in letters} & {one.value for one in texts}:
            return mentions + named
        # A letter takes precedence over option texts that follow it, but not over an option text
        # before it.
        return mentions + [one for one in texts if one.start < letters[0].start]

    def _named(self, text: str) -> list[Mention]:
        """Return the mentions of option texts."""
        if self._of.text is None:
            return []
        return [
            Mention(
                self._of.texts[_norm(one.group())],
                *one.span(),
                _chosen(text, sentence, one),
            )
            for sentence in sentences(text)
            for one in self._of.text.finditer(text, sentence.start, sentence.end)
        ]

    def _letters(self, text: str, sentence: Sentence) -> list[Mention]:
        mentions = []
        for one in self._of.letter.finditer(text, sentence.start, sentence.end):
            key = self._of.keys[one.group().lower()]
            if _NAMED.search(text[max(one.start() - 12, 0) : one.start()]) or _ABBREVIATED.match(
                text, one.end()
            ):
                continue
            if key in _WORD_LETTERS and (
                _AS_PRONOUN.match(text, one.start()) or not _labels(text, one)
            ):
                continue
            if _INITIAL.search(text, max(one.start() - 4, 0), one.start()) and _SURNAME.match(
                text, one.end()
            ):
                continue
            mode = manner(text, sentence, *one.span())
            of_others = _UNSURE.match(text, one.end()) or _RELATED.match(text, one.end())
            related = _RELATING.search(text, max(one.start() - 10, 0), one.start())
            mode = mode.raised_if(bool(of_others or related))
            spoken_of = _SPOKEN_OF.match(text, one.end())
            followed = _GOES_ON.match(text, one.end()) or text[one.end() :].strip()[:1].isupper()
            described = _DESCRIBED.match(text, one.end())
            if (
                mode in {Mode.SAID, Mode.RAISED}
                and not followed
                and not of_others
                and not _AT_ODDS.search(text, max(one.start() - 10, 0), one.start())
            ):
                mode = Mode.DENIED
            if mode is Mode.SAID and (
                not followed or (spoken_of["weighed"] if spoken_of else described)
            ):
                mode = Mode.DENIED  # discussed, not chosen: "D contradicts the text"
            led_up_to = leads(text, one.start(), OPTION_LEADS) or _remains(
                text, one, sentence, self._of.letter
            )
            mode = mode.raised_if(bool(spoken_of) or not led_up_to)
            mentions.append(Mention(key, *one.span(), mode))
            mentions += [
                Mention(other, *one.span(), mode) for other in self._beside(text, one.end())
            ]
        return of_one_manner(text, mentions, _LISTED)


def _remains(text: str, one: re.Match[str], sentence: Sentence, letter: re.Pattern[str]) -> bool:
    """Return whether the last sentence names this letter alone, after other letters were named."""
    if sentence.end < len(text) or not sentence.start:
        return False
    others = {said.group().lower() for said in letter.finditer(text, 0, sentence.start)}
    here = {said.group().lower() for said in letter.finditer(text, sentence.start)}
    return len(here) == 1 and bool(others - here)


def _past(text: str, end: int) -> int:
    """Return the position of the first word after a label."""
    while end < len(text) and text[end] in " \t\"')].:,–-(":
        end += 1
    return end


def _labels(text: str, one: re.Match[str]) -> bool:
    """Return whether a letter that is also a word, such as "a", is used as a label."""
    if _LABELS.match(text, one.end()):
        return True
    before = text[max(one.start() - 14, 0) : one.start()]
    if re.search(r"[(\[\"]$", before):
        return True
    beside = re.match(r"\s[A-Z](?![\w'])", text[one.end() : one.end() + 4])
    called = re.search(rf"(?i){_CALLED}\s?$", before)
    return beside is not None or called is not None


def _chosen(text: str, sentence: Sentence, one: re.Match[str]) -> Mode:
    """Return the manner in which a reply mentions an option's text."""
    mode = manner(text, sentence, *one.span())
    before = clause_before(text, one.start())
    named = _IS.search(before) if before.strip(_EDGES) else _IS_IT.match(text, one.end())
    led_up_to = before.strip(_EDGES) and leads(text, one.start(), OPTION_LEADS)
    return mode.raised_if(not (named or led_up_to))
