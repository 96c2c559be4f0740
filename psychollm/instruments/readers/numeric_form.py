"""What the forms share whose answer is a number."""

import re
from abc import abstractmethod
from collections.abc import Sequence

from psychollm.instruments.readers.clauses import (
    WORD,
    Mention,
    Mode,
    Value,
    clause_before,
    leads,
    sentences,
)
from psychollm.instruments.readers.numerals import Numeral, number_alone, numerals
from psychollm.instruments.readers.verdict import Form

_EDGES = " \t\n\"'()[]{}$€£¥~≈=*.,;:!–"
_UNIT_WORDS = 3  # "5 coins", "5 of them", "7 kg in all"
_TAIL = re.compile(rf"[{WORD}°'%/]+")
_VERB = re.compile(r"(?i)\b(?:is|was|are|were|would|would've|seems?|remains?)\b")
_REASON = re.compile(
    r"(?i)[ \t]*(?:[^\W\d]+[ \t]*){0,2}(?:[,;:–-][ \t]*)?(?:\((?:(?=[^()\n]{0,80}[+×*=→])|(?:since|because|as|from|after|given|an?|the|with|for)\b)|because\b|since\b|as\b|weil\b|da\b"
    r"|parce que\b|car\b|porque\b|perché\b|omdat\b|bo\b|потому\b|çünkü\b|因为|なぜなら)"
)
_ONE = re.compile(
    r"(?i)\W*(?:exactly\s|just\s|only\s)?one(?:\s(?!of|more|half|third|quarter|moment|second|minute|way|thing|word)\w+)?\W*"
)
_JOINS = re.compile(r"(?i)\s*\(?(?:or|and|to|oder|ou|o|of|lub|или|veya|或|또는|أو|या|maybe)\b")


_STATES = re.compile(
    r"""(?ix)
    (?:^|=|\b(?:it's|that's|there's|stays?|reste|restent|waren|quedan?|is|are|was|were|be|been|has|have|had|having|equals?|makes?|making|gives?|giving|gets?|got|yields?|produces?
      |leaves?|leaving|remains?|totals?|totalling|contains?|includes?|to|of|in|with|for|need|needs|takes?|costs?
      |weighs?|measures?|earns?|pays?|spends?|runs?|travels?|lives?|scores?|won|ate|finds?|found|counted?|counts|see|obtain
      |obtains|receives?|holds?|sells?|sold|bought|ended|began|since|from|than|only|the|number|value|result|sum|p|r|x|y|n
      |shows?|ist|sind|beträgt|hat|haben|gibt|macht|ergibt|es|est|sont|fait|a|y|en|son|hay|tiene|da|è|sono|ci|fa|ha|é|são|há
      |tem|zijn|er|heeft|jest|ma|to)\s)
    \s*(?:(?:about|around|roughly|approximately|exactly|precisely|just|only|nearly|almost|some|an?|the|another|still|also
      |now|then|indeed|actually|simply|therefore|hence|estimated|rund|etwa|circa|ca|environ|unos|unas|cerca|de|di|ungefähr
      |genau|insgesamt|minus|negative|ein|eine|un|une|total|year)\s+)*\W*$
    """
)


class NumericForm(Form):
    """A number, said in digits or in words."""

    runs_on = True
    opening_decides = True
    equations = True
    shares = False
    states = False  # whether any sentence may state it (She has 5)
    leads: frozenset[str] = frozenset()  # what else leads up to a number
    off_scale_opposes = True  # whether a number that cannot be meant casts doubt on one that can

    @abstractmethod
    def value(self, one: Numeral) -> Value | None:
        """Return what a number means here, None if it is off the scale or of another kind."""

    def unclear(self, one: Numeral) -> bool:
        """Tell whether a number may be read in two ways."""
        return False

    def led_up_to(self, text: str, one: Numeral) -> bool:
        """Tell whether a clause presents a number as an answer, rather than in passing."""
        before = clause_before(text, one.start)
        return (self.states and ("=" in before or bool(_STATES.search(before)))) or leads(
            text, one.start, self.leads
        )

    def found(self, text: str) -> list[Numeral]:
        """Return the numbers of a text that may be meant."""
        return numerals(text, equations=self.equations, shares=self.shares)

    def mentions(self, text: str) -> Sequence[Mention]:
        """Return what the text says of the number, in order."""
        mentions = []
        for one in self.found(text):
            value = self.value(one)
            mode = one.mode
            if value is None and self.off_scale_opposes:
                value, mode = f"{one.value}/{one.out_of}", Mode.RAISED  # "3 to 5" of four points
            elif mode is Mode.SAID and self.unclear(one):
                mode = Mode.OPEN
            elif mode is Mode.SAID and not self.led_up_to(text, one):
                mode = Mode.RAISED
            if value is not None:
                mentions.append(Mention(value, one.start, one.end, mode, one.heads))
        return mentions

    def whole(self, text: str) -> frozenset[Value]:
        """Return the values that the text as a whole gives."""
        alone = number_alone(text)
        if alone is None and _ONE.fullmatch(text):
            alone = 1
        if alone is not None:
            return self._of_word(alone, text)
        ones = self.found(text)
        if not ones or any(one.mode is not Mode.SAID for one in ones):
            return frozenset()
        if text[: ones[0].start].strip(_EDGES) or any(self.unclear(one) for one in ones):
            return frozenset()
        values = self._values(ones)
        words = len(_TAIL.findall(text[ones[0].end :])) - (len(ones) - 1)
        if _VERB.search(text, ones[0].end):
            return frozenset()  # "0.05 was the threshold"
        return values if len(values) == 1 and words <= _UNIT_WORDS else frozenset()

    def opening(self, text: str) -> frozenset[Value]:
        """Return the values that its first sentence begins with."""
        spans = sentences(text)
        first = text[: spans[0].end] if spans else text
        ones = self.found(first)
        if not ones or not ones[0].heads or ones[0].mode is not Mode.SAID:
            return frozenset()
        if self.unclear(ones[0]) or not _REASON.match(first, ones[0].end):
            return frozenset()
        if _JOINS.match(first, ones[0].end):
            return frozenset()
        return self._values(ones[:1])

    def _values(self, ones: Sequence[Numeral]) -> frozenset[Value]:
        values = [self.value(one) for one in ones]
        if None in values:
            return frozenset()
        return frozenset(value for value in values if value is not None)

    def _of_word(self, number: int, text: str) -> frozenset[Value]:
        return self._values([Numeral(number, 0, len(text))])
