"""SQuAD's comparison of answers, step by step as its paper describes it, for ASCII text."""

import string


def words(text: str) -> list[str]:
    kept = ""
    for character in text.lower():
        if character not in string.punctuation:
            kept += character
    return [word for word in kept.split() if word not in ("a", "an", "the")]


def exact(text: str, answer: str) -> bool:
    return words(text) == words(answer)


def f1(text: str, answer: str) -> float:
    said, right = words(text), words(answer)
    if not said or not right:
        return float(said == right)
    common, left = 0, list(right)
    for word in said:
        if word in left:
            left.remove(word)
            common += 1
    if common == 0:
        return 0.0
    precision, recall = common / len(said), common / len(right)
    return 2 * precision * recall / (precision + recall)
