"""Words by which categories are known: the rules, for anybody to read.

Each cue has a name, so that every code can be traced to the words it rests on. A strong cue names
the behaviour; a weak one goes along with it. A cue that can be denied ("no need to check") does
not count where its clause denies it. The lists are for English.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from psychollm.instruments.readers.clauses import clause_before, denied

_NEEDLESS = re.compile(r"(?i)\b(?:no (?:need|reason|point|use)|without|needless|unnecessary)\b")


@dataclass(frozen=True, slots=True)
class Cue:
    """Words that speak for a category."""

    name: str
    pattern: re.Pattern[str]
    strong: bool = False
    deniable: bool = False

    def places(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Return where it stands between two places of a text, denials left out."""
        found = (match.span() for match in self.pattern.finditer(text, start, end))
        return [span for span in found if not (self.deniable and _idle(text, span[0]))]


def _cue(name: str, pattern: str, *, strong: bool = False, deniable: bool = False) -> Cue:
    return Cue(name, re.compile(rf"(?i)\b(?:{pattern})"), strong, deniable)


def _idle(text: str, place: int) -> bool:
    before = clause_before(text, place)
    return denied(text, place) or _NEEDLESS.search(before) is not None


_I = r"(?:i|we)"
_ME = r"(?:let me|let's|let us|i'll|i will|we'll|i should|i need to|i must|we should|we need to)"

