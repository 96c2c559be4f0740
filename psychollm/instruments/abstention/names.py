"""Names that nothing has, well-known facts, and people: what the pairs are filled with."""

import numpy as np

PEOPLE = ("Ada", "Bea", "Cleo", "Dora", "Edith", "Flora", "Greta", "Hanna", "Iris", "Jana")
GOODS = ("pears", "bricks", "stamps", "candles", "buttons", "shells", "tickets", "marbles")
PLACES = ("crate", "basket", "drawer", "cart", "chest", "sack", "tin", "barrel")
BELONGINGS = ("boat", "ladder", "rope", "garden", "kite", "table", "scarf", "bridge")
TOWNS = ("Oslo", "Lima", "Cairo", "Quito", "Hanoi", "Turin", "Lagos", "Perth", "Bergen", "Osaka")
FERRIES = ("Alder", "Birch", "Cedar", "Hazel", "Larch", "Maple", "Rowan", "Willow", "Aspen")
WORDS = ("harbour", "lamp", "meadow", "stone", "whisper", "oar", "velvet", "moth", "cinder", "elm")
CAPITALS = {
    "Norway": "Oslo",
    "Peru": "Lima",
    "Kenya": "Nairobi",
    "Japan": "Tokyo",
    "Portugal": "Lisbon",
    "Canada": "Ottawa",
    "Egypt": "Cairo",
    "Poland": "Warsaw",
    "Cuba": "Havana",
    "Ghana": "Accra",
    "Greece": "Athens",
    "Finland": "Helsinki",
    "Hungary": "Budapest",
    "Ireland": "Dublin",
    "Jordan": "Amman",
    "Austria": "Vienna",
    "Chile": "Santiago",
    "Uruguay": "Montevideo",
    "Senegal": "Dakar",
    "Iceland": "Reykjavik",
}
SYMBOLS = {
    "He": "helium",
    "Na": "sodium",
    "Fe": "iron",
    "Ca": "calcium",
    "Zn": "zinc",
    "Ag": "silver",
    "Sn": "tin",
    "Ne": "neon",
    "Mg": "magnesium",
    "Au": "gold",
}
NO_SYMBOLS = ("Qx", "Jz", "Vq", "Wk", "Xj", "Zy", "Qe", "Jo", "Yx", "Kq")
LEGS = {"spider": 8, "beetle": 6, "horse": 4, "sparrow": 2, "crab": 10, "scorpion": 8, "ant": 6}
_ONSETS = ("Tr", "Vel", "Qu", "Sk", "Dr", "Br", "Gl", "Pl", "Z", "Thr")
_MIDDLES = ("elm", "ov", "und", "arz", "ivv", "orn", "ushk", "enth")
_ENDS = ("avia", "ostan", "eria", "onde", "uria", "antis")


def invented(rng: np.random.Generator) -> str:
    """Draw the name of a country that does not exist."""
    return "".join(str(rng.choice(part)) for part in (_ONSETS, _MIDDLES, _ENDS))


def beast(rng: np.random.Generator) -> str:
    """Draw the name of an animal that does not exist."""
    onset, middle = (str(rng.choice(part)) for part in (_ONSETS, _MIDDLES))
    return f"{onset}{middle}le".lower()
