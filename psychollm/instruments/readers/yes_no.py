"""Parse yes or no.

"No" before a noun ("no doubt", "no one") is not an answer. In other languages, the word for no may
negate a verb ("no sé", "não posso"). "No" is an answer at the end of a clause, before a pronoun
("no I can't"), or if it is quoted or named ("a no", "I say no").

The module `yes_no_words` lists the words for yes and no.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from psychollm.instruments.readers.clauses import (
    WORD,
    Mention,
    Mode,
    Sentence,
    Value,
    clause_before,
    conditioned,
    leads,
    manner,
    sentences,
)
from psychollm.instruments.readers.lexicon import FALSE, OR, TRUE, leads_up, words_of
from psychollm.instruments.readers.refusals import declines
from psychollm.instruments.readers.truth import (
    APPOSITION,
    REASON_AFTER,
    SHOULD_BE,
    TRUTH_ALONE,
    TRUTH_CLAUSES,
    TRUTH_LEAD,
    opens,
    truth_of,
)
from psychollm.instruments.readers.verdict import Form, read
from psychollm.instruments.readers.yes_no_words import CLAUSES, JOINS, PARTICLES, WHOLE, phrases
from psychollm.instruments.reading import Reading

# These sentences answer "Can you answer this?". After other questions they may be refusals, so the
# caller must decide whether to use them.
CAN_ANSWER: tuple[str, ...] = phrases(
    "i can answer|i could answer|i can provide|i can get this right|i am able to answer|i will be able to answer"
    "|i would be able to answer|i should be able to answer|i will answer|i would answer|i know the answer"
    "|i do know the answer|i know this|i am confident|i am certain|i am sure|able to answer this"
)
CANNOT_ANSWER: tuple[str, ...] = phrases(
    "i cannot answer|i could not answer|i am unable to answer|i am not able to answer|i will not be able to answer"
    "|i will not be able to get|i would not be able to answer|i do not know the answer|i cannot say i know"
    "|i am not confident|i do not think i can|i do not believe i can|i doubt i can|i doubt that i can|i would not answer"
    "|i am not sure i can|i am not sure that i can"
)
# Other spellings of words in a phrase, and adverbs that may occur within it.
_SHORT = (
    (r"\bi am\b", r"i(?:\\sam|'m)"), (r"\bi will not\b", r"i\\s(?:[a-z]+ly\\s)?(?:will\\snot|won't)"), (r"\bi will\b", r"i(?:\\swill|'ll)"),
    (r"\bcannot\b", r"can(?:not|'?t|\\snot)"), (r"(?<=do|ld) not\b", r"(?:\\snot|n'?t)"),
    (" ", r"\\s(?:(?!hardly|barely)[a-z]+ly\\s|indeed\\s)?"),
)  # fmt: skip


_SPACED = "|".join(sorted((one for one in PARTICLES if one < "\u3000"), key=len, reverse=True))
_WORDS = rf"(?:ye+s+|no{{2,}}|{_SPACED})"
_PARTICLE = re.compile(
    rf"(?<![{WORD}-])(?<![{WORD}]')(?P<word>{_WORDS})(?![{WORD}]|'[{WORD}]|-[{WORD}])"
)
_OR = rf"(?:/|\||,?\s+(?:{OR})\s+)"
_PAIR = re.compile(
    rf"(?<![{WORD}'])(?:y\s?/\s?n(?![{WORD}])|evet m[iı],?\s(?:yoksa\s)?hayır m[ıi](?![{WORD}])|(?P<one>{_WORDS})\s?{_OR}\s?(?P<other>{_WORDS})(?![{WORD}']))"
)
# Text after a "no" that is an answer: the end of its clause, or words that follow without a comma.
_ENDS = re.compile(rf"\s*(?:$|[^{WORD}\s'])")
_FOLLOWS = re.compile(
    r"\s+(?:i|i'm|i'd|i've|we|it|it's|he|she|they|you|that|this|hoor|sorry|sir|madam|because|since|as|but|not"
    r"|unfortunately|thanks|thank|my|absolutely|definitely|sadly|weil|da|aber|ich|das|parce|je|mais"
    r"|porque|pero|perché|perche|ma|mas|want|maar|ik|bo|ale|потому|но|я|çünkü|ama|if|unless|when|for|and|or|although|though|however"
    rf"|{_WORDS})(?![\w])"
)
_SAYINGS = re.compile(  # answers without a comma: "no I don't think so"
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
_NUMBER = re.compile(
    r"\.\s?[0-9]|\.\sof\b|(?<=\bnie)\sma\b|(?<=\bya)\s(?:que|no|se|ha|han|es|lo|está|he|son|era|fue)\b|\sma\s(?=[a-ząćęłńóśźż]+\W*$)"
)
_EDGES = " \t\n\"'()[]{}<>.,;:!?…*_`~#|/\\-–=→·•¡¿"
_TOKENS = re.compile(rf"[{WORD}'-]+|[^\s{WORD}'-]")
_GLUED = {"ولا": 0, "ونعم": 1}
_SPOKEN_OF = re.compile(
    r"[\"']?\s(?:is|was|would|seems|feels|sounds|could|might)\b(?!\s(?:be\s)?(?:my(?!\sfirst)|the|correct|right))"
)
_THAT = re.compile(r"(?:\sthat)?\s?")
# Words that refer to the current question, unlike "questions about chemistry".
_OF_THIS = re.compile(
    r"\s*(?:$|[^\w\s]|(?:(?:answer|get|it|this|that(?!\s(?!i\b|it\b|one\b|question\b|correctly\b|with\b)\w)|these|the|your|correctly|accurately|right|because|since|as|i|of|about|to|for|now|and|but)\b"
    r"|with (?:\w+ )?(?:confidence|certainty))(?! only))"
)
_BUT = re.compile(r"[^.!?\n]*\bbut (?:i|my)\b")
_LABEL = re.compile(rf"(?:^|[\n.;,!?(])[\s\"'*-]*(?P<name>[{WORD} '/#-]+?)\s?:[\s\"'(\[]*$")
_LABEL_REACH, _LABEL_WORDS = 48, 3
_INTRODUCING = """
balance brief tl dr tldr nutshell all considered sum summary view opinion chosen selected so short
version question kurz gesagt ehrlich fazit bref résumé resumen breve resumo kortom samengevat krótko
короче кратко итог итого özet sonuç खैर match agree same
"""
# These words usually introduce the writer's answer, but in this context they introduce somebody
# else's answer.
_OF_SOMEBODY = """
reference candidate gold golden truth student pupil model key target given system submission label
actual predicted expected rating score answer answers response responses option statement prediction
a first second i we
"""
_INTRODUCES, _SOMEBODYS = frozenset(_INTRODUCING.split()), frozenset(_OF_SOMEBODY.split())
_BOTH = "yes or no"  # the value of a mention that selects neither yes nor no
_CLAUSE = re.compile(r"[^,;:.!?\n()–]+")
_YES_OF_ANOTHER = re.compile(
    r"\s(?:voters?|votes?|man|men|side|camp|answers?|responses?|means?|button|box)\b"
)
# Polite words before an answer, or words that begin an answer.
_POLITE = re.compile(
    r"yes,? (?:i (?:can|could|will|would) (?:try|help|do (?:that|this)|assist|be happy)|let me (?:think|see|check|know|try)|that(?:'s| is) an? (?:\w+ )?(?:question|point)|the question (?:is|asks)|here(?:'s| is| are)|please|what |how |happy to|of course i"
    r"|(?:but )?(?:only )?(?:in part\b|partly\b|partially\b|to some extent\b|half\b))"
)
# Words that decline a request do not answer a question.
_REFUSES = re.compile(
    r"(?:no|nope|sorry),? (?:sorry,? |unfortunately,? )?(?:but )?i(?:'m| am)? ?(?:can't|cannot|can not|won't|will not|am not able to|unable to|not able to) (?:help|assist|provide|comply|do that|discuss|share)\b"
)
# Words that affirm the following statement do not answer the question.
_AFFIRMS = re.compile(
    r"(?:absolutely|definitely|certainly|undoubtedly|of course|natürlich|selbstverständlich|bien sûr|certainement|por supuesto|claro|certamente|com certeza|конечно|oczywiście|elbette|tabii ki|当然|もちろん|물론)[!.,:–]\s?(?=\w)"
    r"(?!(?:here|i|let|what|how|please|happy|we|you|ich|je|yo|io|eu|hier|voici|aquí|ecco|aqui|вот|not|nicht|pas|no|non|não|niet|не|nie|but|aber|mais|pero|ma|mas|но|gladly|gerne?|just|tell|ask)(?!\w))[^?]*$"
)
_COMPLIMENT = re.compile(r"^\W*(?:great|good|excellent|interesting|fun) question\W*")
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
    """Parse yes (1) or no (0).

    Parameters
    ----------
    reply : str
        The reply.
    yes, no : sequence of str
        Further phrases for yes and no, such as `CAN_ANSWER` and `CANNOT_ANSWER` if the question
        was whether the model can answer.
    finish_reason : str, optional
        Reason why the generation ended; "length" means that the reply was cut off.

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
    """Return a pattern for added phrases in all spellings; None if there are no phrases."""
    if not yes and not no:
        return None
    body = "|".join(
        f"(?P<{name}>"
        + "|".join(_spellings(one) for one in sorted(ones, key=len, reverse=True))
        + ")"
        for name, ones in (("no", no), ("yes", yes))
        if ones
    )
    return re.compile(rf"(?<![{WORD}'])(?:{body})(?![{WORD}'])")


