"""Tasks of three kinds and three levels of difficulty, each with a rubric for a rule."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from psychollm.instruments.prompt import ReplyForm

Condition: TypeAlias = Literal["none", "computational", "social", "summarisation"]

LEVELS = (1, 2, 3)
_FORMS: Mapping[str, ReplyForm] = {"number": "number", "option": "option", "summary": "text"}
_NUMBER = "Work it out, then give the number on a last line that begins with 'Answer:'."
_LETTER = "Give the letter of the best statement on a last line that begins with 'Answer:'."


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something to do, and when it counts as done."""

    key: str
    condition: Condition
    level: int  # 1 is the easiest
    text: str
    rubric: Mapping[str, Any] = field(hash=False)  # as `grade_task` takes it; JSON-safe

    @property
    def prompt(self) -> str:
        """What the model is asked."""
        if self.rubric["kind"] == "number":
            return f"{self.text}\n\n{_NUMBER}"
        if self.rubric["kind"] == "option":
            lines = [f"{letter}. {text}" for letter, text in self.rubric["options"].items()]
            return "\n".join([self.text, "", *lines, "", _LETTER])
        return self.text

    @property
    def reply(self) -> ReplyForm:
        """What form of reply it asks for."""
        return _FORMS[self.rubric["kind"]]


def tasks_of(condition: str, level: int | None = None) -> tuple[Task, ...]:
    """Return the tasks of a kind, from easy to hard."""
    return tuple(
        task for task in TASKS if task.condition == condition and level in {None, task.level}
    )


def _computational(key: str, text: str, answer: int) -> Task:
    return Task(
        key=f"computational-{key}",
        condition="computational",
        level=int(key[0]),
        text=text,
        rubric={"kind": "number", "answer": answer},
    )


def _social(key: str, text: str, statements: tuple[str, ...], answer: str) -> Task:
    options = dict(zip("ABCD", statements, strict=False))
    return Task(
        key=f"social-{key}",
        condition="social",
        level=int(key[0]),
        text=text,
        rubric={"kind": "option", "options": options, "answer": answer},
    )


def _summarisation(key: str, how: str, text: str, rubric: Mapping[str, Any]) -> Task:
    return Task(
        key=f"summarisation-{key}",
        condition="summarisation",
        level=int(key[0]),
        text=f"{how}\n\n{text}",
        rubric={"kind": "summary", **rubric},
    )


