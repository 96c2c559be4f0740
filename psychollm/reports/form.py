"""HTML form that presents the models' prompts to a person, without network access."""

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from psychollm._base.errors import InputError
from psychollm._base.shown import one_line, visible
from psychollm.instruments.prompt import Prompt
from psychollm.reports.page import write_text

_TEMPLATES = files("psychollm.reports").joinpath("templates")
# In embedded JSON, these characters could end a script or one of its lines.
_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def write_form(
    prompts: Iterable[Prompt], path: str | PathLike[str], *, title: str = "Questions"
) -> Path:
    """Write an HTML form in which a person answers the same prompts as the models.

    The page shows one prompt after the other, stores answers in the browser, and saves them to a
    file that `read_people` reads. The page makes no network requests.

    Parameters
    ----------
    prompts : iterable of Prompt
        Prompts to show. Repeated prompts are shown once; prompts for a single model or for judges
        are omitted.
    path : path
        File to write; its folder is created.
    title : str
        Title of the form.

    Returns
    -------
    Path
        Path of the written file.

    Raises
    ------
    InputError
        If no prompt remains, or if the file cannot be written.

    Examples
    --------
    >>> from psychollm.instruments import RuleWorld
    >>> page = write_form(RuleWorld(n=4, seed=1).prompts(), getfixture("tmp_path") / "form.html")
    >>> "Question" in page.read_text(encoding="utf-8")
    True
    """
    asked = _asked(prompts)
    if not asked:
        msg = "there are no prompts for people: pass the prompts of an instrument"
        raise InputError(msg)
    data = json.dumps({"key": _key(asked), "prompts": asked}, ensure_ascii=False)
    parts = {
        "title": escape(one_line(title)),
        "n": str(len(asked)),
        "data": data.translate(_IN_SCRIPT),
        "style": _template("page.css"),
        "script": _template("form.js"),
    }
    page = re.sub(r"\{\{ (\w+) \}\}", lambda name: parts[name[1]], _template("form.html"))
    return write_text(path, lambda: visible(page))


def _template(name: str) -> str:
    return _TEMPLATES.joinpath(name).read_text(encoding="utf-8")


def _asked(prompts: Iterable[Prompt]) -> list[dict[str, Any]]:
    kept = [one for one in prompts if for_people(one)]
    return [
        {
            "key": one.key,
            "item": one.item,
            "instrument": str(one.about.get("instrument", "")),
            "reply": one.reply,
            "follows": one.follows,
            "messages": [{"role": each.role, "content": each.content} for each in one.messages],
        }
        for one in kept
    ]


def for_people(prompt: Prompt) -> bool:
    """Return True unless a prompt is a repeat or is meant for a single model or a judge."""
    return prompt.repeat == 0 and prompt.to is None and "judges" not in prompt.about


def _key(asked: list[dict[str, Any]]) -> str:
    """Return the key of the browser's storage, which depends on the prompts."""
    return f"psychollm-{sha256(json.dumps(asked).encode()).hexdigest()[:16]}"
