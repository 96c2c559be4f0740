"""The words for yes and no, by the weight that they can bear.

`PARTICLES` answer wherever they stand as a clause of their own or open one. `CLAUSES` answer as a
clause of their own. `WHOLE` answers only where nothing else is said: as an opening they may be
politeness ("Sure! Here is ...").
"""

_YES_PARTICLES = """
yes yeah yep yup yea aye ja jawohl jep oui ouais sí sì sim tak да evet jo kyllä ano igen ναι так
có ya כן はい ええ うん 是的 是 能 可以 会 對 对 好的 네 예 넵 نعم أجل हाँ हां जी
"""
_NO_PARTICLES = """
no nope nah nay nein nö nee non não nao nie нет hayır hayir nej nei ei nem όχι ні không tidak לא
いいえ いや いえ 不是 否 不 不能 不可以 不会 不對 不对 아니요 아니오 아뇨 아니 لا كلا नहीं नही
"""
_YES_CLAUSES = """
i think so|i believe so|i do think so|i guess so|i suppose so|i would think so|hell yes|of course i can
|affirmative|i would say so|i'd say so|ich denke schon|ich glaube schon|ich denke ja|je crois que oui|je pense que oui|creo que sí
|claro que sí|por supuesto que sí|desde luego que sí|credo di sì|penso di sì|acho que sim|creio que sim|claro que sim|ik denk van wel
|ik denk het wel|думаю, да|jī hā̃|जी हाँ|जी हां|我认为是|我觉得是|我认为能|我觉得能|我能|我可以|我会|できます
|そうです|はいです|할 수 있습니다|그렇습니다|نعم أستطيع|أستطيع
"""
_NO_CLAUSES = """
i don't think so|i dont think so|i do not think so|i don't believe so|i do not believe so|i doubt it
|i doubt so|absolutely not|definitely not|certainly not|of course not|probably not|surely not
|not at all|not really|no way|by no means|not a chance|no chance|hell no|most certainly not|i think not|i'm afraid not
|negative|i would not say so|i wouldn't say so|i would say not|i'd say not|auf keinen fall|ich glaube nicht|ich denke nicht|eher nicht|natürlich nicht
|wahrscheinlich nicht|absolument pas|pas du tout|bien sûr que non|je ne pense pas|je ne crois pas
|je pense que non|je crois que non|para nada|creo que no|no lo creo|no creo|claro que no|de ninguna manera|credo di no
|penso di no|non credo|non penso|assolutamente no|per niente|acho que não|de jeito nenhum|claro que não
|ik denk het niet|ik denk van niet|absoluut niet|zeker niet|nie sądzę|raczej nie|chyba nie
|не думаю|конечно нет|вряд ли|hiç sanmıyorum|sanmıyorum|जी नहीं|我认为不是|我觉得不是|我认为不能|我觉得不能
|我不能|我不会|我不可以|できません|違います|할 수 없습니다|아닙니다|لا أستطيع|لا أظن|لا أعتقد|لا أعتقد ذلك|لا أظن ذلك|por supuesto que no|desde luego que no
"""
_YES_WHOLE = """
y|true|correct|that's correct|that is correct|that's right|that is right|that's true|that is true|right|exactly|yes indeed|it's true|it is true
|das stimmt|stimmt|richtig|das ist richtig|genau|c'est exact|c'est vrai|exact|c'est correct|correcto|así es|es correcto|es cierto
|corretto|esatto|è vero|è corretto|correto|isso mesmo|está correto|exato|klopt|dat klopt|juist|верно|правильно|так и есть
|正确|对的|没错|その通りです|正しいです|صحيح|هذا صحيح|सही|सही है|यह सही है|sure|sure thing|absolutely|definitely|certainly|of course|most certainly|most definitely
|without a doubt|without doubt|no doubt|undoubtedly|indeed|you bet|ok|okay|i can|i do|i am|i could
|i will|i would|it is|it does|they are|uh-huh|natürlich|klar|sicher|selbstverständlich|bien sûr
|certainement|évidemment|d'accord|si|por supuesto|claro|desde luego|certo|certamente|naturalmente
|com certeza|certamente|zeker|natuurlijk|uiteraard|oczywiście|pewnie|конечно|разумеется|tabii|tabii ki
|elbette|kesinlikle|当然|當然|肯定的|肯定|もちろん|もちろんです|물론|물론입니다|물론이죠|بالتأكيد|بالطبع|طبعا
|बिल्कुल|ज़रूर|हाँ जी|👍|✅|✔|✓|☑|👌|💯
"""
_NO_WHOLE = """
n|false|incorrect|that's incorrect|that is incorrect|that's wrong|that is wrong|that's false|that is false|wrong
|that's not right|that is not right|that's not true|that is not true|that's not correct|that is not correct|it's false
|das stimmt nicht|stimmt nicht|falsch|das ist falsch|c'est faux|faux|incorrecto|es falso|falso|è falso|sbagliato|incorreto
|está errado|fout|dat klopt niet|onjuist|неверно|неправильно|это не так|不正确|不对|错|错误|違う|間違いです|خطأ|هذا خطأ|गलत|यह गलत है|i can't|i cannot|i cant|i can not|i couldn't|i don't|i do not|i'm not|i am not|i won't
|i will not|i wouldn't|it isn't|it is not|it doesn't|it does not|they aren't|uh-uh|nuh-uh
|否定的|没有|无|無|無理です|👎|❌|✗|✘|✖|🚫
"""
# Both in one word.
_BOTH = "jein|ja-nein|да нет|是或否|是否|是与否|能或不能|はいといいえ|はいかいいえ"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split("|") if one.strip())


