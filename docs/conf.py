"""How Sphinx builds the pages: `make docs`. Sources are the Markdown files as they stand.

The folder of sources is the repository, so that a relative link means the same here and where the
files are read as they are. Comments in pages say where something generated belongs; see filling.py.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "Topwater"
author = "the Topwater authors"
project_copyright = author
html_title = "Topwater"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "filling"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "examples/**.md"]
exclude_patterns = [".*", "out", "src", "tests", "build", "dist"]
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]  # SPARQL's colours, for RSP-QL
nitpick_ignore_regex = [
    # Types in signatures that are not ours, or not public. Other references have to be there.
    ("py:class", r"(?!topwater\.).*"),
    ("py:class", r"topwater\..*\._?[A-Z]\w+"),
    ("py:obj", r"typing\..*"),
    ("py:meth", r"pyspark\..*"),
]

myst_heading_anchors = 3
myst_links_external_new_tab = False

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_custom_sections = ["Contract"]
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
python_maximum_signature_line_length = 88

html_theme = "furo"
html_static_path = ["_theme"]
html_css_files = ["topwater.css"]
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
