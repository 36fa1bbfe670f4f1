"""Configuration of the documentation site; `make docs` builds it. Nothing is fetched from the network."""

from __future__ import annotations

import re
from importlib.metadata import version as installed_version
from typing import Any

project = "paribus"
author = "The paribus developers"
project_copyright = "The paribus developers"
release = installed_version("paribus")
version = release

extensions = [
    "myst_parser",
    # Sphinx's own napoleon loses the underscore at the end of fitted attributes.
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]

myst_enable_extensions = ["attrs_inline", "colon_fence"]
# Every heading down to this level can be linked to, as on GitHub.
myst_heading_anchors = 4

# The pages say which members are shown.
numpydoc_show_class_members = False

# In docstrings, `name` is code. As a reference it would lead astray: the extra `plot` is not the method of that name.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autosummary_generate = False
toc_object_entries_show_parents = "hide"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "paribus"
html_static_path = ["_static"]
html_css_files = ["paribus.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
# These sections have a single page: there is nothing to choose from.
html_sidebars = {"index": [], "tutorial/*": [], "changelog": [], "contributing": []}
# Light or dark, as the reader's system is, until they choose.
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "paribus", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def drop_blank_lines(app: Any, page: str, source: list[str]) -> None:
    """Removes the empty line that ends a doctest: readers of the site do not need it."""
    source[0] = re.sub(r"(```python\n>>> .*?\n)\n```\n", r"\1```\n", source[0], flags=re.DOTALL)


def setup(app: Any) -> None:
    """Registers what the pages need."""
    app.connect("source-read", drop_blank_lines)
