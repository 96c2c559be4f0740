"""Write the questions of the example data set: ``python make_questions.py``.

There are eight domains with sixty questions each, written from tables of common school knowledge
or generated from a seed. All questions were worded for this project.
"""

import argparse
import csv
import random
from pathlib import Path

CAPITALS = """France Paris;Japan Tokyo;Italy Rome;Spain Madrid;Egypt Cairo;Germany Berlin;
Russia Moscow;China Beijing;Greece Athens;Canada Ottawa;Brazil Brasília|Brasilia;
Australia Canberra;Poland Warsaw;Portugal Lisbon;Austria Vienna;Hungary Budapest;Norway Oslo;
Sweden Stockholm;Denmark Copenhagen;Finland Helsinki;Ireland Dublin;Belgium Brussels;
Turkey Ankara;Iran Tehran;Iraq Baghdad;Kenya Nairobi;Nigeria Abuja;Ghana Accra;Morocco Rabat;
Peru Lima;Chile Santiago;Argentina Buenos Aires;Cuba Havana;Colombia Bogotá|Bogota;
Ecuador Quito;Bolivia Sucre|La Paz;Paraguay Asunción|Asuncion;Uruguay Montevideo;
Thailand Bangkok;Vietnam Hanoi;Nepal Kathmandu;Bhutan Thimphu;Mongolia Ulaanbaatar|Ulan Bator;
Kazakhstan Astana;Uzbekistan Tashkent;Georgia Tbilisi;Armenia Yerevan;Latvia Riga;
Lithuania Vilnius;Estonia Tallinn;Slovenia Ljubljana;Croatia Zagreb;Serbia Belgrade;
Bulgaria Sofia;Romania Bucharest;Iceland Reykjavik;Senegal Dakar;Zambia Lusaka;
Madagascar Antananarivo;Fiji Suva"""

ELEMENTS = """H hydrogen;O oxygen;C carbon;N nitrogen;He helium;Fe iron;Au gold;Ag silver;
Cu copper;Na sodium;K potassium;Ca calcium;Mg magnesium;Al aluminium|aluminum;Pb lead;Sn tin;
Zn zinc;Hg mercury;Ne neon;Cl chlorine;Si silicon;P phosphorus;S sulfur|sulphur;F fluorine;
I iodine;Ni nickel;Li lithium;U uranium;Ti titanium;Cr chromium;Mn manganese;Co cobalt;Br bromine;
Kr krypton;Xe xenon;Ar argon;Rn radon;Ra radium;Pt platinum;W tungsten;As arsenic;B boron;
Be beryllium;Ba barium;Bi bismuth;Cd cadmium;Cs caesium|cesium;Sb antimony;Se selenium;
Sr strontium;V vanadium;Pu plutonium;Pd palladium;Mo molybdenum;Ge germanium;Ga gallium;
Ir iridium;Os osmium;Rb rubidium;Te tellurium"""

OPPOSITES = """hot cold|cool|chilly;big small|little|tiny;up down;day night;black white;
happy sad|unhappy;fast slow;open closed|shut|close;light dark|heavy|darkness;young old;
rich poor;wet dry;hard soft|easy;high low;early late;full empty;loud quiet|soft|silent;
left right;near far;strong weak;clean dirty;sweet sour|bitter;long short;wide narrow;
deep shallow;thick thin;true false;win lose;buy sell;push pull;arrive leave|depart;
begin end|finish|stop;love hate|hatred;war peace;friend enemy|foe;north south;summer winter;
inside outside;first last;always never;ancient modern|new;brave cowardly|timid|afraid|fearful;
cheap expensive|costly;cruel kind|gentle|merciful;freeze melt|thaw|boil;
generous stingy|selfish|greedy|mean|miserly;guilty innocent;humble proud|arrogant;
increase decrease|reduce;borrow lend;attack defend|defense|defence;accept reject|refuse|decline;
ascend descend;expand contract|shrink;
artificial natural;minimum maximum;optimist pessimist;scarce abundant|plentiful|common;
transparent opaque;victory defeat|loss"""