PARTICLES: dict[str, int] = {
    **dict.fromkeys(_words(_YES_PARTICLES), 1),
    **dict.fromkeys(_words(_NO_PARTICLES), 0),
}
CLAUSES: dict[str, int] = {
    **dict.fromkeys(_phrases(_YES_CLAUSES), 1),
    **dict.fromkeys(_phrases(_NO_CLAUSES), 0),
}
WHOLE: dict[str, frozenset[int]] = {
    **dict.fromkeys(_phrases(_YES_WHOLE), frozenset({1})),
    **dict.fromkeys(_phrases(_NO_WHOLE), frozenset({0})),
    **dict.fromkeys(_phrases(_BOTH), frozenset({0, 1})),
}

# What joins two answers without adding to either.
JOINS: frozenset[str] = frozenset(
    _words("and or both also und oder et ou y o e en of i и или hem ve veya 또는 और या و أو &")
)

# "Can you answer this?" is answered as well by whole sentences; to other questions the same
# sentences may be refusals, so that a reader is told when they count.
CAN_ANSWER: tuple[str, ...] = _phrases(
    "i can answer|i could answer|i can correctly answer|i can confidently answer|i can provide"
    "|i am able to answer|i'm able to answer|i will be able to answer|i'll be able to answer"
    "|i would be able to answer|i should be able to answer|i will answer|i would answer"
    "|i know the answer|i do know the answer|i know this|i am confident|i'm confident"
    "|i am certain|i'm certain|i am sure|i'm sure|able to answer this"
)
CANNOT_ANSWER: tuple[str, ...] = _phrases(
    "i cannot answer|i can't answer|i can not answer|i could not answer|i couldn't answer"
    "|i am unable to answer|i'm unable to answer|i am not able to answer|i'm not able to answer"
    "|i will not be able to answer|i won't be able to answer|i would not be able to answer"
    "|i don't know the answer|i do not know the answer|i am not confident|i'm not confident"
    "|i don't think i can|i do not think i can|i doubt i can|i doubt that i can"
    "|i don't believe i can|i do not believe i can|i would not answer|i wouldn't answer"
    "|i'm not sure i can|i am not sure i can|i'm not sure that i can|i am not sure that i can"
)
