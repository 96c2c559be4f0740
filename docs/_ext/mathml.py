"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_OPENING = re.compile(r"\\([Bb]igg?)(?=[(\[/|])")
_CLOSING = re.compile(r"\\([Bb]igg?)(?=[)\]])")


def sized(formula: str) -> str:
    """Say of large parentheses which side they stand on, as the translator wants to know."""
    return _CLOSING.sub(r"\\\1r", _OPENING.sub(r"\\\1l", formula))


def inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(latex2mathml.tex2mathml(sized(node.astext())))
    raise nodes.SkipNode


def block(self: HTML5Translator, node: nodes.math_block) -> None:
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    attributes = {"CLASS": "math-block"}
    if node.get("ids"):
        attributes["ids"] = node["ids"]
    self.body.append(self.starttag(node, "div", **attributes))
    self.body.append(number + latex2mathml.tex2mathml(sized(node.astext()), as_block=True))
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
