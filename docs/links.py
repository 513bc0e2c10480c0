"""Links from names in the text to the pages of reference."""

import re
from functools import cache

import reference
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

from fwexp.commands.option_help import titles_of
from fwexp.options import STRUCTURED
from fwexp.run.catalogues import kinds

NAME = re.compile(r"(fwexp\.(?:\w+\.)*)?([A-Za-z_]\w*)(\(.*)?", re.DOTALL)
ELSEWHERE = (nodes.title, nodes.reference, nodes.term, addnodes.desc_signature, addnodes.pending_xref)


@cache
def targets() -> dict[str, tuple[str, str]]:
    """Return the page and the anchor of every public object, by its last name."""
    found = {}
    for group in reference.API:
        for path in reference.members(group):
            page = f"generated/api/{reference.page_name(group, path)}"
            found.setdefault(path.rpartition(".")[2], (page, f"{group}.{path}"))
    return found


@cache
def methods() -> frozenset[str]:
    """Return the names of solvers and methods that name nothing else: those for structured SVMs."""
    return frozenset(name for name in titles_of("solver") if STRUCTURED in kinds("solver", reference.own_name("solver", name)))


def target(text: str) -> tuple[str, str] | None:
    """Return the page and the anchor of a name in inline code; a function is named with ``fwexp.`` or as a call."""
    match = NAME.fullmatch(text.strip())
    if match and (match[1] or match[3] or match[2][0].isupper()) and match[2] in targets():
        return targets()[match[2]]
    return (f"generated/solver/{text}", "") if text in methods() else None


class LinkNames(SphinxPostTransform):
    """Make links of the names of public objects and of solvers in inline code."""

    default_priority = 5

    def run(self, **kwargs):
        """Replace the names of a page."""
        here = self.env.current_document.docname
        for node in list(self.document.findall(nodes.literal)):
            parents, parent = [], node.parent
            while parent is not None:
                parents.append(parent)
                parent = parent.parent
            page, anchor = target(node.astext()) or ("", "")
            if page and page != here and not any(isinstance(parent, ELSEWHERE) for parent in parents):
                node.replace_self(make_refnode(self.app.builder, here, page, anchor, node.deepcopy()))