FRENCH = """dog chien;cat chat;house maison;water eau;bread pain;red rouge;black noir|noire;
white blanc|blanche;day jour;night nuit;sun soleil;moon lune;book livre;child enfant;
woman femme;man homme;mother mère|mere;father père|pere;brother frère|frere;sister soeur|sœur;
friend ami|amie;good bon|bonne;bad mauvais|mauvaise;big grand|grande|gros|grosse;
small petit|petite;king roi;queen reine;tree arbre;flower fleur;fish poisson;bird oiseau;
horse cheval;cow vache;milk lait;cheese fromage;wine vin;apple pomme;egg oeuf|œuf;sea mer;
mountain montagne;city ville;street rue;school école|ecole;door porte;window fenêtre|fenetre;
table table;chair chaise;bed lit;hand main;head tête|tete;eye oeil|œil;heart coeur|cœur;
green vert|verte;blue bleu|bleue;yellow jaune;hello bonjour|salut;thanks merci;
tomorrow demain;winter hiver;key clé|clef|cle"""

YOUNG_AND_OTHER = """What is a young dog called?=puppy|pup;What is a young cat called?=kitten;
What is a young cow called?=calf;What is a young sheep called?=lamb;
What is a young horse called?=foal|colt|filly;What is a young goat called?=kid;
What is a young swan called?=cygnet;What is a young goose called?=gosling;
What is a young kangaroo called?=joey;What is a young frog called?=tadpole|froglet;
How many legs does a spider have?=8|eight;How many legs does an ant have?=6|six;
How many legs does a crab have?=10|ten;How many arms does an octopus have?=8|eight;
How many days are in a week?=7|seven;How many months are in a year?=12|twelve;
How many minutes are in an hour?=60|sixty;How many hours are in a day?=24;
How many days are in a leap year?=366;How many seconds are in an hour?=3600;
How many sides does a triangle have?=3|three;How many sides does a hexagon have?=6|six;
How many sides does an octagon have?=8|eight;How many faces does a cube have?=6|six;
How many strings does a violin have?=4|four;How many players of one side are on the field in football?=11|eleven;
How many planets orbit the Sun?=8|eight;Which planet is closest to the Sun?=Mercury;
Which planet is the largest of the solar system?=Jupiter;Which planet is known for its rings?=Saturn;
Which planet is called the red planet?=Mars;What do bees make from nectar?=honey;
What gas do plants take in from the air to grow?=carbon dioxide|CO2;What is frozen water called?=ice;
At how many degrees Celsius does water boil?=100;Which organ pumps the blood?=heart;
Which organ do we breathe with?=lungs|lung;What is the largest ocean?=Pacific;
What is the longest river of South America?=Amazon;What is the highest mountain on Earth?=Everest;
Which metal is liquid at room temperature?=mercury;Which language is spoken in Brazil?=Portuguese;
Which currency is used in Japan?=yen;On which continent is Egypt?=Africa;
On which continent is Peru?=South America;Who wrote Hamlet?=Shakespeare;
Who painted the Mona Lisa?=Leonardo|da Vinci;Who wrote Don Quixote?=Cervantes;
Who developed the theory of relativity?=Einstein;Who composed the opera The Magic Flute?=Mozart;
What colour do you get from blue and yellow paint?=green;What colour do you get from red and white paint?=pink;
What is the first letter of the Greek alphabet?=alpha;What is the last letter of the Greek alphabet?=omega;
Which bird cannot fly and lives in Antarctica?=penguin;Which is the largest animal on Earth?=blue whale|whale;
What is the square root of 81?=9|nine;What is the Roman numeral for 50?=L;
What is the Roman numeral for 9?=IX;In what year did the First World War begin?=1914"""

WORDS = """garden window planet silver orange monkey candle bridge castle forest pencil dragon summer
butter rocket marble basket tunnel ladder pepper hammer guitar violin button mirror blanket
chimney diamond elephant fountain harvest journey kitchen lantern mountain notebook octopus
painter quarter railway sandwich teacher umbrella village weather library captain dolphin
feather giraffe holiday island jungle kettle lemon magnet needle oyster parrot rabbit"""
PLACES = ("first", "second", "third", "fourth", "fifth", "last")


def pairs(text, apart=" "):
    """Return (left, right) of each entry of a table."""
    return [entry.strip().split(apart, 1) for entry in text.replace("\n", " ").split(";")]


