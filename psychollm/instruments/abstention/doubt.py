"""Words by which a text doubts, and by which an answer leaves a question unanswered.

Both are lists of plain patterns, so that what was found can be shown. They are for English.
"""

import re
from collections.abc import Iterator

from psychollm.instruments.grading import abstains
from psychollm.instruments.readers.sentences import sentences

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