def _spellings(phrase: str) -> str:
    phrase = re.escape(phrase.lower()).replace("\\ ", " ")
    for written, pattern in _SHORT:
        phrase = re.sub(written, pattern, phrase)
    return phrase


class _YesNo(Form):
    labels = (
        "yes/no", "yes or no", "y/n", "yes / no", "match", "matches", "matching", "is match", "equivalent", "equivalence", "is equivalent",
        "equal", "same", "same answer", "same meaning", "agree", "agrees", "agreement", "consistent", "is correct", "is_correct", "jugement final", "verdict final", "veredicto final", "giudizio finale", "verdetto finale", "veredito final", "итоговая оценка", "ocena końcowa", "label", "mark", "fazit", "итог", "esito", "bilan",
        "abstains", "abstained", "abstain", "abstention", "candidate abstains", "identical", "supported", "entailed", "overall verdict", "übereinstimmung", "gleich", "même sens",
        "coincide", "coinciden", "correspondent", "corrispondono", "corrisponde", "coincidono", "correspondem", "coincidem", "stimmen überein", "komen overeen", "判断", "判定", "结论", "一致", "評価", "評定", "评判", "评价", "판정", "판단", "평가", "निर्णय", "मूल्यांकन", "الحكم", "التقييم", "urteil", "bewertung", "veredicto", "veredito", "verdetto", "oordeel", "werdykt", "ocena", "вердикт", "оценка", "karar", "jugement", "giudizio", "évaluation", "evaluación", "valutazione", "avaliação", "beoordeling", "grade", "judgement", "judgment", "eindoordeel", "endurteil", "evaluation", "assessment", "是否一致", "是否正确", "совпадение", "совпадают", "일치", "मिलान",
    )  # fmt: skip
    labels_lead = True
    heads_oppose = True
    mended = False  # "wait, no" may be a denial or an answer
    refusal_outweighs = False

    def __init__(self, yes: tuple[str, ...], no: tuple[str, ...]) -> None:
        self._further = _further(yes, no)

    def prepared(self, text: str) -> str:
        """Convert JSON truth values to words; remove the reference answer from a judge's reply."""
        text = re.sub(
            r"(:\s?)(true|false)(?=\s*[,}\n])",
            lambda said: said[1] + ("yes" if said[2] == "true" else "no"),
            text,
        )
        text = _SIGNED.sub(r"\1. ", text)
        text = APPOSITION.sub(r"\1", text)
        if SHOULD_BE.search(text) and (other := SHOULD_BE.sub("", text)).strip(_EDGES):
            text = other if _truth_clauses(other.lower()) else text
        return text

    def whole(self, text: str) -> frozenset[Value]:
        words = _GRADE.sub("", text.lower().strip(_EDGES))
        words = words if words.isascii() else _COPULA.sub("", words).strip(_EDGES)
        if words in WHOLE:
            return frozenset(WHOLE[words])
        signs = _SIGNS.intersection(words) if len(words) > 1 and not words.isascii() else ()
        if signs:
            rest = self.whole("".join(one for one in words if one not in _SIGNS))
            return rest.union(*(WHOLE[one] for one in signs)) if rest else _same_words(words)
        if words in CLAUSES:
            return frozenset({CLAUSES[words]})
        if words in PARTICLES and "?" not in text:
            return frozenset({PARTICLES[words]})
        if "?" not in text and (said := _COPULA.sub("", words)) in PARTICLES:
            return frozenset({PARTICLES[said]})
        if (truth := truth_of(words, TRUTH_ALONE)) is not None:
            return frozenset({truth})
        if "?" in text or len(words) > 80:
            return frozenset()
        return _same_words(words)

    def opening(self, text: str) -> frozenset[Value]:
        text = _COMPLIMENT.sub("", text.lower()).lstrip(_EDGES)
        polite = _INTERJECTION.match(text)
        start = polite.end() if polite else 0
        pair = _PAIR.match(text, start)
        if pair:
            return frozenset()
        if _AFFIRMS.match(text):
            return frozenset({1})
        first = _PARTICLE.match(text, start)
        if first is None:
            clause = _CLAUSE.match(text)
            value = _clause(clause.group()) if clause else None
            return frozenset() if value is None else frozenset({value})
        if _POLITE.match(text, first.start()):
            return frozenset()
        if _REFUSES.match(text, first.start()) and self._further is None:
            return frozenset()
        asked = text[first.end() : first.end() + 1] == "?"
        if asked or not _answers(text, first) or conditioned(text, first.end()):
            return frozenset()
        after = _JOINED.match(text, first.end())
        second = _PARTICLE.match(text, after.end()) if after else None
        values = {_value(first["word"])}
        if second and _answers(text, second):
            values.add(_value(second["word"]))
        return frozenset(values)

    def stands(self, text: str, one: Mention) -> bool:
        """Return whether an answer counts; "yes, but I can't say" does not count."""
        return bool(
            not one.value or self._further or not declines(REASON_AFTER.split(text[one.end :])[0])
        )

    def mentions(self, text: str) -> list[Mention]:
        text = text.lower()
        mentions: list[Mention] = []
        for sentence in sentences(text):
            mentions += _in_sentence(text, sentence)
            if self._further is not None:
                mentions += self.phrases(text, sentence)
        if not any(one.mode is Mode.SAID for one in mentions):
            mentions += _truth_clauses(text)
            last = text.rstrip()[-1:]
            if last in _SIGNS and sum(one in _SIGNS for one in text) == 1:
                sign = next(iter(WHOLE[last]))
                at = sentences(text)[-1].start
                mode = Mode.SAID.raised_if(_SAYS[1 - sign].search(text, at) is not None)
                mentions += [Mention(sign, len(text) - 1, len(text), mode)]
            if text[:1] in _SIGNS and sum(one in _SIGNS for one in text) == 1:
                sign = next(iter(WHOLE[text[0]]))
                mode = Mode.SAID.raised_if(_SAYS[1 - sign].search(text) is not None)
                mentions += [Mention(sign, 0, 1, mode, heads=True)]
        return sorted(mentions, key=lambda one: one.start)

    def phrases(self, text: str, sentence: Sentence) -> list[Mention]:
        assert self._further is not None  # noqa: S101
        mentions = []
        for phrase in self._further.finditer(text, sentence.start, sentence.end):
            mode = manner(text, sentence, *phrase.span(), answers=True)
            of_this = leads(text, phrase.start()) and _OF_THIS.match(text, phrase.end())
            mode = mode.raised_if(not of_this)
            value = int(phrase.lastgroup == "yes")
            if not value and mode is Mode.SAID and _BUT.match(text, phrase.end()):
                mode = Mode.OPEN  # e.g. "I cannot answer with certainty, but my guess is ..."
            that = _THAT.match(text, phrase.end())
            if value and that and self._further.match(text, that.end()):
                continue  # e.g. "I am sure that I cannot answer"
            mentions.append(Mention(value, phrase.start(), phrase.end(), mode))
        return mentions


