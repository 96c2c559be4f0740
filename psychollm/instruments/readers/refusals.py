"""Detect whether a reply declines to answer, for example because the model does not know."""

import re
from functools import cache

from psychollm.instruments.readers.clauses import WORD

_VERBS = (
    "answer|help|assist|provide|give|say|tell|determine|rate|choose|pick|select|assign|assess"
    "|respond|comply|have|predict|compute|calculate|decide|judge|evaluate|share|do that|do this"
    "|discuss|offer|state|estimate|express|engage|fulfill|fulfil|complete|know|continue|recall|quantify|specify|gauge"
)
_ENGLISH = rf"""
    \b(?:can(?:not|'t|\ not|t)|could(?:\ not|n't)|(?:am|'m|are)\ (?:unable|not\ able)\ to
       |unable\ to|not\ able\ to)\ (?:really\ |possibly\ |directly\ |accurately\ )?(?:{_VERBS})\b
       (?!\ (?:"|')?(?:yes|no)\b)
  | \bi\ (?:won't|will\ not|refuse|decline|prefer\ not|(?:would|'d)\ prefer\ not
       |would\ rather\ not|do(?:\ not|n't)\ (?:wish|want)\ to)\b
  | \bi'd\ (?:rather|prefer)\ not\b
  | \bas\ an?\ (?:ai|artificial|language|large\ language|llm|assistant|machine)\b
       [^.!?\n]{{0,80}}?\b(?:can(?:not|'t)|do(?:\ not|n't)\ (?:have|possess|hold|experience)
       |am\ not|'m\ not|am\ unable)\b
  | \b(?:do\ not|don't|dont)\ know\b
  | \b(?:have\ )?no\ idea\b | \bno\ comment\b
  | \b(?:can(?:not|'t|\ not)|could\ not|couldn't)\ be\ (?:determined|answered|known|computed
       |calculated|established|inferred|derived|decided|ascertained|resolved|solved)\b
  | \bimpossible\ to\ (?:say|determine|answer|know|tell|compute|calculate|decide|judge)\b
  | (?:\bnot\ enough|n't\ enough|\b(?:insufficient|lack(?:s|ing)?(?:\ of)?|need\ more|without\ more))\s
       (?:sufficient\ |enough\ )?(?:information|context|data|details?|evidence)\b
  | \b(?:do(?:\ not|n't)|without)\ (?:currently\ )?hav(?:e|ing)\ (?:any\ |direct\ |real-time\ |the\ |that\ )*(?:access|data|information|figures?|numbers?|statistics|records?)\b
  | \bmy\ (?:knowledge|training(?:\ data)?|data|information)\ (?:cut-?off|ends?|ended|stops?|only\ goes|goes|was|is|does)\b
  | \b(?:does\ not|doesn't)\ apply\ to\ me\b
  | \b(?:passage|text|context|document|article|excerpt|paragraph|source|question)\ (?:does\ not|doesn't|never)\ (?:\w+ly\ )?
       (?:mentions?|says?|states?|specif(?:y|ies)|provides?|contains?|gives?|tells?|indicates?|includes?)\b
  | \bso\ i\ (?:cannot|can't)\s*[.!]?$
  | ^\W*(?:unknown|unanswerable|undetermined|indeterminate|not\ applicable|n/?a|n\.a\.
       |not\ determinable|undeterminable|undecidable)\W*$
"""
# Statements such as "the element N is not known" may be facts. They count as refusals if the
# requested answer is a number or an option, but not if it is in words.
_OPEN = r"""
    \b(?:is|are|remains?|was|were)\ (?:currently\ |still\ )?(?:unknown|not\ (?:known|available|stated|given|specified|mentioned|publicly)|unavailable|unclear)\b
  | \bnot\ possible\ to\ (?:say|determine|answer|know|tell|compute|calculate|decide|judge)\b
"""
_OTHERS = (
    # German, French, Spanish, Italian, Portuguese, Dutch
    r"keine (?:ahnung|informationen|angaben?)|nicht (?:genug|genügend) (?:information|angaben|daten)\w*|nicht (?:bekannt|angegeben|möglich zu)",
    r"aucune (?:idée|information)|(?:pas|n'est pas) (?:assez|suffisamment) d'information\w*|n'est pas (?:précisée?|mentionnée?|indiquée?|possible de)",
    r"ni idea|no tengo (?:ni )?idea|no hay (?:suficientes? )?(?:información|datos)|no se (?:menciona|indica|especifica)",
    r"non (?:ne )?ho idea|nessuna idea|non (?:è|viene) (?:specificato|indicato|menzionato|possibile)|non ci sono (?:abbastanza )?informazioni",
    r"(?:não faço|nenhuma) ideia|não (?:há|tenho) informaç\w+|não é (?:mencionad[oa]|especificad[oa]|possível)",
    r"geen (?:idee|informatie)|niet (?:genoeg|voldoende) informatie|wordt niet (?:vermeld|genoemd)",
    r"nie mam pojęcia|brak (?:informacji|danych)|понятия не имею|недостаточно (?:данных|информации)|нет (?:данных|информации)|невозможно (?:определить|сказать|ответить)",
    r"(?:hiçbir )?fikrim yok|bilinmiyor|(?:yeterli )?bilgi yok",
    r"wei(?:ß|ss) (?:ich )?(?:es |das )?nicht|keine[nr]? (?:blassen )?schimmer|je n'en sais rien|sem ideia|chi(?: lo)? sa(?!\w)|qui(?:én)? sa(?:be|it)(?!\w)|кто знает|who knows",
    r"^\W*(?:unbekannt|inconnue?|desconocid[oa]|se desconoce|sconosciut[oa]|ignoto|desconhecid[oa]|onbekend|nieznan\w+|nie wiadomo|неизвестн\w+|bilinmiyor|غير معروف|अज्ञात)\W*$",
    r"kann (?:ich )?(?:\w{1,12} ){0,3}nicht (?:\w{1,12} )?(?:beantworten|sagen|bewerten|helfen"
    r"|beurteilen|bestimmen|wissen)",
    r"je (?:ne )?sais pas",
    r"je ne (?:peux|puis) pas",
    r"no (?:lo )?s[eé](?![\w])",
    r"no puedo (?:responder|contestar|ayudar|decir|determinar|evaluar|proporcionar)",
    r"no (?:es posible|se puede) (?:determinar|saber|responder)",
    r"non (?:lo )?so(?![\w])",
    r"non posso (?:rispondere|dirlo|aiutare|determinare|valutare)",
    r"n[ãa]o (?:o )?sei(?![\w])",
    r"n[ãa]o (?:posso|consigo) (?:responder|ajudar|dizer|determinar|avaliar)",
    r"weet (?:ik )?(?:het |dat )?niet",
    r"kan (?:ik )?(?:\w{1,12} ){0,3}niet (?:beantwoorden|zeggen|helpen|beoordelen|bepalen)",
    # Polish, Russian, Turkish
    r"nie wiem",
    r"nie mogę (?:odpowiedzieć|pomóc|powiedzieć|ocenić)",
    r"не знаю",
    r"не могу (?:ответить|помочь|сказать|оценить|определить)",
    r"bilmiyorum",
    r"(?:cevap|yanıt) veremem|cevaplayamam|yanıtlayamam",
)
_UNSPACED = (
    # Chinese, Japanese, Korean
    "不知道|不清楚|无法回答|无法确定|无法判断|不能回答|无法提供|不確定|無法回答|信息不足|没有(?:足够|提到|提及)|(?:判断|判定|回答|評価|断定|決定)(?:は|が|も|を)?(?:でき|つき|つか)(?:ません|ない)|未提[及到]|不得而知|不确定|不明|不详|未知",
    "わかりません|分かりません|知りません|わからない|分からない|不明|お答えできません|答えられません|判断できません|回答できません|情報が(?:不足|ありません)|記載(?:されて|が)",
    "모르겠|모릅니다|몰라요|모름|(?:답변|판단|판정|평가|결정) ?할 수(?:는|가)? ?없|대답할 수 없|알 수 없|정보가 (?:부족|없)",
    # Arabic, Hindi
    "لا أعرف|لا أعلم|لا أدري|لا أستطيع الإجابة|لا يمكنني الإجابة|لا يمكن تحديد|لا توجد معلومات|لا تتوفر",
    "नहीं पता|पता नहीं|नहीं जानता|नहीं जानती|उत्तर नहीं दे सकत|जवाब नहीं दे सकत|जानकारी नहीं|ज्ञात नहीं|मालूम नहीं",
)


