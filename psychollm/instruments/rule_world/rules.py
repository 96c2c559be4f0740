"""The three rules in words, as they are or with the two derived kinds exchanged."""

from dataclasses import dataclass, replace

from psychollm.instruments.rule_world.skins import Lexicon


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a world, told in a lexicon."""

    # Inverted, the word that doubles elsewhere blocks, and the other way round; the text says so.

    usual: Lexicon
    inverted: bool = False

    @property
    def words(self) -> Lexicon:
        """The lexicon by what its words do here."""
        if not self.inverted:
            return self.usual
        return replace(self.usual, doubler=self.usual.blocker, blocker=self.usual.doubler)

    @property
    def text(self) -> str:
        """All that is known about the world."""
        w = self.words
        lines = [
            f"In this world there are {w.units}, and each can hold {w.load}. Three rules are "
            "known.",
            f"Rule 1. When a {w.passer} {w.unit} is {w.set_off} alone and {w.faces} exactly one "
            f"other {w.unit}, all of its {w.load} moves to that {w.unit} and is added to what is "
            "there.",
            f"Rule 2. When {w.load} moves to a {w.doubler} {w.unit}, twice the amount that set "
            "out is added there instead.",
            f"Rule 3. No {w.load} moves to a {w.blocker} {w.unit}: it stays where it would have "
            "come from.",
            f"A {w.unit} that takes part in no step keeps what it holds. Nothing else is known: "
            "what the rules do not say is not settled.",
        ]
        return "\n".join([*lines, *self._warning])

    @property
    def _warning(self) -> list[str]:
        if not self.inverted:
            return []
        w = self.usual
        return [
            f"In other worlds of this sort a {w.doubler} {w.unit} doubles and a {w.blocker} "
            f"{w.unit} blocks. Here it is the other way round, as the rules above say."
        ]