LEXICON: Mapping[str, tuple[Cue, ...]] = {
    "self_awareness": (
        _cue(
            "own doubt",
            rf"{_I}(?:'m| am| are)? (?:\w+ )?(?:not (?:\w+ )?|un)(?:sure|certain)",
            strong=True,
        ),
        _cue(
            "own ignorance",
            rf"{_I} (?:do not|don't|can't|cannot) (?:\w+ )?(?:know|recall|remember|tell)",
            strong=True,
        ),
        _cue(
            "own confusion",
            r"(?:i'm|i am|this is|that's) (?:\w+ )?confus(?:ed|ing)|i may be "
            r"(?:wrong|mistaken|confusing|misremembering)|i might be (?:wrong|"
            r"mistaken|confusing|misremembering)|i could be (?:wrong|mistaken)",
            strong=True,
        ),
        _cue(
            "own error",
            rf"{_I} (?:\w+ )?(?:made an? (?:\w+ )?(?:mistake|error|slip)|misread|"
            r"misunderstood|overlooked|forgot)|my (?:mistake|error|bad)\b",
            strong=True,
        ),
        _cue(
            "own certainty",
            r"i(?:'m| am) (?:\w+ )?(?:sure|certain|confident)|with (?:high |low "
            r")?confidence|my (?:un)?certainty|my confidence",
        ),
        _cue(
            "own memory",
            rf"(?:if {_I} (?:recall|remember)|as far as {_I} (?:know|recall)|from memory|"
            r"to my knowledge|i (?:vaguely )?(?:recall|remember))",
        ),
        _cue(
            "guess",
            r"i guess|my guess|just guessing|a guess\b|i think\b|i believe\b",
        ),
    ),
    "context_awareness": (
        _cue(
            "what is asked",
            r"(?:the |this )?(?:question|problem|task|prompt|user) (?:\w+ )?(?:asks|"
            r"is asking|wants|says|states|requires|expects)",
            strong=True,
        ),
        _cue(
            "what is given",
            r"(?:we are|we're|i am|i'm) (?:given|told|asked)|it is given|the "
            r"givens?\b|given (?:that|the)\b|according to the (?:question|problem|"
            r"text|rules?)",
        ),
        _cue(
            "conditions",
            r"the (?:constraint|condition|requirement|restriction|format|"
            r"wording)s?\b|subject to\b|in this (?:context|setting|situation|case)\b",
        ),
        _cue(
            "reading the task",
            r"(?:re-?read|reading) the (?:question|problem|task|prompt|statement)|"
            r"the answer (?:should|must|has to) be (?:in|a|an|given)",
            strong=True,
        ),
        _cue(
            "what is missing",
            r"not (?:specified|stated|given|mentioned) (?:in|by|here)|the "
            r"(?:question|problem|text) (?:does not|doesn't) (?:say|specify|state|"
            r"mention)",
        ),
    ),
    "strategy_selection": (
        _cue(
            "another way",
            r"(?:another|a different|an alternative|a better|a simpler|one) (?:way|"
            r"approach|method|strategy|route|idea)\b|alternatively\b",
            strong=True,
        ),
        _cue(
            "change of course",
            r"(?:instead of|rather than) (?:\w+ing|this|that)\b|(?:that|this) "
            r"(?:approach|method|way) (?:is not|isn't|does not|doesn't|won't) \w+|"
            r"let(?:'s| me) (?:try|switch|change|start over|go back|backtrack)",
            strong=True,
        ),
        _cue(
            "choice of method",
            rf"{_ME} (?:use|apply|try|work|proceed|solve|break|consider using)\b|(?:we|"
            r"i) (?:can|could) (?:use|apply|solve|work backwards?)\b",
        ),
        _cue(
            "named method",
            r"work(?:ing)? backwards?|by (?:contradiction|induction|elimination|"
            r"substitution|cases|analogy)|case by case|trial and error|brute force|"
            r"rule of thumb",
            strong=True,
        ),
        _cue(
            "ease",
            r"(?:it is|it's|would be|might be) (?:\w+ )?(?:easier|simpler|faster|"
            r"quicker|better) to\b",
        ),
    ),
    "goal_management": (
        _cue(
            "goal",
            r"(?:my|our|the) (?:\w+ )?(?:goal|aim|objective|target)\b|(?:sub-?goal|"
            r"sub-?task)s?\b",
            strong=True,
        ),
        _cue(
            "what is to be found",
            rf"{_I} (?:need|want|have|must) to (?:find|determine|compute|show|figure|"
            r"work out|know)\b|what (?:we|i) (?:need|want|are after)\b",
        ),
        _cue(
            "plan",
            r"(?:my|the|a) plan (?:is|:)|step by step\b|(?:the )?next step\b|before "
            r"(?:i|we) (?:do|go|move|continue|start)\b|first,? (?:i|we|"
            r"let)\b.{0,120}\b(?:then|next|after that)\b",
            strong=True,
        ),
        _cue(
            "order",
            r"(?:first(?:ly)?|second(?:ly)?|third(?:ly)?|next|then|finally),|step "
            r"[0-9]+\b",
        ),
        _cue(
            "progress",
            r"so far\b|(?:what|all) (?:is|that) remains\b|remaining (?:step|part)s?|"
            r"back to the (?:question|problem|main|original|task)|now that (?:i|we) "
            r"(?:have|know)|where (?:was|were|am|are) (?:i|we)\b",
        ),
    ),
    "evaluation": (
        _cue(
            "check",
            r"(?:double[- ]?check|re-?check|verify|verif(?:ies|ied|ying|ication)|"
            r"sanity check|cross[- ]?check|proofread)\w*",
            strong=True,
            deniable=True,
        ),
        _cue(
            "check as a verb",
            rf"(?:{_ME}|to|and|now) (?:\w+ )?(?:check|confirm|test|validate|review|make "
            r"sure|see (?:if|whether))\b",
            strong=True,
            deniable=True,
        ),
        _cue(
            "correction",
            r"wait\b|hold on\b|(?:that|this|it) (?:is not|isn't|can't be|cannot be|"
            r"seems|looks|is) (?:\w+ )?(?:right|wrong|correct|incorrect|off)\b|on "
            r"second thought",
            strong=True,
        ),
        _cue(
            "judgement",
            r"(?:makes?|does that make|doesn't make|does not make) sense|plausible|"
            r"reasonable|(?:too|far too) (?:large|small|high|low|big|simple)\b|"
            r"consistent with|contradict\w*|as expected\b",
        ),
        _cue(
            "assurance",
            r"(?:which|that|this|it) (?:matches|agrees|works|holds|fits)\b|indeed\b",
        ),
    ),
    "logical_dependencies": (
        _cue(
            "rests on",
            r"(?:rests|hinges|relies|depends) (?:up)?on (?:\w+ ){0,4}?(?:assum|"
            r"premise|claim|step|whether|the fact|being)",
            strong=True,
        ),
        _cue(
            "falls with",
            r"if (?:that|this|it|the \w+) (?:is|were|turns out(?: to be)?|was) "
            r"(?:\w+ )?(?:false|wrong|not true|mistaken|incorrect)",
            strong=True,
        ),
        _cue(
            "follows",
            r"(?:it |this |that |which )?follows (?:from|that)|only (?:holds|works|"
            r"true) (?:if|when|because)|necessary (?:condition|for)|sufficient "
            r"(?:condition|for)|presuppose\w*",
        ),
    ),
    "cruxes": (
        _cue(
            "crux",
            r"crux\w*|(?:the|a) (?:key|decisive|critical|central) (?:question|"
            r"uncertainty|issue|consideration|point) (?:is|here)",
            strong=True,
        ),
        _cue(
            "change of mind",
            r"(?:would|could|might) (?:\w+ )?(?:change|shift|alter) (?:my|the) "
            r"(?:\w+ )?(?:mind|view|conclusion|answer|opinion)|what would "
            r"(?:convince|persuade)",
            strong=True,
        ),
        _cue(
            "comes down to",
            r"(?:comes|boils) down to\b|turns on whether\b",
        ),
    ),
    "assume_or_argue": (
        _cue(
            "said assumption",
            r"(?:i am|i'm|we are|we're|this is) (?:\w+ )?(?:assuming|an assumption|"
            r"taking (?:it|this|that) (?:for granted|as given))|for the sake of "
            r"(?:the )?argument|without (?:proof|argument|justification)|taken for "
            r"granted",
            strong=True,
        ),
        _cue(
            "assumption",
            r"(?:let's |let us |let me )?(?:assum(?:e|es|ed|ing|ption|ptions)|"
            r"suppos(?:e|ing)|presum(?:e|ably|ing))\b",
        ),
        _cue(
            "told apart",
            r"(?:have|has)(?: not|n't) (?:\w+ )?(?:shown|argued|proved|proven|"
            r"established|justified)|need(?:s|ed)? (?:an? )?(?:argument|"
            r"justification|proof)\b",
            strong=True,
        ),
    ),
    "motivated_reasoning": (
        _cue(
            "own wish",
            r"(?:i|we) (?:\w+ )?(?:want|would like|wish|hope) (?:it|this|that) to "
            r"be (?:true|right|the case)|wishful|too good to be true|"
            r"convenient(?:ly)?\b",
            strong=True,
        ),
        _cue(
            "bias",
            r"(?:confirmation |my (?:own )?|motivated )bias\w*|biased (?:toward|"
            r"towards|in favou?r)|rationali[sz](?:e|es|ing|ation)\w*|motivated "
            r"reasoning",
            strong=True,
        ),
        _cue(
            "pleasing",
            r"(?:just|only|merely) (?:agreeing|pleasing|telling|saying what)|"
            r"because the user (?:wants|said|thinks|believes)",
            strong=True,
        ),
    ),
    "steelman": (
        _cue(
            "steelman",
            r"steel-?man\w*|(?:the )?(?:strongest|best) (?:case|argument|objection|"
            r"version|counter-?argument)",
            strong=True,
        ),
        _cue(
            "other side",
            r"(?:one|someone|a critic|an opponent|a sceptic|a skeptic) (?:could|"
            r"might|would|may) (?:\w+ )?(?:argue|object|say|reply)|devil's advocate|"
            r"in (?:its|their|his|her) (?:defen[cs]e|favou?r)|to be fair\b",
            strong=True,
        ),
        _cue(
            "on the other hand",
            r"on the other hand\b|counter-?argument\w*|counter-?example\w*",
        ),
    ),
}