def _value(word: str) -> int:
    return PARTICLES.get(word, int(word.startswith("y")))


def _same_words(words: str) -> frozenset[Value]:
    """Return the answer of a text whose other words are particles and conjunctions."""
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
    """Return the answer that a clause states if it states nothing else, or None."""
    words = _COPULA.sub("", words.strip(_EDGES)) if not words.isascii() else words.strip(_EDGES)
    return CLAUSES.get(words, PARTICLES.get(words) if words >= "\u3000" else None)


def _answers(text: str, found: re.Match[str]) -> bool:
    """Return whether a particle is an answer and not part of a noun phrase or verb phrase."""
    before = text[max(found.start() - 16, 0) : found.start()]
    if _NUMBER.match(text, found.end()) or _CITES.search(before):
        return False
    ends = _ENDS.match(text, found.end()) is not None
    if ends or _FOLLOWS.match(text, found.end()):
        return True
    if _NAMES.search(before) and not (
        before[-1:] in {"'", '"'} and text[found.end() : found.end() + 1] == " "
    ):
        return not re.match(r"\s(?:one|way|idea|doubt|problem)\b", text[found.end() :][:10])
    if _value(found["word"]) == 0:
        return False
    if _YES_OF_ANOTHER.match(text, found.end()):
        return False
    english = found["word"].startswith("y")
    return english or not clause_before(text, found.start()).strip(" \"'")