TASKS: tuple[Task, ...] = (
    _computational(
        "1a",
        "A shelf holds 4 rows of 17 jars each. 9 jars are taken away. How many jars are left?",
        59,
    ),
    _computational(
        "1b",
        "One ticket costs 13 coins. An order of 6 tickets is reduced by 5 coins in all. How many "
        "coins does the order cost?",
        73,
    ),
    _computational(
        "2a",
        "A tank for 240 litres has 60 litres in it. A pump adds 18 litres a minute, and 3 litres "
        "a minute leak away. After how many minutes is the tank full?",
        12,
    ),
    _computational(
        "2b", "How many whole numbers from 1 to 100 are divisible by 6, by 8, or by both?", 24
    ),
    _computational("3a", "What remains when 7 to the power of 222 is divided by 11?", 5),
    _computational(
        "3b", "In how many different orders can the letters of PEPPERCORN be written?", 151200
    ),
    _social(
        "1a",
        "Mira puts her scarf into the drawer and leaves the flat. While she is away, Jon moves "
        "the scarf to the wardrobe. Mira comes back for it. Where does she look first?",
        ("In the drawer", "In the wardrobe", "In the hall"),
        "A",
    ),
    _social(
        "1b",
        "The soup is burnt. After one spoonful the guest says to the cook, 'What an unusual "
        "flavour', and takes bread instead. What does the guest most likely think?",
        ("That the recipe is worth having", "That the soup is bad", "That bread is wholesome"),
        "B",
    ),
    _social(
        "2a",
        "Lea and Max hear together that the rehearsal is in the hall. Later Lea, alone, is told "
        "that it has been moved to the library. Max is told so as well, but Lea does not know "
        "that. Where does Lea expect Max to go?",
        ("To the library", "Home", "To the hall"),
        "C",
    ),
    _social(
        "2b",
        "Rita knitted a hat for Paul's birthday. A year later Paul, who has forgotten that it "
        "came from her, tells Rita: 'That hat? I never liked it, somebody gave it to me.' Who "
        "has said what should not have been said?",
        (
            "Rita, since she brought it up",
            "Nobody, since Paul told the truth",
            "Paul, since Rita had made the hat",
        ),
        "C",
    ),
    _social(
        "3a",
        "Ola reads a notice that the meeting is cancelled. Pia watches her read it, unseen by "
        "Ola. Quinn sees both of them, and sees that Ola has not noticed Pia. What does Quinn "
        "think that Ola thinks about Pia?",
        (
            "That Pia saw her read the notice",
            "That Pia does not know she read the notice",
            "That Pia wrote the notice",
        ),
        "B",
    ),
    _social(
        "3b",
        "Ines tells Hugo that she would love to come to his concert but has to work. Hugo knows "
        "that she has the day off, Ines knows that he knows, and he knows that too. What is Ines "
        "most likely doing?",
        (
            "Declining in a way that spares him a plain refusal",
            "Making him believe that she has to work",
            "Asking him to move the concert",
        ),
        "A",
    ),
    _summarisation(
        "1a",
        "Summarise this notice in one sentence of at most 30 words, and write nothing else.",
        "The swimming pool in Norham closes on 3 May, since its roof has to be repaired. The work "
        "is to take eight weeks. Season tickets stay valid for two months longer.",
        {
            "facts": (("pool",), ("clos", "shut"), ("roof", "repair"), ("ticket",)),
            "max_words": 30,
        },
    ),
    _summarisation(
        "1b",
        "Summarise this report in one sentence of at most 30 words, and write nothing else.",
        "A bakery in Tillum took 200 loaves to the town's shelter on Friday. They had been baked "
        "for a fair, but heavy rain meant that it was called off.",
        {
            "facts": (
                ("baker",),
                ("loaves", "bread"),
                ("shelter",),
                ("rain", "cancel", "call", "fair"),
            ),
            "max_words": 30,
        },
    ),
    _summarisation(
        "2a",
        "State in one sentence of at most 30 words what this study found in the end, and write "
        "nothing else.",
        "For three years researchers in Velden followed 412 owners of allotments. Those who kept "
        "bees harvested about a fifth more beans than their neighbours, and local papers spoke of "
        "the power of the bee. The beekeepers, however, had larger plots to begin with. Per "
        "square metre, the harvest was the same with bees and without.",
        {
            "facts": (
                ("bee",),
                ("bean", "harvest", "yield", "crop"),
                ("same", "no ", "not ", "didn", "equal", "identical", "larger", "bigger"),
                ("plot", "area", "square", "allotment", "garden"),
            ),
            "max_words": 30,
        },
    ),
    _summarisation(
        "2b",
        "Summarise the three outcomes of this meeting in at most two sentences and 35 words, and "
        "write nothing else.",
        "The council met on Tuesday evening. Ms Oyelaran moved that Mill Street be given a lane "
        "for bicycles; there was much applause, and the motion was lost by five votes to six. Mr "
        "Brandt moved that forty limes be planted there instead, which was carried. Parking, the "
        "last point, was put off until June.",
        {
            "facts": (
                ("cycl", "bicycl", "bike"),
                ("reject", "lost", "fail", "defeat", "turned", "not pass", "voted down"),
                ("tree", "lime"),
                ("park",),
                ("postpon", "put off", "defer", "delay", "june", "adjourn"),
            ),
            "max_words": 35,
            "max_sentences": 2,
        },
    ),
    _summarisation(
        "3a",
        "Summarise this report in one sentence of at most 28 words, without any figures and "
        "without names of persons, and write nothing else.",
        "The ferry Alba ran aground off Skerrin at 5.40 on Sunday with 63 passengers. Captain "
        "Ewan Rowe first blamed the fog. The log, however, shows that the echo sounder had been "
        "out of order since Thursday, and that Rowe had asked twice for its repair. The company's "
        "director, Petra Lund, has now said that they were not passed on. Nobody was hurt.",
        {
            "facts": (
                ("ferry", "ship", "vessel", "alba"),
                ("aground", "ground", "strand"),
                ("sounder", "equipment", "instrument", "sonar", "depth", "device"),
                ("request", "repair", "warn", "report", "ask", "pass"),
                (
                    "no one",
                    "nobody",
                    "unhurt",
                    "without injur",
                    "no injur",
                    "none",
                    "no passenger",
                ),
            ),
            "max_words": 28,
            "forbidden": ("rowe", "lund", "ewan", "petra"),
            "digits": False,
        },
    ),
    _summarisation(
        "3b",
        "Summarise where the author stands at the end, in one sentence of at most 25 words that "
        "does not contain the word 'bridge', and write nothing else.",
        "When the bridge at Ostel was planned, I wrote that it would ruin the market: who would "
        "stop where one can drive through? I counted visitors for a year to prove it. There "
        "were more than before, and they stayed longer. I was wrong about the market. About the "
        "noise I was right, and it is for the noise alone that I would still vote against it.",
        {
            "facts": (
                ("noise", "noisy", "loud"),
                ("against", "oppos", "reject", "object", "vote no", "not support"),
                ("market", "visitor", "trade", "stall"),
            ),
            "max_words": 25,
            "forbidden": ("bridge",),
        },
    ),
)
