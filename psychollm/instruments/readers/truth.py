"""Clauses that call a statement or an assessed answer true or false."""

import re
from collections.abc import Sequence

from psychollm.instruments.readers.lexicon import JUDGED, REASON, TRUTH

# Adverbs that do not weaken a statement, unlike "partly".
_WHOLLY = "absolutely|definitely|certainly|clearly|completely|entirely|quite|simply|also|indeed|factually|tatsächlich|völlig"
_DISBELIEF = r"(?P<doubt>i (?:\w+ly )?(?:doubt|(?:don't|do not) (?:think|believe))(?: that)? )?"


REASON_AFTER = re.compile(
    rf"\s(?!as (?:in)?(?:correct|accurate)|as (?:right|wrong|false|true))(?:{REASON}|for|denn|want|bo|так как|لأن\w*|و(?=مطابق|تطابق)\w*|क्योंकि)(?!\w)(?! (?:follows|as)\b)"
)
# Words within a judgement that do not change it.
_LEAVES = re.compile(
    r"(?<!\w)(?:leider|trotzdem|dennoch|pourtant|sin embargo|tuttavia|mesmo assim|toch|hier|also|daher|deshalb|somit|folglich|eindeutig|klar|offensichtlich|insgesamt|inhaltlich|jedoch|donc|bien|clairement|manifestement|malheureusement|bel et bien|por (?:lo )?tanto|claramente|lamentablemente|desafortunadamente|quindi|dunque|purtroppo|chiaramente"
    r"|portanto|infelizmente|dus|helaas|duidelijk|więc|zatem|niestety|wyraźnie|поэтому|следовательно|к сожалению|явно|bu nedenle|bu yüzden|dolayısıyla|maalesef|açıkça|kesinlikle|therefore|thus|hence|then|however|unfortunately|sadly|plainly|ultimately|still|fully|in fact|of course|overall|nonetheless|nevertheless|لذلك|إذن|इसलिए|अतः)\s"
)
TRUTH_LEAD = re.compile(
    r"(?:so|and|but|therefore|thus|hence|overall|i (?:think|believe|would say|conclude)|i'd say|in short|ich glaube|je pense|creo|also|deshalb|daher|donc|por (?:lo )?tanto|quindi|dunque|portanto|dus|więc|zatem|следовательно|значит|поэтому|dolayısıyla)(?: that| que)?\s|(?:所以|因此|故|したがって|よって|따라서)\s?"
)


def _truths(*, bare: bool) -> tuple[re.Pattern[str], ...]:
    """Return patterns of clauses that call a statement true or false, by language."""
    patterns = []
    for language, (others, copula, denial, true, false) in TRUTH.items():
        gap = r"\s?" if others >= "\u3000" else r"\s"
        no = rf"(?:{denial})" if denial else "(?!)"
        patterns.append(
            re.compile(
                rf"{_DISBELIEF}(?:(?P<judged>{JUDGED[language]}){gap}|(?:{others}){gap}?){'?' if bare else ''}(?P<not>{no}{gap})?(?:(?:{copula or '(?!)'}){gap}?)?"
                rf"(?P<not_>{no}\s?)?(?:(?:{_WHOLLY})\s)*(?P<not__>{no}\s?)?(?:(?P<true>{true})|(?P<false>{false}))(?P<after>\s{no})?"
            )
        )
    return tuple(patterns)


TRUTH_CLAUSES, TRUTH_ALONE = _truths(bare=False), _truths(bare=True)


def truth_of(clause: str, patterns: Sequence[re.Pattern[str]]) -> int | None:
    """Return the truth value that a clause asserts; None if it is absent or negated twice."""
    clause = _LEAVES.sub("", clause)
    for pattern in patterns:
        said = pattern.fullmatch(clause)
        if said is not None:
            denials = sum(bool(said[name]) for name in ("doubt", "not", "not_", "not__", "after"))
            if denials + bool(said["false"]) > 1:
                twice = said["judged"] and not (said["doubt"] or said["after"])
                return 1 if denials == 1 and twice else None
            return int(not denials and bool(said["true"]))
    return None