def _truth_clauses(text: str) -> list[Mention]:
    mentions = []
    for sentence in sentences(text):
        for clause in _CLAUSE.finditer(text, sentence.start, sentence.end):
            words = REASON_AFTER.split(clause.group())[0].strip(_EDGES)
            start = clause.start() + clause.group().find(words)
            _, so, concluded = words.rpartition(" so ")
            words = concluded if so else words
            lead = TRUTH_LEAD.match(words)
            at_an_end = sentence.end == len(text) or (not sentence.start and words != "right")
            alone = at_an_end and words == text[sentence.start : sentence.end].strip(_EDGES)
            value = None if clause.start() else opens(words, text[clause.end() :])
            if value is None:
                patterns = TRUTH_ALONE if alone else TRUTH_CLAUSES
                value = truth_of(words[lead.end() :] if lead else words, patterns)
            if value is not None:
                mode = manner(text, sentence, start, clause.end(), answers=True)
                mentions.append(Mention(value, start, clause.end(), mode))
    return mentions


_COMPARES = re.compile(
    r"\b(?:reference|candidate|gold|student|both|responses?|answers? (?:1|2|a|b)|expected|ground truth|key|referen[zc]\w*|référence|referência|riferimento|kandidat\w*|candidat\w*|étudiant\w*|estudiante|alumn[oa]|studente"
    r"|aluno|beide|les deux|amb[oa]s|entramb[ei]|referentie|эталон\w*|кандидат\w*|оба|обе|wzorc\w+|kandydat\w*|aday\w*|referans\w*|المرجع\w*|المرشح)\b|参考|标准答案|考生|候选|学生|两者|候補|受験者|両方|模範|참조|후보|응시|둘 다|संदर्भ|उम्मीदवार"
)
_SIGNED = re.compile(r"^(\W*\w+)\s?[✅✔✓☑❌✗✘✖]\s(?=\w)")
# Words for false and for true that contradict a tick sign or cross before them.
_SAYS = [re.compile(rf"(?<![{WORD}])(?:{words})(?![{WORD}])") for words in (FALSE, TRUE)]
_SIGNS = frozenset(one for one in WHOLE if not one[0].isalnum())
_COPULA = re.compile(r"[\"')\s]*(?:です|だ|である|となります|になります|입니다|이다|예요|이에요)$")
_GRADE = re.compile(r"[a-f]\s?[:(.–-]\s?(?=(?:(?:in)?correct|wrong|right)\b)")


