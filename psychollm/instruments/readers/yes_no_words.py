"""Words and clauses for yes and no, by position.

`PARTICLES` are answers if they form a whole clause or begin one; `CLAUSES` are answers only if
they form a whole clause. `WHOLE` are answers only if they form the whole reply, because at the
start of a longer reply they may be expressions of politeness ("Sure, here is ...").
"""

_YES_PARTICLES = """
yes yeah yep yup yea aye ja jawohl jazeker jep oui ouais sí sì sim tak да evet jo kyllä ano igen ναι так
có ya כן はい ええ うん 是的 是 能 可以 会 對 对 好的 네 예 넵 نعم أجل हाँ हां जी
"""
_NO_PARTICLES = """
no nope nah nay nein nö nee non não nao nie нет hayır hayir nej nei ei nem όχι ні không tidak לא
いいえ いや いえ 不是的 不是 否 不 不能 不可以 不会 不對 不对 아니요 아니오 아뇨 아니 لا كلا नहीं नही
"""
_YES_CLAUSES = """
i think so|i believe so|i do think so|i guess so|i suppose so|i would think so|hell yes|of course i can
|affirmative|i would say so|i'd say so|ich denke schon|ich glaube schon|ich denke ja|je crois que oui|je pense que oui|creo que sí
|claro que sí|por supuesto que sí|desde luego que sí|credo di sì|penso di sì|acho que sim|creio que sim|claro que sim|ik denk van wel
|ik denk het wel|думаю, да|jī hā̃|जी हाँ|जी हां|我认为是|我觉得是|我认为能|我觉得能|我能|我可以|我会|できます
|そうだと思います|はいだと思います|正しいと思います|그렇다고 생각합니다|맞다고 생각합니다|그런 것 같습니다|volgens mij wel|je dirais que oui|yo diría que sí|direi di sì|direi proprio di sì|certo che sì|ma certo che sì|diria que sim|raczej tak|oczywiście, że tak|tabii ki evet|myślę że tak|bence evet|sanırım evet|そうです|はいです|할 수 있습니다|그렇습니다|نعم أستطيع|أستطيع
|indeed it is|indeed it does|it is indeed|it does indeed|sure is|sure does|sure can|sure are|it sure is|it sure does|i'm afraid so|i am afraid so|sei sim|eso creo|lo creo|ndiyo|হ্যাঁ|ஆம்|ใช่|ใช่ครับ|ใช่ค่ะ|iya|بله|آری|áno|jah|jā|taip|అవును|होय|હા|ਹਾਂ|ہاں|جی ہاں|bəli|иә|այո|კი|yebo
"""
_NO_CLAUSES = """
i don't think so|i dont think so|i do not think so|i don't believe so|i do not believe so|i doubt it
|i doubt so|not in the slightest|keineswegs|certainement pas|en absoluto|de modo algum|de forma alguma|ни в коем случае|отнюдь нет|in geen geval|w żadnym razie|kesinlikle hayır|绝对不是|当然不是|絶対に違います|절대 아닙니다|बिल्कुल नहीं|not in the least|absolutely not|definitely not|certainly not|of course not|probably not|surely not
|not in my opinion|not in my view|not to my knowledge|not as far as i know|not at all|not really|no way|by no means|not a chance|no chance|hell no|most certainly not|i think not|i'm afraid not
|negative|i would not say so|i wouldn't say so|i would say not|i'd say not|auf keinen fall|ich glaube nicht|ich denke nicht|eher nicht|natürlich nicht
|wahrscheinlich nicht|absolument pas|pas du tout|bien sûr que non|je ne pense pas|je ne crois pas
|je pense que non|je crois que non|para nada|creo que no|no lo creo|no creo|claro que no|de ninguna manera|credo di no
|penso di no|non credo|non penso|assolutamente no|per niente|acho que não|de jeito nenhum|claro que não
|ik denk het niet|ik denk van niet|absoluut niet|zeker niet|nie sądzę|raczej nie|chyba nie
|не думаю|конечно нет|вряд ли|hiç sanmıyorum|sanmıyorum|जी नहीं|我认为不是|我觉得不是|我认为不能|我觉得不能
|我不能|我不会|我不可以|そうではありません|そうではないと思います|違うと思います|아니라고 생각합니다|아닌 것 같습니다|그렇지 않다고 생각합니다|그렇지 않습니다|volgens mij niet|je dirais que non|yo diría que no|direi di no|direi proprio di no|certo che no|ma certo che no|diria que não|myślę że nie|bence hayır|sanırım hayır|meiner meinung nach nicht|できません|違います|할 수 없습니다|아닙니다|بالتأكيد لا|لا أستطيع|لا أظن|لا أعتقد|لا أعتقد ذلك|لا أظن ذلك|por supuesto que no|desde luego que no
|unfortunately not|sadly not|regrettably not|i am afraid not|i'm afraid i don't|i am afraid i do not|leider nicht|leider nein|malheureusement non|malheureusement pas|hélas non|lamentablemente no|desgraciadamente no|purtroppo no|infelizmente não|helaas niet|helaas nee|niestety nie|к сожалению, нет|к сожалению нет|maalesef hayır|残念ながらいいえ|很遗憾,不是
|hapana|না|இல்லை|ไม่ใช่|ไม่|ไม่ครับ|ไม่ค่ะ|خیر|نه|نخیر|nē|కాదు|ના|ਨਹੀਂ|نہیں|جی نہیں|xeyr|жоқ|ոչ|არა|cha
"""
_YES_WHOLE = """
y|right|exactly|yes indeed|genau|exact|así es|esatto|isso mesmo|exato|klopt|так и есть
|没错|その通りです|맞습니다|맞아요|맞음|참|doğru|prawda|zgadza się|vrai|verdadero|vero|verdadeiro|wahr|waar|правда|真|真的|صحيح|هذا صحيح|सही|सच|सही है|यह सही है|sure|sure thing|absolutely|definitely|certainly|of course|most certainly|most definitely
|indeed it is|indeed it does|it is indeed|without a doubt|without doubt|no doubt|undoubtedly|indeed|you bet|ok|okay|i can|i do|i am|i could
|i will|i would|it is|it does|they are|uh-huh|auf jeden fall|बिलकुल|बिल्कुल सही|natürlich|klar|sicher|selbstverständlich|bien sûr
|certainement|évidemment|d'accord|si|por supuesto|claro|desde luego|certo|certamente|naturalmente
|com certeza|certamente|zeker|natuurlijk|uiteraard|oczywiście|pewnie|конечно|разумеется|tabii|tabii ki
|elbette|kesinlikle|当然|當然|肯定的|肯定|もちろん|もちろんです|물론|물론입니다|물론이죠|بالتأكيد|بالطبع|طبعا
|बिल्कुल|ज़रूर|हाँ जी|👍|✅|✔|✓|☑|👌|💯|⭕|match ✔|match ✅|சரியான பதில்|সঠিক উত্তর|సరైన సమాధానం|jibu ni sahihi|a match|it's a match|they match|it matches|both match
"""
_NO_WHOLE = """
n|это не так|틀렸습니다|틀려요|틀림|거짓|그렇지 않습니다|맞지 않습니다|yanlış|fałsz|nieprawda|faux|falso|falsch|unwahr|onwaar|niet waar|ложь|неправда|假|错|錯|错误|不正确|正しくありません|正しくない|違う|間違いです|गलत है|झूठ|خطأ|هذا خطأ|गलत|यह गलत है|never|niemals|jamais|nunca|никогда|不是的|i can't|i cannot|i cant|i can not|i couldn't|i don't|i do not|i'm not|i am not|i won't
|i will not|i wouldn't|it isn't|it is not|it doesn't|it does not|they aren't|uh-uh|nuh-uh
|否定的|没有|无|無|no match|not a match|they do not match|they don't match|無理です|👎|❌|✗|✘|✖|✕|🚫
"""
# Phrases that mean "yes or no" in one word.
_YES_AND_NO = "jein|ja-nein|да нет|是或否|是否|是与否|能或不能|はいといいえ|はいかいいえ"


def phrases(text: str) -> tuple[str, ...]:
    """Return the phrases of a list."""
    return tuple(one.strip() for one in text.split("|") if one.strip())


PARTICLES: dict[str, int] = {
    **dict.fromkeys(_YES_PARTICLES.split(), 1),
    **dict.fromkeys(_NO_PARTICLES.split(), 0),
}
CLAUSES: dict[str, int] = {
    **dict.fromkeys(phrases(_YES_CLAUSES), 1),
    **dict.fromkeys(phrases(_NO_CLAUSES), 0),
}
WHOLE: dict[str, frozenset[int]] = {
    **dict.fromkeys(phrases(_YES_WHOLE), frozenset({1})),
    **dict.fromkeys(phrases(_NO_WHOLE), frozenset({0})),
    **dict.fromkeys(phrases(_YES_AND_NO), frozenset({0, 1})),
}

# Conjunctions and fillers that may join two answers.
_JOINS = "and or both also und oder et ou y o e en of i и или hem ve veya 또는 और या و أو &"
JOINS = frozenset(_JOINS.split())
