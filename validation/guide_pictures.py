"""The figures of the guide: each page's own example, run and drawn.

``python -m validation.guide_pictures [PAGE ...]`` runs the examples of each page of `DRAWN` up to
the first line that defines the name there, and saves what that result draws under
docs/_static/guide. Takes ten seconds.
"""

import argparse
import doctest
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

DOCS = Path(__file__).resolve().parents[1] / "docs"
OUT = DOCS / "_static" / "guide"
DRAWN = {  # page: name of the result in its examples, and the figure's name of that result
    "attempts": "found",
    "benchmark_agreement": "found",
    "compare": "found",
    "difficulty": "study",
    "evaluation_card": "card",
    "judges": "found",
    "one_scale": "scale",
    "raters": "found",
    "self_efficacy": "study",
    "semantic_calibration": "study",
    "steering_match": "study",
    "votes": "found",
}


def result(page: str, name: str) -> Any:
    """Run the examples of a page until one of them defines `name`; return its value."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    known: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(text, page):
        if not example.options.get(doctest.SKIP, False):
            exec(compile(example.source, page, "single"), known)  # noqa: S102
        if name in known:
            return known[name]
    message = f"no example of {page}.md defines {name}"
    raise NameError(message)


def draw(page: str) -> Path:
    """Save the figure of a page; return its path."""
    drawn = result(page, DRAWN[page]).plot()
    figure: Any = drawn.figure if isinstance(drawn, Axes) else drawn
    path = OUT / f"{page}.png"
    OUT.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})
    plt.close(figure)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="pages, all by default", metavar="PAGE")
    for page in parser.parse_args().pages or DRAWN:
        print(draw(page))


if __name__ == "__main__":
    main()
