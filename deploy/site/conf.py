"""Sphinx's configuration of the site; deploy/site.sh runs it."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "Coppice"
release = re.search(r"project\(coppice VERSION (\S+)", (HERE.parents[1] / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
extensions = ["myst_parser", "pages"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["site.json"]
language = "en"

myst_enable_extensions = ["dollarmath"]
myst_dmath_double_inline = True
myst_update_mathjax = False
suppress_warnings = ["myst.header", "misc.highlighting_failure"]  # skipped heading levels; incomplete code

html_theme = "theme"
html_theme_path = [str(HERE)]
html_static_path = [str(HERE.parents[1] / "common/pages/style/chart.css")]  # the colours
html_math_renderer = "mathml"
html_title = "Coppice"
html_use_index = False
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # it fetches pages, which coppiced's policy and a page in a file forbid: excerpts.js does without
html_permalinks_icon = "#"
highlight_language = "text"
smartquotes = False