@cache
def _saying(*, in_words: bool, plain: bool) -> re.Pattern[str]:
    """Return a pattern for refusals in lower case; a faster pattern is used for ASCII text."""
    others = "|".join(_OTHERS)
    if plain:  # in ASCII text, phrases with other characters never match
        others = re.sub(r"[^\x00-\x7f]", "\0", others)
    said = [f"(?x:{_ENGLISH})", rf"(?<![{WORD}])(?:{others})"]
    said += [] if in_words else [f"(?x:{_OPEN})"]
    return re.compile("|".join(said + ([] if plain else [*_UNSPACED])))


def declines(text: str, *, in_words: bool = False) -> bool:
    """Return whether a text declines to answer, in any of fifteen languages."""
    pattern = _saying(in_words=in_words, plain=text.isascii())
    return pattern.search(text.lower()) is not None


_APOLOGY = re.compile(
    r"(?i)(?<!\w)(?:(?:i'm|i am) (?:so |very |really )?(?:sorry|afraid)|unfortunately|regrettably|apologi[sz]e|apologies|es tut mir leid|entschuldigung|désolée?|lo siento|lo lamento|mi dispiace|desculpe|sinto muito|het spijt me|przykro mi|przepraszam|извините|к сожалению|leider|malheureusement"
    r"|lamentablemente|desafortunadamente|purtroppo|infelizmente|helaas|niestety|maalesef|üzgünüm)(?!\w)|抱歉|对不起|很遗憾|申し訳|すみません|残念|죄송|미안|유감|क्षमा करें|माफ़|खेद|عذرا|آسف"
)


def apologises(text: str) -> bool:
    """Return whether a text apologises, for languages whose list of refusals is incomplete."""
    return _APOLOGY.search(text) is not None
