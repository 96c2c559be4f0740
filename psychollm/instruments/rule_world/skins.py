"""The words a world is told in: invented ones, or those of a trade that everybody knows.

All skins tell the same worlds in the same sentences; only the words differ. What a model does
better or worse in a trade than among invented words is due to what it has read about the trade.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from psychollm._base.checks import check_choice
from psychollm.instruments.rule_world.vocabulary import draw_vocabulary
from psychollm.instruments.rule_world.world import Kind

Skin: TypeAlias = Literal["synthetic", "circuits", "plumbing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexicon:
    """Words to tell a world in."""

    unit: str
    load: str
    measure: str  # what stands between a number and the load
    passer: str
    doubler: str
    blocker: str
    faces: str  # third person
    set_off: str  # participle
    kinds: tuple[str, ...]  # of units, that no rule defines
    quantities: tuple[str, ...]  # that no rule defines

    @property
    def units(self) -> str:
        """Several of them."""
        return f"{self.unit}s"

    def amount(self, n: int) -> str:
        """Return so much of the load in words."""
        return f"{n} {self.measure}{self.load}"

    def word(self, kind: Kind) -> str:
        """Return the word for a kind that the rules define."""
        return {
            Kind.PASSER: self.passer,
            Kind.DOUBLER: self.doubler,
            Kind.BLOCKER: self.blocker,
        }[kind]


_CIRCUITS = Lexicon(
    unit="cell",
    load="charge",
    measure="units of ",
    passer="driver",
    doubler="gain",
    blocker="shielded",
    faces="leads to",
    set_off="switched on",
    kinds=("bridge", "shunt", "ballast", "pilot", "trimmer", "choke", "latch", "phased"),
    quantities=("slew", "bias", "ripple", "reluctance", "drift", "skew", "jitter", "hum"),
)
_PLUMBING = Lexicon(
    unit="tank",
    load="water",
    measure="litres of ",
    passer="feeder",
    doubler="booster",
    blocker="sealed",
    faces="drains towards",
    set_off="opened",
    kinds=("header", "buffer", "ballast", "sump", "siphon", "surge", "baffled", "lagged"),
    quantities=("scale", "silt", "sludge", "draught", "priming", "lather", "froth", "brine"),
)


def lexicon(skin: Skin, *, seed: int = 0, number: int = 0) -> Lexicon:
    """Return the words of a skin."""
    check_choice("skin", skin, Skin)
    if skin != "synthetic":
        return _CIRCUITS if skin == "circuits" else _PLUMBING
    words = draw_vocabulary(seed, number)
    half = len(words.spare) // 2
    return Lexicon(
        unit=words.unit,
        load=words.load,
        measure="",
        passer=words.passer,
        doubler=words.doubler,
        blocker=words.blocker,
        faces="faces",
        set_off="roused",
        kinds=words.spare[:half],
        quantities=words.spare[half:],
    )
