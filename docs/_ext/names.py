"""Names in the text lead to their pages.

Code in the text (``tetrachoric``, ``psy.tetrachoric``, ``IRTFit.summary()``, ``pandas.NA``) and
the types of parameters, returns and errors are looked up among all names that have a page, so that
the sources stay plain Markdown and plain docstrings. A name in a docstring is first looked for in
its class, then in its subpackage. What could be meant in two ways, and words that are no names,
stand in ``names.toml``.
"""

import re
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

SETTINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_CALL = re.compile(r"(?:\w+ = )?(?P<name>[A-Za-z_]\w*(?:\.\w+)*)(?P<call>\(.*\))?", re.DOTALL)
_TYPE = re.compile(r"[\w.]*[A-Z]\w+|ndarray")
Target = tuple[str, str]  # "obj" and a full name, or "doc" and a page


class Place(NamedTuple):
    """Where a text stands: on a page, and there in the docstring of a name with parameters."""

    page: str = ""
    name: str = ""
    parameters: frozenset[str] = frozenset()


ANYWHERE = Place()


class Names:
    """All names that have a page, by every way to say them.

    Parameters
    ----------
    documented : iterable of str
        Full names, those of methods included.
    modules : collection of str
        Full names of modules, which are written in full: a kernel bears the name of the function
        that uses it, and subpackages are called what everything is called.
    elsewhere : iterable of str
        Full names of other projects.
    """

    def __init__(
        self,
        documented: Iterable[str],
        modules: Collection[str] = (),
        elsewhere: Iterable[str] = (),
    ) -> None:
        self.known = {*documented, *modules}
        self.elsewhere = set(elsewhere)
        self.ends: dict[str, set[str]] = defaultdict(set)
        for name in self.known.difference(modules):
            parts = name.split(".")
            for k in range(1, len(parts)):
                self.ends[".".join(parts[k:])].add(name)

    def find(self, text: str, place: Place = ANYWHERE) -> Target | None:
        """Return what a piece of code refers to, or None if it is not the name of anything."""
        code = _CALL.fullmatch(text)
        if not code:
            return None
        name, called = code["name"], code["call"] is not None
        words = SETTINGS["words"]
        if name in place.parameters:
            return None
        if not called and name in words["everywhere"] + words.get(place.page, []):
            return None
        first, dot, rest = name.partition(".")
        full = f"{SETTINGS['prefixes'].get(first, first)}{dot}{rest}"
        if full in self.elsewhere:
            return "obj", full
        found = self._of_psychollm(full) or self._around(full, place) or self._alone(full)
        if found:
            return ("obj", found) if found != place.name else None
        return self._method(name) if called else None

    def _of_psychollm(self, name: str) -> str | None:
        """Return the documented name of a path through the package, inner modules included."""
        for one in (name, f"psychollm.{name}"):
            if one in self.known and "." in name:
                return one
        room, _, rest = name.removeprefix("psychollm.").partition(".")
        if name.startswith("psychollm.") and rest:
            last = rest.rpartition(".")[2]
            tried = (f"psychollm.{rest}", f"psychollm.{room}.{last}", f"psychollm.{last}")
            return next((one for one in tried if one in self.known), None)
        return None

    def _around(self, name: str, place: Place) -> str | None:
        """Return what a name means in the docstring of a class, or in its subpackage."""
        around = place.name
        while "." in around:
            if f"{around}.{name}" in self.known:
                return f"{around}.{name}"
            around = around.rpartition(".")[0]
        return None

    def _alone(self, name: str) -> str | None:
        """Return the one thing that bears a name; for a field, the class that has it."""
        found = self.ends.get(name, set())
        if "." not in name:  # methods have a class before them
            found = {one for one in found if one.rpartition(".")[0].islower()}
        if len(found) == 1 or name in SETTINGS["meant"]:
            return SETTINGS["meant"].get(name) or min(found)
        owner = name.rpartition(".")[0]
        return self._alone(owner) if owner[:1].isupper() else None

    def _method(self, name: str) -> Target | None:
        """Return the one class with such a method, or the page on what many classes have."""
        last = name.rpartition(".")[2]
        if told := SETTINGS["pages"].get(last):
            return "obj" if told.startswith("psychollm.") else "doc", told
        found = self.ends.get(last, set())
        return ("obj", min(found)) if "." in name and len(found) == 1 else None


class LinkNames(SphinxPostTransform):
    """Make references of names, before Sphinx resolves all references."""

    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        names = self.env.names_of_pages
        for node in list(self.document.findall(nodes.literal)):
            linked = _inside(node, nodes.reference, nodes.title, addnodes.pending_xref)
            target = None if linked else names.find(node.astext(), self._place(node))
            if target:
                node.replace_self(self._reference(target, node.deepcopy()))
        for node in list(self.document.findall(_is_type)):
            place = self._place(node)._replace(parameters=frozenset())
            for text in list(node.findall(nodes.Text)):
                text.parent.replace(text, list(self._linked(text.astext(), names, place)))

    def _linked(self, text: str, names: Names, place: Place) -> Iterator[nodes.Node]:
        """Return a text with its types as references."""
        end = 0
        for word in _TYPE.finditer(text):
            full = SETTINGS["types"].get(word[0], word[0])
            if target := names.find(full, place):
                yield nodes.Text(text[end : word.start()])
                yield self._reference(target, nodes.inline(word[0], word[0]))
                end = word.end()
        yield nodes.Text(text[end:])

    def _place(self, node: nodes.Node) -> Place:
        desc = next((one for one in _above(node) if isinstance(one, addnodes.desc)), None)
        if desc is None or desc.get("domain") != "py":
            return Place(self.env.docname)
        signature = desc[0]
        name = ".".join(filter(None, [signature.get("module"), signature.get("fullname")]))
        arguments = (one.astext() for one in signature.findall(addnodes.desc_parameter))
        parameters = frozenset(re.match(r"[*\s]*(\w*)", one)[1] for one in arguments)
        return Place(self.env.docname, name, parameters)

    def _reference(self, target: Target, content: nodes.Element) -> nodes.Element:
        kind, name = target
        here = self.env.docname
        if kind == "doc":
            return make_refnode(self.app.builder, here, name, "", content)
        return addnodes.pending_xref(
            "", content, refdomain="py", reftype=kind, reftarget=name, refdoc=here, refwarn=True
        )


def _above(node: nodes.Node) -> Iterator[nodes.Node]:
    while node.parent is not None:
        node = node.parent
        yield node


def _inside(node: nodes.Node, *kinds: type) -> bool:
    return any(isinstance(one, kinds) for one in _above(node))


def _is_type(node: nodes.Node) -> bool:
    """Say whether a node is the type of a parameter, or of what is returned or raised."""
    if isinstance(node, nodes.classifier):
        return _inside(node, nodes.field)
    if not isinstance(node, nodes.term) or not _inside(node, nodes.field):
        return False
    item = node.parent
    return not any(isinstance(child, nodes.classifier) for child in item.children)


def collect(app: Sphinx, env: Any) -> None:
    """Read off all names once the pages are read."""
    objects = env.get_domain("py").objects
    modules = {name for name, one in objects.items() if one.objtype == "module"}
    documented = {name for name, one in objects.items() if not one.aliased} - modules
    inventories = getattr(env, "intersphinx_inventory", {})
    elsewhere = {
        name for kind in inventories if kind.startswith("py:") for name in inventories[kind]
    }
    env.names_of_pages = Names(documented, modules, elsewhere)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_post_transform(LinkNames)
    app.connect("env-check-consistency", collect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
