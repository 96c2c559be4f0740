"""``executed``: a program that runs when the pages are built, and below it what it printed.

It runs in the folder that is copied beside the pages, so that what it writes can be looked at.
"""

import io
from contextlib import chdir, redirect_stdout

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx


class Executed(Directive):
    has_content = True

    def run(self) -> list[nodes.Node]:
        program, printed = "\n".join(self.content), io.StringIO()
        with (
            chdir(self.state.document.settings.env.config.executed_folder),
            redirect_stdout(printed),
        ):
            exec(compile(program, self.state.document["source"], "exec"), {})  # noqa: S102
        shown = printed.getvalue()
        return [
            nodes.literal_block(program, program, language="python"),
            nodes.literal_block(shown, shown, language="none", classes=["printed"]),
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_config_value("executed_folder", ".", "env", types=[str])
    app.add_directive("executed", Executed)
    return {"parallel_read_safe": True}
