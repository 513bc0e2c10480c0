"""How `make docs` builds the pages: no page asks another server for anything, formulas are MathML, and a warning is an error."""

import re
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

sys.path.insert(0, str(Path(__file__).parent))

import generate
from links import LinkNames

from fwexp import __version__

project, author, copyright = "fwexp", "fwexp developers", "fwexp developers"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_copybutton", "sphinx_design"]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_static"]
suppress_warnings = ["ref.python"]  # a name in a docstring that two classes have
default_role = "py:obj"
numpydoc_show_class_members = False  # autodoc lists them
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings have types, and shapes with them
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # outputs are not typed
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"fwexp {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": True,
    "footer_icons": [{"name": "Repository", "url": "https://github.com/fwexp/fwexp", "html": "Repository and issues", "class": ""}],
}


def _mathml(node, block):
    """Return a formula in MathML, without two faults of the converter: delimiters that grow, and indices below accents."""
    text = tex2mathml(node.astext(), as_block=block)
    text = re.sub("<mo>([‖⟨⟩])</mo>", r'<mo stretchy="false">\1</mo>', text)
    accented = r'<munderover>\s*(<mi>.*?</mi>)\s*(<m(\w+)>.*?</m\3>)\s*(<mo stretchy="false">[~^‾]</mo>)\s*</munderover>'
    return re.sub(accented, r'<msub><mover accent="true">\1\4</mover>\2</msub>', text, flags=re.DOTALL)


def _inline(translator, node):
    translator.body.append(_mathml(node, False).replace("<math ", '<math class="math" ', 1))
    raise SkipNode


def _block(translator, node):
    formula = f'<div class="math" tabindex="0" role="group" aria-label="formula">{_mathml(node, True)}</div>'
    translator.body.append(formula)
    raise SkipNode


# What readers of screens and keyboards need beyond what the theme writes.
ACCESSIBLE = {
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    '\n<div id="search-results">': '\n<h1>Search</h1> <div id="search-results">',
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
}


def _make_accessible(app, exception):
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for found, instead in ACCESSIBLE.items():
            text = text.replace(found, instead)
        path.write_text(text, encoding="utf-8")


def _skip_sklearn(app, what, name, value, skip, options):
    return True if (getattr(value, "__module__", None) or "").startswith("sklearn") else None


# The pages and pictures of the publication, where the site has them.
PUBLISHED = {"README.md": "/index.md", "reproduced.md": "/reproduced.md", "figures": ""}


def _find_published(app, name, text):
    for published, generated in PUBLISHED.items():
        text[0] = text[0].replace(f"../results/published/{published}", f"generated/figures{generated}")


def setup(app):
    """Register the formulas, and write the pages that come from the package and from what is published."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    app.add_post_transform(LinkNames)
    app.connect("autodoc-skip-member", _skip_sklearn)
    app.connect("source-read", _find_published)
    app.connect("build-finished", _make_accessible)
    app.connect("builder-inited", lambda app: generate.pages(Path(app.srcdir)))