def _is_quoted(text: str, word: re.Match[str], sentence: Sentence) -> bool:
    """Return whether a judge quotes an answer: 'The candidate says "no"'."""
    before = text[max(word.start() - 2, 0) : word.start()].strip()[-1:]
    after = text[word.end() : word.end() + 2].strip()[:1]
    quoted = before in {"'", '"'} and after in {"'", '"', ".", ","}
    return quoted and _COMPARES.search(text, sentence.start, sentence.end) is not None


def _label(text: str, start: int) -> list[str]:
    """Return the words that attribute an answer to somebody else: "Reference: no"."""
    label = _LABEL.search(text, max(start - _LABEL_REACH, 0), start)
    if label is None:
        return []
    words = words_of(label["name"])
    own = any(leads_up(one, _INTRODUCES) and one not in _SOMEBODYS for one in words)
    return [] if own or len(words) > _LABEL_WORDS else words


def _in_sentence(text: str, sentence: Sentence) -> list[Mention]:
    pairs = [pair.span() for pair in _PAIR.finditer(text, sentence.start, sentence.end)]
    mentions = [Mention(_BOTH, *pair, Mode.OPEN) for pair in pairs]
    paired = {i for pair in pairs for i in range(*pair)}
    for word in _PARTICLE.finditer(text, sentence.start, sentence.end):
        if (
            word.start() in paired
            or not _answers(text, word)
            or _REFUSES.match(text, word.start())
        ):
            continue
        if word["word"] == "जी" and text.startswith(" नहीं", word.end()):
            continue
        if _POLITE.match(text, word.start()) or text.startswith("p(", word.start() - 2):
            continue
        heads = not text[sentence.start : word.start()].strip(_EDGES)
        mode = manner(text, sentence, *word.span(), answers=True)
        # Patterns for "One could answer yes" and "Yes was my first thought", which assert nothing.
        passing = _SPOKEN_OF.match(text, word.end()) or not leads(text, word.start())
        label = _label(text, word.start())
        if mode is not Mode.ASKED and _is_quoted(text, word, sentence):
            mode = Mode.DENIED
        if label and mode is Mode.SAID:
            mode = Mode.RAISED if _SOMEBODYS.isdisjoint(label) else Mode.DENIED
        mode = mode.raised_if(bool(passing))
        mentions.append(Mention(_value(word["word"]), *word.span(), mode, heads))
    for clause in _CLAUSE.finditer(text, sentence.start, sentence.end):
        value = _clause(clause.group())
        mode = manner(text, sentence, *clause.span(), answers=True)
        heads = clause.start() == sentence.start
        values = [CLAUSES[said.group()] for said in _SAYINGS.finditer(clause.group())]
        said_here = values if value is None else [value]
        mentions += [Mention(one, *clause.span(), mode, heads) for one in said_here]
    return mentions