# The patterns match an answer that a judge names as correct, and words next to the assessed
# answer.
SHOULD_BE = re.compile(
    r"(?i)(?:\b(?:correct|right|reference|expected|actual|true) answer|richtige antwort|richtig wäre|réponse (?:correcte|attendue)|bonne réponse|respuesta (?:correcta|esperada)|risposta (?:corretta|giusta|attesa)|resposta (?:correta|certa|esperada)"
    r"|(?:juiste|correcte) antwoord|правильный ответ|верный ответ|(?:poprawna|prawidłowa) odpowiedź|doğru cevap|正确答案|正解は|정답은|सही उत्तर|الإجابة الصحيحة)[^.,;\n]*"
)
APPOSITION = re.compile(
    r"(?i)(\b(?:candidate|student|model|user)(?:'s)? (?:final )?(?:answer|response)|\b(?:antwort|réponse|respuesta|risposta|resposta|antwoord|odpowiedź)(?: (?:de|des|der|du|del|della|do|da|van de) \w+)?)"
    r"(?:, [^,.;\n]{1,40},|\s?\"[^\"\n]{1,60}\",?|\s?\([^()\n]{1,60}\))(?=\s(?:is|was|ist|est|n'est|es|no es|è|non è|é|não é|está|jest)\s)"
)


# Words at the start of a reply that are a verdict without a concession ("true, ...").
_JUDGES = re.compile(
    r"(?:(?:the )?answer |(?:die )?antwort |(?:la )?(?:réponse|respuesta|risposta) |(?:a )?resposta |(?:het )?antwoord |(?:odpowiedź|ответ) )?(?:(?P<yes>correcte?|верно|правильно|poprawn[ea]|juist|korrekt|correct[oa]|corrett[oa]|corret[oa])|incorrecte?|wrong|false|inkorrekt|falsch|faux|fausse|incorrect[oa]|fals[oa]|scorrett[oa]|sbagliat[oa]|errat[oa]|incorret[oa]|errad[oa]"
    r"|not (?:correct|right)|doğru değil(?:dir)?|yanlış|no coinciden?|stimmt nicht überein|ne correspond(?:ent)? pas|non (?:coincid(?:e|ono)|corrispond(?:e|ono))|não (?:coincide|corresponde)m?|komt niet overeen|не совпада[ею]т|onjuist|fout|неверно|неправильно|niepoprawn[ea]|błędn[ea])"
)
_EXPLAINS = re.compile(
    r"\s?[–:;]\s|,\s(?:the|its?|his|her|this|these|those|both|he|she|le|la|les|l'|il|elle|el|los|las|lo|gli|der|die|das|de|het|ответ|кандидат|both|they|it (?:was|is|should)|the (?:reference|candidate|student|answer|response|correct|right|two|expected)|i'm afraid|beide|gesucht|(?:der|die) kandidat\w*|le candidat|el candidato|il candidato|o candidato|de kandidaat|richtig (?:wäre|ist|war)|les deux|la bonne réponse"
    r"|il fallait|ambos|ambas|la respuesta correcta|entramb[ei]|la risposta corretta|as duas|os dois|a resposta correta|оба|обе|правильный)(?!\w)"
)
_CONCEDES = re.compile(
    r"(?<!\w)(?:maybe|perhaps|partly|partially|in part|seems?|vielleicht|but|however|though|although|yet|still|except|if|unless|says?|said|aber|jedoch|obwohl|wenn|mais|sauf|si|pero|aunque|ma|se|mas|maar|als|но|однако|если|ale|according|until)(?!\w)|^[,:–\s]*(?:that|dass|que|che|что|że|dat)(?!\w)"
)
_DENIES = re.compile(
    r"n't(?!\w)|(?<!\w)(?:not|no|never|neither|nor|nicht|kein\w*|ne|pas|non|não|nem|niet|geen|не|nie)(?!\w)"
)


def opens(words: str, rest: str) -> int | None:
    """Return the verdict of a reply's first words; None if a concession follows."""
    judges = _JUDGES.fullmatch(words) if _EXPLAINS.match(rest) else None
    if judges is None or _CONCEDES.search(rest) or (judges["yes"] and _DENIES.search(rest)):
        return None
    return int(judges["yes"] is not None)
