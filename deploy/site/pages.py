"""Extends Sphinx with MyST to show pages as a code host does: links and anchors, formulas, and tables that scroll.

Links are resolved as in the repository. A link that leads nowhere is a warning, which fails the build. A link whose text is
the name of a page's file shows the page's title instead. On a phone a table of sentences is shown as blocks.
"""

import json
import pathlib
import posixpath
import re
import subprocess
import unicodedata

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.writers.html5 import HTML5Translator
from sphinx.util import logging

logger = logging.getLogger(__name__)


def slug(heading):
    """Returns GitHub's anchor for a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


class ScrollBox(nodes.General, nodes.Element):
    """Surrounds a table, so that it scrolls by itself."""


class PageLink(nodes.Inline, nodes.TextElement):
    """A link to `docname` and, if it is not empty, its `anchor`."""


def read_site(app):
    site = json.loads((pathlib.Path(app.srcdir) / "site.json").read_text(encoding="utf-8"))
    app.env.coppice_pages, app.env.coppice_targets, app.env.coppice_folders = site["pages"], site["targets"], site["folders"]
    if not hasattr(app.env, "coppice_anchors"):
        app.env.coppice_anchors = {}


def warn(env, node, docname, message):
    path = env.coppice_pages.get(docname, docname)
    logger.warning("%s", message, location=f"{path}:{node.line}" if node.line else path)


def name_anchors(env, doctree):
    """Gives each section GitHub's anchor as its id, and notes all anchors of the page."""
    taken = set()
    for section in doctree.findall(nodes.section):
        name = first = slug(section[0].astext())
        again = 0
        while name in taken:
            again += 1
            name = f"{first}-{again}"
        taken.add(name)
        section["ids"] = [name]
    for raw in doctree.findall(nodes.raw):
        taken.update(re.findall(r'<a id="([^"]+)"', raw.astext()))
    env.coppice_anchors[env.docname] = taken


def follow_links(env, doctree):
    """Replaces MyST's references by links to pages."""
    path = env.coppice_pages[env.docname]
    is_local = lambda node: isinstance(node, (addnodes.pending_xref, addnodes.download_reference)) and node.get("reftype") == "myst"  # noqa: E731
    for node in list(doctree.findall(is_local)):
        name, _, anchor = node["reftarget"].partition("#")
        target = path if not name else posixpath.normpath(posixpath.join("" if name.startswith("/") else posixpath.dirname(path), name.lstrip("/")))
        docname = env.coppice_targets.get(target)
        children = node[0].children
        if docname is None and target in env.coppice_folders:
            node.replace_self(children)
            continue
        if docname is None:
            warn(env, node, env.docname, f"there is no {target}, or the site does not show it")
            node.replace_self(children)
            continue
        if env.coppice_pages.get(docname) != target:
            anchor = ""  # the target is a source file that a reference page replaces
        link = PageLink("", "", *children, docname=docname, anchor=anchor, shown=target)
        link.source, link.line = node.source, node.line
        node.replace_self(link)


def read_math_fences(doctree):
    """Turns ```math and $`x`$ into formulas, as on a code host."""
    for node in list(doctree.findall(nodes.literal_block)):
        if node.get("language") == "math":
            formula = nodes.math_block(node.astext(), node.astext(), nowrap=False, number=None, label=None)
            formula.source, formula.line = node.source, node.line
            node.replace_self(formula)
    for node in doctree.findall(nodes.math):
        text = node.astext()
        if text.startswith("`") and text.endswith("`"):
            node.children = [nodes.Text(text[1:-1])]


LEAST_SENTENCE = 16  # average number of characters per cell from which a table has words rather than figures


def label_cells(table):
    """Gives each cell of a table of sentences its column's head, which is shown if rows become blocks."""
    rows = [[entry.astext() for entry in row.findall(nodes.entry)] for row in table.findall(nodes.row)]
    cells = [cell for row in rows[1:] for cell in row]
    if sum(map(len, cells)) < LEAST_SENTENCE * len(cells):
        return False
    for row in list(table.findall(nodes.row))[1:]:
        for column, entry in enumerate(row.findall(nodes.entry)):
            if 0 < column and len(rows[0]) > 2:
                entry["label"] = rows[0][column]
    return True


def box_tables(doctree):
    for table in list(doctree.findall(nodes.table)):
        box = ScrollBox(sentences=label_cells(table))
        table.replace_self(box)
        box += table


def read_page(app, doctree):
    name_anchors(app.env, doctree)
    follow_links(app.env, doctree)
    read_math_fences(doctree)
    box_tables(doctree)


