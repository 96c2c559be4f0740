"""What is said to models; the wording is the project's own."""

from typing import Literal, TypeAlias

Form: TypeAlias = Literal["reasoning", "direct"]
Scale: TypeAlias = Literal["yes_no", "percent", "verbal"]

# What is asked for on each scale: in one line, and as the end of a reply that reasons first.
_DIRECT = {
    "yes_no": "Would you answer it correctly? Reply with one word: Yes or No.",
    "percent": "How likely is it that you would answer it correctly? Reply with a percentage "
    "from 0 to 100 and nothing else.",
    "verbal": "How likely is it that you would answer it correctly? Reply with one of these "
    "expressions and nothing else: {phrases}.",
}
_LAST_LINE = {
    "yes_no": "Yes or No: whether you would answer it correctly",
    "percent": "a percentage from 0 to 100: how likely it is that you would answer it correctly",
    "verbal": "one of these expressions for how likely it is that you would answer it "
    "correctly: {phrases}",
}
PHRASES: tuple[str, ...] = (
    "almost no chance",
    "very unlikely",
    "unlikely",
    "roughly even chance",
    "likely",
    "very likely",
    "almost certain",
)


def prediction(question: str, *, form: Form, scale: Scale) -> str:
    """Return the turn that asks for a prediction."""
    phrases = ", ".join(PHRASES)
    if form == "direct":
        end = _DIRECT[scale].format(phrases=phrases)
    else:
        last = _LAST_LINE[scale].format(phrases=phrases)
        end = (
            "First consider, in a few sentences, what you know that bears on it and what you "
            f'do not. Then end with a line that begins with "Answer:" and gives {last}.'
        )
    return f"Here is a question. Do not answer it yet.\n\nQuestion: {question}\n\n{end}"


def request(question: str) -> str:
    """Return the turn that asks for the answer, in a conversation of its own."""
    asked = "Answer this question with a word, a name or a number, and nothing else."
    return f"{asked}\n\nQuestion: {question}"


def request_after(question: str) -> str:
    """Return the turn that asks for the answer after the prediction, in its conversation."""
    return f"Now answer it, with a word, a name or a number, and nothing else: {question}"


def judgement(question: str, references: list[str], reply: str) -> str:
    """Return the turn that asks a judge whether a reply is right."""
    right = " or ".join(references) if references else "none; the question cannot be answered"
    return (
        "Compare a reply with the right answer to a question.\n\n"
        f"Question: {question}\nRight answer: {right}\nReply: {reply}\n\n"
        "Does the reply give the right answer, in whatever words? Another answer beside it "
        "makes the\nreply wrong. Reply with one word: Yes or No."
    )
