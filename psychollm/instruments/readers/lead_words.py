"""Words that lead up to an answer without adding to it ("I would say"), and what each form adds."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH = """
a about again also am an and answer answer's answering answers applies around as at be because
believe best call can cautious certainly choice choose choosing clear clearly conclude conclusion
confident consider correct decision definite definitely definitive describes direct even final
find firm for give giving go going guess hard has have inclined hell hence here honest honestly i i'd i'll
i'm i've in is it it'd it's item judgement judgment just lean leaning learn leave leaves letter
like likely long maybe me more most must my myself no nope now of oh on one only opt option
options or overall perhaps pick picking point prediction prefer pretty probable probably pros
qualified question quick quite rate rather rating really reason reasons remains reply resounding
respond response result right said say scale score select settle shall short should simple simply
so solid somewhere statement still strong strongly suppose sure surely tentative that that's the
then therefore think this thus to today toward towards true us verdict verdict's very vote was
weak well will with word would yes you
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
"""
LEADS = _words(_ENGLISH + _OTHERS)
OPTION_LEADS = _words("plausible remaining which left fits corresponds matches described")
RATING_LEADS = _words("""
j'attribue yo put assign often agree feel describe number level gebe eine einen note doy pondría
un una le do dou geef een daję
""")
VERBAL_LEADS = _words("""
confidence certainty level probability likelihood chance chances odds there feel event outcome
claim scenario hypothesis seems seem looks look appears success happening happen assess estimate
describe wahrscheinlichkeit sehr scheint halte probabilité probabilidad probabilità probabilidade
parece lo lijkt
""")
PERCENT_LEADS = _words("""
confidence probability certainty likelihood chance chances odds level there roughly approximately
near put puts estimate estimated between sits stands fairly nearly almost close currently feel
happens wahrscheinlichkeit sicher sicherheit mir zu rund etwa mit sûr confiance environ seguro
seguridad probabilidad confianza en con estoy unos sicuro sono al fiducia circa tenho certeza
confiança zeker zekerheid ben voor ongeveer
""")
