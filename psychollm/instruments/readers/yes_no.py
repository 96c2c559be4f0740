"""Yes or no.

"No" before a noun ("no doubt", "no one", "no. 5") is no answer, and the same word in another
language may be the denial of a verb ("no sé", "não posso"): such a word counts where its clause ends,
where a pronoun follows ("no I can't"), or where it is quoted or named ("a no", "I say no").
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from psychollm.instruments.readers.mentions import Mention, Mode, Value
from psychollm.instruments.readers.sentences import (
    WORD,
    Sentence,
    clause_before,
    sentences,
)
from psychollm.instruments.readers.stance import conditioned, leads, manner
from psychollm.instruments.readers.verdict import Form, read
from psychollm.instruments.readers.yes_no_words import CLAUSES, JOINS, PARTICLES, WHOLE
from psychollm.instruments.reading import Reading

_SPACED = "|".join(sorted((one for one in PARTICLES if one < "\u3000"), key=len, reverse=True))
_WORDS = rf"(?:ye+s+|no{{2,}}|{_SPACED})"
_PARTICLE = re.compile(
    rf"(?<![{WORD}-])(?<![{WORD}]')(?P<word>{_WORDS})(?![{WORD}]|'[{WORD}]|-[{WORD}])"
)
_OR = r"(?:/|\||,?\s+(?:or|and/or|oder|ou|o|of|lub|albo|czy|или|либо|veya|ya da|또는|أو|या)\s+)"
_PAIR = re.compile(
    rf"(?<![{WORD}'])(?:y\s?/\s?n(?![{WORD}])|(?P<one>{_WORDS})\s?{_OR}\s?(?P<other>{_WORDS})(?![{WORD}']))"
)
# What may stand between a "no" and the end of its clause, or follow it without a comma.
_ENDS = re.compile(rf"\s*(?:$|[^{WORD}\s'])")
_FOLLOWS = re.compile(
    r"\s+(?:i|i'm|i'd|i've|we|it|it's|he|she|they|you|that|this|sorry|sir|madam|because|since|as|but|not"
    r"|unfortunately|thanks|thank|my|absolutely|definitely|sadly|weil|da|aber|ich|das|parce|je|mais"
    r"|porque|pero|perché|perche|ma|mas|want|maar|ik|bo|ale|потому|но|я|çünkü|ama|if|unless|when|for|and|or|although|though|however"
    rf"|{_WORDS})(?![\w])"
)
_SAYINGS = re.compile(  # "no I don't think so"
    rf"(?<![{WORD}'])(?:"
    + "|".join(sorted((one for one in CLAUSES if " " in one), key=len, reverse=True))
    + rf")(?=\s*(?:$|[^{WORD}\s]|(?:and|or|but|i)\s|{_WORDS}(?![{WORD}])))"
)
_NAMES = re.compile(
    r"(?:\b(?:an?|say|saying|said|answer|answering|with|lean|leaning|towards?|definite|hard|firm|clear"
    r"|probably|likely|definitely|certainly|is a|sage|dirais|diré|digo|direi|dico|diria|zeg)\s+[\"']?|[\"'])$"
)
_JOINED = re.compile(rf"\s*[,/&+]?\s*(?:and|und|et|y|e|en|i|и|ve|और|و)?\s*(?={_WORDS})")
_CITES = re.compile(r"\b(?:words?|terms?|tokens?|strings?)\s[\"']$")  # 'the word "no"'
_NUMBER = re.compile(r"\.\s?[0-9]")
_EDGES = " \t\n\"'()[]{}<>.,;:!?…*_`~#|/\\-–=→·•¡¿"
_TOKENS = re.compile(rf"[{WORD}'-]+|[^\s{WORD}'-]")
_GLUED = {"ولا": 0, "ونعم": 1}
_SPOKEN_OF = re.compile(
    r"[\"']?\s(?:is|was|would|seems|feels|sounds|could|might)\b(?!\s(?:be\s)?(?:my(?!\sfirst)|the|correct|right))"
)
_THAT = re.compile(r"(?:\sthat)?\s?")
_BOTH = "yes or no"  # the value of a mention that chooses neither
_CLAUSE = re.compile(r"[^,;:.!?\n()–]+")
_INTERJECTION = re.compile(
    r"(?:(?:well|hmm+|um+|uh|oh|ah|so|honestly|sorry|unfortunately|sadly|sure|ok|okay)\b[\s,.!…]*)+"
)


def read_yes_no(
    reply: str,
    *,
    yes: Sequence[str] = (),
    no: Sequence[str] = (),
    finish_reason: str | None = None,
) -> Reading:
    """Read yes (1) or no (0).

    Parameters
    ----------
    reply : str
        Whatever came back.
    yes, no : sequence of str
        Further phrases that say so, such as `CAN_ANSWER` and `CANNOT_ANSWER` where the question was
        whether the model can answer.
    finish_reason : str, optional
        "length" if the reply was cut off.

    Examples
    --------
    >>> read_yes_no("**Yes**, I have no doubt.").value, read_yes_no("Final answer: no").value
    (1, 0)
    >>> read_yes_no("Yes and no.").outcome.value
    'ambiguous'
    """
    return read(reply, _YesNo(tuple(yes), tuple(no)), finish_reason)


@lru_cache(maxsize=16)
def _further(yes: tuple[str, ...], no: tuple[str, ...]) -> re.Pattern[str] | None:
    phrases = sorted((*yes, *no), key=len, reverse=True)
    if not phrases:
        return None
    body = "|".join(re.escape(one.lower()) for one in phrases)
    return re.compile(rf"(?<![{WORD}'])(?:{body})(?![{WORD}'])")


class _YesNo(Form):
    labels = ("yes/no", "yes or no", "y/n", "yes / no")
    heads_oppose = True
    refusal_outweighs = False

    def __init__(self, yes: tuple[str, ...], no: tuple[str, ...]) -> None:
        self._further = _further(yes, no)
        self._yes = frozenset(one.lower() for one in yes)

    def prepared(self, text: str) -> str:
        """Turn the truth values of JSON into words."""
        return re.sub(
            r"(:\s?)(true|false)(?=\s*[,}\n])",
            lambda said: said[1] + ("yes" if said[2] == "true" else "no"),
            text,
        )

    def whole(self, text: str) -> frozenset[Value]:
        words = text.lower().strip(_EDGES)
        if words in WHOLE:
            return frozenset(WHOLE[words])
        if words in CLAUSES:
            return frozenset({CLAUSES[words]})
        if "?" in text or len(words) > 80:
            return frozenset()
        return _same_words(words)

    def opening(self, text: str) -> frozenset[Value]:
        text = text.lower().lstrip(_EDGES)
        polite = _INTERJECTION.match(text)
        start = polite.end() if polite else 0
        pair = _PAIR.match(text, start)
        if pair:
            return frozenset()
        found = _PARTICLE.match(text, start)
        if found is None:
            clause = _CLAUSE.match(text)
            value = _clause(clause.group()) if clause else None
            return frozenset() if value is None else frozenset({value})
        asked = text[found.end() : found.end() + 1] == "?"
        if asked or not _answers(text, found) or conditioned(text, found.end()):
            return frozenset()
        after = _JOINED.match(text, found.end())
        second = _PARTICLE.match(text, after.end()) if after else None
        values = {_value(found["word"])}
        if second and _answers(text, second):
            values.add(_value(second["word"]))
        return frozenset(values)

    def mentions(self, text: str) -> list[Mention]:
        text = text.lower()
        found: list[Mention] = []
        for sentence in sentences(text):
            found += _in_sentence(text, sentence)
            if self._further is not None:
                found += self._phrases(text, sentence)
        return found

    def _phrases(self, text: str, sentence: Sentence) -> list[Mention]:
        assert self._further is not None  # noqa: S101
        found = []
        for phrase in self._further.finditer(text, sentence.start, sentence.end):
            mode = manner(text, sentence, *phrase.span())
            if mode is Mode.SAID and not leads(text, phrase.start()):
                mode = Mode.RAISED
            value = int(phrase.group() in self._yes)
            that = _THAT.match(text, phrase.end())
            if value and that and self._further.match(text, that.end()):
                continue  # "I am sure that I cannot answer"
            found.append(Mention(value, phrase.start(), phrase.end(), mode))
        return found


def _value(word: str) -> int:
    return PARTICLES.get(word, int(word.startswith("y")))


def _same_words(words: str) -> frozenset[Value]:
    """Return what words say that are nothing but particles and what joins them."""
    values: set[Value] = set()
    for token in _TOKENS.findall(words):
        if token in PARTICLES or re.fullmatch("ye+s+|no{2,}", token):
            values.add(_value(token))
        elif token in _GLUED:
            values.add(_GLUED[token])
        elif token in WHOLE and not token[0].isalnum():
            values |= WHOLE[token]
        elif token[0].isalnum() and token not in JOINS:
            return frozenset()
    return frozenset(values)


def _clause(words: str) -> int | None:
    """Return what a clause says that stands for an answer, None if it is another."""
    words = words.strip(_EDGES)
    return CLAUSES.get(words, PARTICLES.get(words) if words >= "\u3000" else None)


def _answers(text: str, found: re.Match[str]) -> bool:
    """Tell whether a particle stands as an answer, rather than before a noun or a verb."""
    before = text[max(found.start() - 16, 0) : found.start()]
    if _NUMBER.match(text, found.end()) or _CITES.search(before):
        return False
    ends = _ENDS.match(text, found.end()) is not None
    if ends or _FOLLOWS.match(text, found.end()):
        return True
    if _NAMES.search(before):
        return not re.match(r"\s(?:one|way|idea|doubt|problem)\b", text[found.end() :][:10])
    if _value(found["word"]) == 0:
        return False
    english = found["word"].startswith("y")
    return english or not clause_before(text, found.start()).strip(" \"'")


def _in_sentence(text: str, sentence: Sentence) -> list[Mention]:
    pairs = [pair.span() for pair in _PAIR.finditer(text, sentence.start, sentence.end)]
    found = [Mention(_BOTH, *pair, Mode.OPEN) for pair in pairs]
    paired = {place for pair in pairs for place in range(*pair)}
    for word in _PARTICLE.finditer(text, sentence.start, sentence.end):
        if word.start() in paired or not _answers(text, word):
            continue
        heads = not text[sentence.start : word.start()].strip(_EDGES)
        mode = manner(text, sentence, *word.span())
        if mode is Mode.SAID and (
            _SPOKEN_OF.match(text, word.end()) or not leads(text, word.start())
        ):
            mode = Mode.RAISED  # "One could answer yes", "Yes was my first thought"
        found.append(Mention(_value(word["word"]), *word.span(), mode, heads))
    for clause in _CLAUSE.finditer(text, sentence.start, sentence.end):
        value = _clause(clause.group())
        mode = manner(text, sentence, *clause.span())
        heads = clause.start() == sentence.start
        values = [CLAUSES[said.group()] for said in _SAYINGS.finditer(clause.group())]
        said_here = values if value is None else [value]
        found += [Mention(one, *clause.span(), mode, heads) for one in said_here]
    return found
