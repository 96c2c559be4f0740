"""A panel in sentences: who claims too much, and whose confidence tells right from wrong."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from psychollm.calibration.panels.catalogue import panel_outputs
from psychollm.estimates.estimate import Estimate
from psychollm.estimates.verdict import SMALLEST, Outcome, SmallestEffects, counted, verdicts

if TYPE_CHECKING:
    from psychollm.calibration.panels.panel import CalibrationPanel

# What is told of every model on one screen, where the panel holds it.
TOLD = ("accuracy", "overconfidence", "auroc", "brier", "ece", "corp_mcb", "aurc_normalised")


def verdict(panel: "CalibrationPanel", *, smallest: SmallestEffects = SMALLEST) -> str:
    """Say in one sentence how many models are overconfident and how many know what they know."""
    # What an interval neither shows nor rules out is left open (`psychollm.estimates.verdict`).
    parts = [*_claims(panel, smallest), *_knows(panel, smallest)]
    n = len(panel.models)
    if not parts:
        return f"{n} model{'s' * (n > 1)} on {len(panel.estimates)} metrics."
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def summary(panel: "CalibrationPanel", *, smallest: SmallestEffects = SMALLEST) -> str:
    """Return the verdict and one row of numbers per model."""
    keys = [key for key in TOLD if key in panel.estimates] or list(panel)[: len(TOLD)]
    table = panel.table(digits=2)[keys]
    table.columns = [panel_outputs()[key].heading for key in keys]
    table.insert(0, "n", panel.n.astype(int))
    rows = [["model", *map(str, table.columns)]]
    rows += [
        [str(label), *map(str, row)]
        for label, row in zip(table.index, table.to_numpy(), strict=True)
    ]
    return "\n".join([verdict(panel, smallest=smallest), "", *_aligned(rows)])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Set the first column flush left and the others flush right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _claims(panel: "CalibrationPanel", smallest: SmallestEffects) -> list[str]:
    if "overconfidence" not in panel.estimates:
        return []
    found = verdicts(panel["overconfidence"], smallest=smallest.share)
    if len(panel.models) > 1:
        words = _claims_too_much(smallest.share)
        return [counted(found, words, whether="whether they are over- or underconfident")]
    if found.outcomes[0] is Outcome.OPEN:
        return ["too few answers to say whether the model is over- or underconfident"]
    return [f"the model {_claims_too_much(smallest.share)[found.outcomes[0]][0]}"]


def _claims_too_much(least: float) -> Mapping[Outcome, tuple[str, str]]:
    neither = f"neither over- nor underconfident by {least:g} or more"
    return {
        Outcome.ABOVE: ("is overconfident", "are overconfident"),
        Outcome.BELOW: ("is underconfident", "are underconfident"),
        Outcome.SMALL: (f"is {neither}", f"are {neither}"),
    }


def _knows(panel: "CalibrationPanel", smallest: SmallestEffects) -> list[str]:
    if "auroc" not in panel.estimates:
        return []
    return [told_apart(panel["auroc"], smallest)]


def told_apart(auroc: Estimate, smallest: SmallestEffects) -> str:
    """Say whether confidence tells correct from wrong answers, in one model or in how many."""
    found = verdicts(auroc, smallest=smallest.auroc, null=0.5)
    little = f"apart as chance does, to within {smallest.auroc:g}"
    if len(found.labels) > 1:
        words = {
            Outcome.ABOVE: (
                "tells correct from wrong answers by its confidence",
                "tell correct from wrong answers by their confidence",
            ),
            Outcome.BELOW: ("is surer where it is wrong", "are surer where they are wrong"),
            Outcome.SMALL: (f"tells them {little}", f"tell them {little}"),
        }
        about = "whether confidence tells correct from wrong answers"
        return counted(found, words, whether=about)
    return {
        Outcome.ABOVE: "its confidence tells correct from wrong answers",
        Outcome.BELOW: "its confidence runs against its correctness",
        Outcome.SMALL: f"its confidence tells correct from wrong answers {little}",
        Outcome.OPEN: "too few answers to say whether its confidence tells right from wrong",
    }[found.outcomes[0]]
