"""How the documentation is built: ``sphinx-build -W docs docs/_build/html``, no network needed."""

import sys
from pathlib import Path

from sphinx_gallery.sorting import FileNameSortKey

import psychollm

HERE = Path(__file__).parent
MADE = HERE / "generated" / "made"  # what programs on the pages write; copied beside the pages
MADE.mkdir(parents=True, exist_ok=True)
sys.path.insert(0, str(HERE / "_ext"))

from elsewhere import inventories  # noqa: E402

project = "psychollm"
author = "The psychollm developers"
copyright = f"2026, {author}"
version = release = psychollm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "architecture",
    "executed",
    "names",
]
intersphinx_mapping = inventories(HERE / "generated" / "inventories")
executed_folder = str(MADE)
myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = [
    "_build",
    "*_tables.md",  # included by other pages
    "ordered_errors.md",  # included by factor_confirmatory.md
    "gallery/*.ipynb",
    "gallery/*.py",
    "gallery/*.json",
    "gallery/*.zip",
]
default_role = "code"
highlight_language = "none"  # what names no language is for a shell
nitpicky = True
suppress_warnings = ["config.cache"]  # sphinx-gallery sorts by a class

# Docstrings carry shapes and units; annotations are read by the type checker.
autodoc_typehints = "none"
autosummary_generate = True
templates_path = ["_templates"]
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|/)(?!plot_)[^/]*\.py$",
    "within_subsection_order": FileNameSortKey,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    # The examples that use a name are shown on its page, and the names in an example lead there.
    "doc_module": ("psychollm",),
    "backreferences_dir": "gallery/backreferences",
    "reference_url": {"psychollm": None},
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "psychollm"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_extra_path = ["generated/made"]
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "collapse_navigation": True,  # of 500 names the left column lists those of one subpackage
    "secondary_sidebar_items": ["headings"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages with nothing beside them in their part of the site need no column on the left.
html_sidebars = {page: [] for page in ("index", "start", "search", "genindex", "py-modindex")}