def arithmetic(rng):
    """Yield sums of one to three digits, differences and products, from easy to hard."""
    for low, high in ((1, 9), (10, 50), (100, 900)):
        for _ in range(10):
            a, b = rng.randint(low, high), rng.randint(low, high)
            yield f"What is {a} plus {b}?", str(a + b)
    for low, high in ((2, 20), (20, 99)):
        for _ in range(7):
            b, a = sorted((rng.randint(low, high), rng.randint(low, high)))
            yield f"What is {a} minus {b}?", str(a - b)
    for low, high in ((2, 9), (11, 40)):
        for _ in range(9 if low == 2 else 8):
            a, b = rng.randint(low, high), rng.randint(low, high)
            yield f"What is {a} times {b}?", str(a * b)


def sequences(rng):
    """Yield sequences to be continued: even steps, doublings, squares and days."""
    for step in (1, 2, 3, 5, 10, 4, 6, 7, 9, 11, 12, 13, 15, 17, 19, 21, 25, 30, 50, 100):
        first = rng.randint(1, 30)
        told = [first + step * k for k in range(5)]
        yield _next(told[:4]), str(told[4])
    for first in (1, 2, 3, 5, 7, 9, 11, 13, 20, 25):
        yield _next([first * 2**k for k in range(4)]), str(first * 16)
    for first in range(1, 11):
        yield _next([k * k for k in range(first, first + 4)]), str((first + 4) ** 2)
    days = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
    for day, after in zip(days, days[1:] + days[:1], strict=True):
        yield f"Which day comes after {day}?", after
    months = (
        "January February March April May June July August September October November December"
    )
    names = months.split()
    for month, before in zip(names[1:] + names[:1], names, strict=True):
        yield f"Which month comes before {month}?", before
    yield "Which letter comes after Q in the alphabet?", "R"


def _next(numbers):
    return f"Which number comes next: {', '.join(map(str, numbers))}?"


def letters(rng):
    """Yield questions about letters of words by position, and the number of letters."""
    for k, word in enumerate(WORDS.split()):
        if k % 3 == 2:
            yield f'How many letters are in the word "{word}"?', str(len(word))
        else:
            place = rng.randrange(len(PLACES))
            if word[_index(place)] == "a":  # graded as the article that it also is
                place = 0
            letter = word[_index(place)]
            yield f'What is the {PLACES[place]} letter of the word "{word}"?', letter


def _index(place):
    return -1 if place == len(PLACES) - 1 else place


def questions(seed=1):
    """Yield (domain, question, right answers, rule)."""
    rng = random.Random(seed)
    for country, city in pairs(CAPITALS):
        yield "capitals", f"What is the capital of {country}?", city, "contains"
    for symbol, name in pairs(ELEMENTS):
        yield "elements", f"Which chemical element has the symbol {symbol}?", name, "contains"
    for word, other in pairs(OPPOSITES):
        yield "opposites", f'What is the opposite of "{word}"?', other, "contains"
    for word, other in pairs(FRENCH):
        yield "French", f'What is the French word for "{word}"?', other, "contains"
    for asked, answer in pairs(YOUNG_AND_OTHER, apart="="):
        yield "facts", asked, answer, "contains"
    for asked, answer in dict.fromkeys(arithmetic(rng)):
        yield "arithmetic", asked, answer, "numeric"
    for asked, answer in sequences(rng):
        yield "sequences", asked, answer, "numeric" if answer.isdigit() else "contains"
    for asked, answer in letters(rng):
        yield "letters", asked, answer, "numeric" if answer.isdigit() else "contains"


def main():
    """Write ``questions.csv`` next to this file."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    rows = list(questions())
    numbered = {}
    path = Path(__file__).with_name("questions.csv")
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(("key", "domain", "question", "answers", "rule"))
        for domain, asked, answers, rule in rows:
            numbered[domain] = numbered.get(domain, 0) + 1
            key = f"{domain.lower()}-{numbered[domain]:02d}"
            lines.writerow((key, domain, asked, answers, rule))
    print(f"{len(rows)} questions: {numbered}")


if __name__ == "__main__":
    main()