class ResolveLinks(SphinxPostTransform):
    default_priority = 5

    def run(self):
        for link in list(self.document.findall(PageLink)):
            docname, anchor = link["docname"], link["anchor"]
            if anchor and anchor not in self.env.coppice_anchors.get(docname, ()):
                warn(self.env, link, self.env.docname, f"{link['shown']} has no #{anchor}")
            if link["shown"].endswith((".md", ".ipynb")) and link.astext() in (link["shown"], posixpath.basename(link["shown"])):
                link.children = [nodes.Text(self.env.titles[docname].astext())]
            uri = "" if docname == self.env.docname and anchor else self.app.builder.get_relative_uri(self.env.docname, docname)
            reference = nodes.reference("", "", *link.children, internal=True, refuri=uri + (f"#{anchor}" if anchor else ""))
            link.replace_self(reference)


def forget_page(app, env, docname):
    env.coppice_anchors.pop(docname, None)


def merge_pages(app, env, docnames, other):
    for docname in docnames:
        env.coppice_anchors[docname] = other.coppice_anchors[docname]


# ---- What the search shows of a page (theme/static/excerpts.js)

def plain_text(node):
    """Words below a node but those of its sections; a row of a table is a line with dots between its cells."""
    if isinstance(node, (nodes.section, nodes.title, nodes.raw, nodes.comment)):
        return ""
    if isinstance(node, nodes.TextElement):
        return node.astext()
    parts = [plain_text(child) for child in node.children]
    return (" · " if isinstance(node, nodes.row) else " ").join(part for part in parts if part)


def sections_of(doctree):
    """[anchor, title, text] of each section of a page, in its order."""
    return [[section["ids"][0], section[0].astext(), " ".join(" ".join(plain_text(child) for child in section.children).split())]
            for section in doctree.findall(nodes.section)]


def write_excerpts(app, pagename, templatename, context, doctree):
    if doctree is None or "nosearch" in app.env.metadata[pagename]:
        return
    path = pathlib.Path(app.outdir) / "excerpts" / f"{pagename}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    sections = json.dumps(sections_of(doctree), ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"Excerpts.add({json.dumps(pagename)},{sections});\n", encoding="utf-8")


# ---- Formulas

_made = {}  # MathML by formula
ALPHABETS = {"double-struck": "DOUBLE-STRUCK", "bold": "BOLD", "script": "SCRIPT", "fraktur": "FRAKTUR"}


def letter(match):
    """Returns a letter of another alphabet as a character of its own: browsers only know the mathvariant `normal`."""
    for name in (f"MATHEMATICAL {ALPHABETS[match[1]]} CAPITAL {match[2]}", f"{ALPHABETS[match[1]]} CAPITAL {match[2]}"):
        try:
            return f"<mi>{unicodedata.lookup(name)}</mi>"
        except KeyError:
            pass
    return match[0]


def for_browsers(markup):
    markup = re.sub(rf'<mi mathvariant="({"|".join(ALPHABETS)})">([A-Z])</mi>', letter, markup)
    return re.sub(r"(<mo[^>]*>)-(</mo>)", "\\1\u2212\\2", markup)


def mathml(translator, node, display):
    formula = node.astext().strip()
    if formula not in _made:
        ran = subprocess.run(["blahtexml", "--mathml", "--mathml-encoding", "raw"], input=formula, capture_output=True, text=True)
        markup = re.search(r"<markup>\s*(.*?)\s*</markup>", ran.stdout, re.DOTALL)
        _made[formula] = (for_browsers(markup[1]), "") if markup else ("", (re.search(r"<message>(.*?)</message>", ran.stdout) or [0, ran.stderr])[1])
    markup, problem = _made[formula]
    if problem or not markup:
        warn(translator.builder.env, node, translator.builder.current_docname, f"this formula cannot be shown: {formula!r}: {problem}")
    translator.body.append(f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="{display}"><mrow>{markup}</mrow></math>')
    raise nodes.SkipNode


def visit_math(translator, node):
    mathml(translator, node, "inline")


def visit_math_block(translator, node):
    translator.body.append('<div class="formula">')
    try:
        mathml(translator, node, "block")
    finally:
        translator.body.append("</div>\n")


def visit_box(translator, node):
    translator.body.append('<div class="scroll sentences">' if node["sentences"] else '<div class="scroll">')


def depart_box(translator, node):
    translator.body.append("</div>\n")


class Translator(HTML5Translator):
    def visit_entry(self, node):
        first = len(self.body)
        super().visit_entry(node)
        added = f' data-label="{self.attval(node["label"])}"' if node.get("label") else ""
        added += " data-empty" if not node.astext() and not list(node.findall(nodes.image)) else ""
        self.body[first] = self.body[first].replace("<td", "<td" + added, 1)


def setup(app):
    app.set_translator("html", Translator)
    app.add_node(ScrollBox, html=(visit_box, depart_box))
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.connect("builder-inited", read_site)
    app.connect("doctree-read", read_page, priority=100)
    app.connect("env-purge-doc", forget_page)
    app.connect("env-merge-info", merge_pages)
    app.connect("html-page-context", write_excerpts)
    app.add_post_transform(ResolveLinks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
