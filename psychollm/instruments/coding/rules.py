"""Coding by rules: each sentence is searched for the cues of each category.

A category is 2 where a strong cue stands or at least two sentences hold a cue of it, 1 where one
sentence holds a weak one, 0 where none does. One span per sentence and category is kept: the first
strong cue, or else the first.
"""

from psychollm._base.errors import InputError
from psychollm.instruments.coding.lexicon import LEXICON, Cue
from psychollm.instruments.coding.schemes import Scheme, SchemeName, as_scheme
from psychollm.instruments.coding.spans import Coded, Span, n_words
from psychollm.instruments.readers.sentences import Sentence, sentences

_PLENTY = 2  # sentences with a weak cue that count as much as one with a strong cue


def code_by_rules(text: str, scheme: SchemeName | Scheme = "five") -> Coded:
    """Code a trace by the lexicon, which must hold the categories of the scheme."""
    names = as_scheme(scheme).names
    unknown = [name for name in names if name not in LEXICON]
    if unknown:
        msg = f"category {unknown[0]!r} has no cues in the lexicon: leave its coding to a judge"
        raise InputError(msg)
    text = text.replace("’", "'")
    spans: list[Span] = []
    codes: dict[str, int | None] = {}
    known = sentences(text)
    for name in names:
        found = [_cue_in(text, one, LEXICON[name]) for one in known]
        held = [one for one in found if one is not None]
        strong = any(cue.strong for cue, _, _ in held)
        codes[name] = 2 if strong or len(held) >= _PLENTY else min(len(held), 1)
        spans += [Span(name, start, end, text[start:end], cue.name) for cue, start, end in held]
    ordered = tuple(sorted(spans, key=lambda span: (span.start, span.category)))
    return Coded(codes=codes, spans=ordered, words=n_words(text))


def _cue_in(text: str, sentence: Sentence, cues: tuple[Cue, ...]) -> tuple[Cue, int, int] | None:
    """Return the first strong cue of a sentence, or else its first, and where it stands."""
    found = [
        (not cue.strong, start, end, cue)
        for cue in cues
        for start, end in cue.places(text, sentence.start, sentence.end)[:1]
    ]
    if not found:
        return None
    _, start, end, cue = min(found, key=lambda one: one[:2])
    return cue, start, end
