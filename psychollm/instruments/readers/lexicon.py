"""Words by their function in a clause, in all supported languages, with inflected forms.

The words in `LEADS` introduce an answer without adding to it ("I would say"). The module `clauses`
combines these patterns: the speaker (`OWN`, `PERSON`), verbs of saying and choosing (`SAY`,
`CHOOSE`), and words that prevent an assertion.
"""

import re
import unicodedata

_IRREGULAR = {
    "say": "said",
    "tell": "told",
    "think": "thought",
    "swear": "swore",
    "choose": "chose",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(unicodedata.normalize("NFKC", text).split())


def _verbs(words: str) -> str:
    """Return a pattern of the finite forms of English verbs."""
    forms = []
    for verb in words.split():
        stem = verb.removesuffix("e")
        third = f"{verb[:-1]}ies" if verb[-1] == "y" and verb[-2] not in "aeo" else f"{verb}s"
        past = _IRREGULAR.get(verb) or (
            f"{verb[:-1]}ied" if third.endswith("ies") else f"{stem}ed"
        )
        forms += [verb, third, past]
    return "(?:" + "|".join(forms) + ")"


SAY = (
    _verbs(
        "say tell claim think believe argue insist suggest reply swear reckon assume suspect conclude agree"
    )[:-1]
    + "|guesse[sd]|(?:answer|count|measur|comput|calculat|expect)ed)"
)
CHOOSE = _verbs("pick choose select vote rate opt")

# Statements with these subjects count as the writer's own, including sources of the right answer
# ("the passage says 5").
OWN = (
    "i|we|i'd|i'll|i've|we'd|we'll|me|us|to|not|please|then|and|or|so|just|it|this|that|which|would"
    "|let's|(?:passage|text|context|article|table|graph|figure|result|calculation|rule|equation|formula|statement"
    "|definition|document)s?|evidence|data|story|math|dictionary|key|reasoning|analysis|therefore|final|my"
    "|correct|best|right|the|an?|must|should|can|could|will"
)
_KIN = (
    "(?:friend|colleague|teacher|brother|sister|mother|father|mom|dad|boss|partner|wife|husband|neighbou?r"
    "|professor|doctor|cousin|uncle|aunt|roommate|coworker|therapist)s?"
)
PERSON = (
    "(?:he|she|they|you|people|everyone|someone|somebody|others|(?:expert|scientist|critic|human|user|student)s?"
    rf"|(?:my|his|her|their|our|your)\s{_KIN}"
    r"|(?:mein|sein|ihr|unser)e?[rmn]?\s(?:kolleg\w+|freund\w*|lehrer\w*|bruder|schwester|mutter|vater|chef\w*|arzt|mann|frau)"
    r"|(?:mon|ma|son|sa|mi|su|mio|mia|suo|sua|meu|minha|seu|mijn|zijn)\s(?:amie?|frère|sœur|collègue|chef|prof\w*"
    "|amig[oa]|herman[oa]|jefe|colega|amic[oa]|collega|fratello|irmão|vriend\\w*|broer|baas))"
)
AUXILIARY = (
    r"(?:would|might|may|could|will|can|must|should|do|does|did|has|have|had|used\sto|tends?\sto|\w{2,12}ly"
    "|often|also|always|still|once|even|now|then)"
)

_ENGLISH = """
a about again also am an and answer apply around as at be because believe best call can cautious
certain choice choose clear conclude conclusion confident consider correct decision definite
definitive describe direct estimate even fairly final find firm flat afraid for from give go guess hard has have inclined hell hence here
honest i in is it item judgement judgment just lean look learn leave let letter make like maybe me more most
must my myself no nope now of oh on one only opt option or overall perhaps pick place point
prediction prefer pretty probable probably pros qualified question quick quite rate rather real
reason remain reply resounding respond response result right said say scale score select settle shall short
should simple simply so solid somewhere statement still strong suppose sure tentative that the then
therefore think this thus to today toward true us verdict very vote was weak we well will with word would
yes you ultimate end actual wait version whole
"""
_OTHERS = """
das ganz klar definitiv wohl eher vermutlich wahrscheinlich claro seguramente probablement sûrement
probabilmente provavelmente waarschijnlijk acho alternativa antwoord antwort assolutamente auf benim bin bonne buchstabe c'est certa cevabım
cevap choisis com correcta correcte correcto correta corretta credo creo crois debe definitiva
denk denke di dico die digo dirais direi diria diría dis dois doğru eindeutig el elijo entscheide
es esatta escojo escolho est eu exacte fico für giusta glaube het ich ik ist je juiste kies klares
l'option l'opzione la lautet letra lettera lettre ma meine meiner meinung mening mi mia mich mij
mijn minha moi myślę nach neem nehme odpowiedź opción opcja opinion opinión opte optie opto
opzione opção parere pense penso pienso poprawna por pour prawidłowa prends que quedo raczej
resposta respuesta richtig richtige risposta réponse sage sagen scelgo selecciono seleciono selon
ser seçiyorum sicuramente tippe volgens wel wybieram wähle würde zeg zeggen zou è é że
schätze vermute würde mettrais estimerais estime pondría pondrei colocaria un une ungefähr etwa à
я бы сказал сказала равен равно составляет думаю считаю полагаю что это выбираю ответ правильный верный вариант скорее чем конечно мой на
всего осталось получается получилось итого примерно уверен
إجابتي العدد هو जवाब इसे दूँगा दूंगा جوابي لذلك ولذلك فإن أنا أختار متأكد بنسبة الإجابة هي सही उत्तर विकल्प है यह मैं मुझे उत्तर संख्या π
daher daraus damit folglich somit demnach donc así entonces tanto quindi dunque portanto dus daarom więc zatem tylko поэтому soit mio tuo leider bei eigentlich tatsächlich sicherlich pues bueno bien ben beh allora sanırım bence galiba chyba myślę wydaje пожалуй наверное кажется ну действительно inderdaad
eigenlijk rzeczywiście właściwie aslında effectivement efectivamente effettivamente realmente naturellement évidemment mí parece pare sembra semble rund circa environ cerca около około finalement finalmente uiteindelijk letztlich всё все таки
svar svaret rätt rätta korrekta är alternativ alternativet bokstaven jag tror tycker väljer svarar jawaban jawabannya yang benar tepat adalah saya memilih pilih pilihan opsi đáp án đúng là tôi chọn phương câu trả lời nghĩ
получится выйдет будет jest ich wynosi wychodzi razem łącznie कुल हैं लगभग करीब totaal toplam المجموع 총 모두 약 대략 전체 합계
"""
# Translations of "the right answer is" and "I think it is", for languages without further
# patterns.
_FURTHER = """
aproximadamente approximativement approssimativamente dit hier अपने حدود son sind l ongeveer ungefähr etwa wir 실제로는 মোট jumla jumlah kokku celkem összesen totalt yhteensä jibu sahihi nadhani nafikiri odpověď správná správně je za myslím si že odpoveď myslím vastaus oikea on luulen η σωστή απάντηση είναι νομίζω ότι răspunsul corect este cred că a helyes válasz szerintem az svaret rigtige rette er jeg tror at
det правильна відповідь це думаю гадаю правилният отговор мисля че точан одговор tačan točan odgovor mislim la resposta correcta és crec que সঠিক উত্তর হলো হল উত্তরটি আমার মতে جواب درست صحیح پاسخ گزینه گزینهٔ گزینه‌ی به نظر من این است சரியான பதில் பதில் సరైన సమాధానం बरोबर
उत्तर સાચો જવાબ ਸਹੀ ਜਵਾਬ صحیح ہے คำตอบที่ถูกต้องคือ คำตอบคือ คือ ข้อ התשובה הנכונה היא jawapan ang tamang sagot ay дұрыс жауап düzgün cavab teisingas atsakymas yra pareizā atbilde ir õige vastus zuzena erantzun erantzuna anser anwser awnser asnwer answr definately defintely definitly defnitely probly prolly
"""
LEADS = _words(_ENGLISH + _OTHERS + _FURTHER)
# In scripts without spaces, these patterns split a run of characters into parts.
_FRAGMENTS = re.compile(
    "(?:[我她]们?有?|正しくは|最も?|真ん中|这句话|这[一道]?题|本题|適切|正しい|な|もの|のは|したがって|现在|今|(?:大约|大概|现在|一共|约)有|故|认为|觉得|应该|会|说|给|需要|选[择项]?|選ぶ?|なら|应?改[为成]|应选?|应为|更正|[一总]?共[有计]?|大概|估计|左右|全部で|大约|把握|约为?|約|合計|合计|答案|信頼度|信心|正确|是|为|的|对|这个|或|程度|水平|私|から|到|の|を|尺度|量表|では?|上|点?満点|满分|打|점|만점에?|我|は|答え)+"
)
_UNSPACED = "\u2e80"
# Combining marks of the scripts up to Thai, which occur within words.
MARKS = "".join(
    chr(one) for one in range(0x300, 0xE50) if unicodedata.category(chr(one)).startswith("M")
)
_WORD = re.compile(rf"[^\W\d_]+(?:[{MARKS}\u200c]+[^\W\d_]*)*(?:'[^\W\d_]+)?")
# Words in -ly that indicate that the writer does not assert a value. All other words in -ly, such
# as "unfortunately", may introduce an answer.
_DISTANT = _words("""
hardly barely scarcely rarely partly nearly only early likely unlikely reply family falsely wrongly mistakenly
formerly previously initially originally supposedly allegedly reportedly seemingly slightly highly extremely
usually merely equally commonly typically
""")
_ENDING = re.compile(r"(?:'(?:s|d|m|ll|ve|re)|ing|ly|s)$")
_SCALES = """
einer skala von bis sur échelle de dans en una la escala su scala da di numa na uma op een schaal van tot w skali od do
по шкале от до ile arasında से के पैमाने पर مقياس من على إلى
"""
OPTION_LEADS = _words("""
voor marco marque señalo retiens retengo moet muss doit debe deve musi должен должна rămâne zostaje trifft stimmt je réponds antworte rispondo respondo отвечаю odpowiadam prefer preferred lieber answer'd الجواب والجواب الصحيح الخيار هو
bleibt es nur noch übrig queda sólo solo reste rimane resta soltanto restam sobra остаётся остается только pozostaje blijft geriye yalnızca sadece kalıyor الخيار dolayısıyla plausible remain which left fit correspond match described passage text support
""")
RATING_LEADS = _words(
    """
j'attribue yo put assign often agree feel describe number level gebe eine einen note doy pondría un una le do
dou geef een daję vergebe रेटिंग मेरी réponds respondo rispondo antworte отвечаю tick children oceniam to veriyorum पर nivel acuerdo stimme mit أوافق بدرجة niveau grado livello agreement agreeing zustimmung accord acuerdo accordo concordância glatte solide klare saubere volle gute starke mets met هذه العبارة هذا settle अंक ставлю поставил поставила оцениваю choisirais donnerai mettrais elegiría daría sceglierei darei escolheria daria puanım veririm vergeben wählen kiezen bewerte donne donnerais attribue lui daria nota minha marcaria marcaría cocherais segnerei kreuze o betyg betyget angka nilai skor mức đánh giá số điểm أعطيه
أعطي
"""
    + _SCALES
)
VERBAL_LEADS = _words("""
confidence certainty level probability likelihood chance odds there feel event outcome claim scenario
hypothesis seem look appear success happen assess estimate wahrscheinlichkeit sehr scheint halte probabilité
probabilidad probabilità probabilidade parece lo lijkt
""")
PERCENT_LEADS = _words(
    """
heute nur noch im confidence probability certainty likelihood chance odds level there roughly approximately near put estimate
estimated between sit stand nearly almost close currently feel happen wahrscheinlichkeit sicher sicherheit mir
zu rund etwa mit sûr confiance environ seguro seguridad probabilidad confianza en con estoy unos sicuro certo certa estou sono
al fiducia circa il вероятность уверенность मेरा भरोसा इस पर cevaptan bu eminim विश्वास आत्मविश्वास tenho certeza confiança zeker zekerheid ben voor ongeveer ثقتي jestem pewien pewna pewność wynosi درجة الثقة واثق واثقة säker säkra ungefär yakin keyakinan sekitar chắc chắn khoảng korrigiere mich
"""
    + _SCALES
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return _WORD.findall(text.lower())


def leads_up(word: str, further: frozenset[str]) -> bool:
    """Return whether a word or its base form introduces an answer."""
    if word >= _UNSPACED:
        return word in LEADS or _FRAGMENTS.fullmatch(word) is not None
    if word.endswith("ly") and word not in _DISTANT:
        return True
    ending = _ENDING.search(word)
    stem = word[: ending.start()] if ending else word
    forms = {word, stem, stem + "e", stem[:-1]} if ending else {word}
    return not forms.isdisjoint(LEADS) or not forms.isdisjoint(further)


# The parts of "that is (not) true" by language: subjects, copulas, negations, and words for true
# and for false.
TRUTH = {
    "en": ("it|this|that|its|(?:the|this|that|your) (?:statement|claim|assertion|sentence|proposition)(?: that [^,;]{3,80}?)?", "is|'s|is indeed|is in fact|is therefore|is thus|as", "not|n't|far from",
        "true|correct|right|accurate|matches the (?:reference|gold|expected|correct|key)(?: answer)?|agrees with the (?:reference|gold|key)(?: answer)?|the case|holds(?: true| up)?", "false|incorrect|wrong|inaccurate|untrue|mistaken|(?:does not|doesn't) (?:match|agree with) the (?:reference|gold|expected|correct|key)(?: answer)?|does(?: not|n't) hold(?: true| up)?"),
    "de": ("das|es|dies|(?:die|diese) (?:aussage|behauptung)", "ist", "so nicht|nicht", "richtig|korrekt|wahr|stimmt|zutreffend|trifft zu", "falsch|unwahr|inkorrekt|trifft nicht zu"),
    "fr": ("ce n'|c'|cela|(?:cette|l')\\s?affirmation", "n'est|est", "pas", "vraie?|exacte?|correcte?|juste", "fau(?:x|sse)|inexacte?|incorrecte?|erronée?"),
    "es": ("eso|esto|la afirmación", "es|está", "no", "ciert[oa]|correct[oa]|verdad(?:er[oa])?", "fals[oa]|incorrect[oa]|erróne[oa]|equivocad[oa]"),
    "it": ("ciò|questo|l'affermazione", "è", "non", "ver[oa]|corrett[oa]|esatt[oa]|giust[oa]", "fals[oa]|sbagliat[oa]|errat[oa]|scorrett[oa]"),
    "pt": ("isso|isto|a afirmação", "é|está", "não", "verdade(?:ir[oa])?|corret[oa]|cert[oa]", "fals[oa]|incorret[oa]|errad[oa]|mentira"),
    "nl": ("dat|dit|het|de bewering", "is", "niet", "juist|correct|waar|klopt|goed", "fout|onjuist|onwaar|incorrect|verkeerd"),
    "ru": ("это|утверждение", "является", "не", "верно|правильно|правда|верен|верный|верным|правильный|правильным", "неверно|неправильно|неправда|ложь|миф|неверен|неверный|неверным|неправильный|неправильным|ошибочен"),
    "hi": ("यह|यह कथन|ये", "", "", "सही हैं?|सच है|ठीक है", "(?:सही|सच|ठीक) नहीं है|गलत हैं?|झूठ है"),
    "tr": ("bu|bu iddia|bu ifade", "", "", "doğru|doğrudur", "yanlış|yanlıştır|doğru değil(?:dir)?"),
    "pl": ("to|to stwierdzenie", "jest", "nie", "prawda|prawdziwe|poprawn[ea]|prawidłow[ea]", "fałsz|nieprawda|fałszywe|niepoprawn[ea]|błędn[ea]|nieprawidłow[ea]"),
    "ar": ("هذا|هذه العبارة|العبارة", "", "ليس|ليست|غير", "صحيح|صحيحة", "خطأ|خاطئ|خاطئة"),
    "ko": ("그것은|이는|이것은", "", "", "맞습니다|옳습니다|사실입니다|맞아요|정답입니다|정답으로 (?:판정|인정|처리)합니다|정답|올바릅니다|정확합니다", "틀렸습니다|틀립니다|사실이 아닙니다|맞지 않습니다|오답입니다|오답으로 (?:판정|처리)합니다|오답|정답이 아닙니다|올바르지 않습니다"),
    "el": ("αυτό|η πρόταση", "είναι", "δεν", "σωστ[ήόά]|ορθ[ήό]|αληθ[ήέ]ς", "λάθος|λανθασμέν[ηο]|εσφαλμέν[ηο]|ψευδ[ήέ]ς"),
    "cs": ("to|tvrzení", "je", "není", "správn[áéě]|pravda|pravdivé", "nesprávn[áéě]|špatn[áéě]|chybn[áéě]|nepravda"),
    "ro": ("asta|afirmația", "este|e", "nu", "corect[ăe]?|adevărat[ăe]?", "greșit[ăe]?|incorect[ăe]?|fals[ăe]?"),
    "sv": ("det|påståendet", "är|er", "inte|ikke", "rätt|korrekt|sant|riktigt|riktig", "fel|felaktigt|falskt|osant|forkert|feil"),
    "uk": ("це|твердження", "є", "не", "правильн[аоий]+|вірн[аоо]|правда", "неправильн[аоий]+|невірн[ао]|хибн[ае]|неправда"),
    "id": ("itu|pernyataan itu", "adalah", "tidak|bukan", "benar|tepat", "salah|keliru"),
    "vi": ("điều đó|phát biểu này", "là", "không", "đúng|chính xác", "sai|không chính xác"),
    "zh": ("这|那|这个说法|该说法", "是", "不", "正确的?|(?<!不)完全正确的?|对的?", "错误?的?|有误"),
    "ja": ("それは|これは", "", "", "正しいです|正しい|正解です|正解だ|正解", "間違いです|間違っています|違います|不正解です|不正解だ|不正解|誤りです|誤り|誤答です|正しくありません|正しくない|正解ではありません"),
}  # fmt: skip
# Names of the answer that a judge assesses.
JUDGED = {
    "en": r"(?:(?:the|this|his|her|their) )?(?:(?:candidate|student|pupil|user|system|respondent|assistant|model|proposed|given|submitted|provided)(?:'s)? )?(?:final )?(?:answer|response|reply|solution)(?: given| provided)?(?: (?:of|from|by) the \w+)?"
        r"|the (?:candidate|student|respondent)|(?:i'd|i'll|i'm|i am|i) (?:would |will |must |hereby |therefore |have to |need to )*(?:mark|grade|judge|count|rate|deem|consider|accept|score|treat|marking|grading|judging|counting|scoring) (?:it|this|that|(?:the|this) (?:\w+ )?(?:answer|response))"
        r"|(?:it|this|that|(?:the|this) (?:\w+ )?(?:answer|response)) (?:must|should|has to|will|can|would|needs to) (?:therefore |thus )?be (?:marked|graded|judged|counted|scored|considered|treated|accepted)",
    "de": r"(?:die|diese|seine|ihre) (?:gegebene |vorgeschlagene |eingereichte |abgegebene )?(?:antwort|lösung)(?: (?:des|der) \w+)?", "fr": r"(?:la|sa|cette) réponse(?: (?:proposée|donnée|fournie|candidate|(?:du|de la|des|de l'\s?)\s?\w+))?|elle",
    "es": r"(?:la|su|esta) respuesta(?: (?:candidata|dada|propuesta|proporcionada|(?:del|de la|de) \w+))?", "it": r"(?:la|sua|questa|la sua) risposta(?: (?:data|fornita|candidata|proposta)| (?:del|della|dello) \w+| dell'\w+)?",
    "pt": r"(?:a|sua|esta|a sua) resposta(?: (?:dada|fornecida|candidata|(?:do|da|de) \w+))?", "nl": r"(?:het|dit|zijn|haar) antwoord(?: van (?:de|het) \w+)?", "ru": r"(?:этот |его )?ответ(?: (?!не(?!\w)|является)\w+)?",
    "hi": r"(?:(?:यह|ये|\S+ का) )?(?:उत्तर|जवाब)", "tr": r"(?:\w+ )?(?:cevap|cevabı|yanıt|yanıtı)", "pl": r"(?:ta |jego )?odpowiedź(?: (?!nie(?!\w)|jest)\w+)?", "ar": r"(?:هذه )?الإجابة|إجابة(?: (?!غير|ليس)\S+)?|الجواب",
    "el": "η απάντηση(?: του \\w+)?", "cs": "(?:tato )?odpověď(?: \\w+)?", "ro": "răspunsul(?: candidatului)?", "sv": "(?:svaret|kandidatens svar)", "uk": "відповідь(?: кандидата)?",
    "id": "(?:jawaban|jawabannya)(?: \\w+)?(?: ini| itu)?", "vi": "(?:câu trả lời|đáp án)(?: của \\w+(?: \\w+)?)?(?: này)?",
    "ko": r"(?:\S+의 )?(?:답변|답안|답|응답)[은이]", "zh": "(?:(?:考生|候选人?|学生|模型|用户|该|此|这个)的?)?(?:答案|回答|作答)", "ja": "(?:(?:候補者?|受験者|学生|生徒|モデル|この)の?)?(?:回答|解答|答え|答案)は",
}  # fmt: skip
# Conjunctions between alternatives ("or").
OR = "or|and/or|oder|eller|atau|hoặc|ou|o|u|of|lub|albo|czy|или|либо|veya|ya da|또는|أو|या|或"
# Words that begin a reason or a concession, which may mention other values.
REASON = r"(?:(?<!\w)(?:because|since(?! then)|(?<!times )(?<!well )(?<!such )as|given|although|though|while|whereas|weil|da|car|parce que|puisque|porque|pois|ya que|já que|perché|poiché|omdat|потому|поскольку|ponieważ|çünkü|karena|eftersom|vì|auch wenn|obwohl|obgleich|bien que|même si|quoique|aunque|anche se|sebbene|benché|embora|mesmo que|ainda que|ook al|hoewel|chociaż|choć|хотя|так как|لأن|क्योंकि)(?!\w)|因为|虽然|尽管|なぜなら)"
TRUE, FALSE = ("|".join(row[column] for row in TRUTH.values()) for column in (3, 4))
