#!/usr/bin/env python3
"""The documentation site: what it holds, what fails its build, and how it looks in a browser.

    site_test.py OUTPUT_DIR [CLASS.TEST]...     the built site and pictures of it stay there

Without the packages of deploy/site/packages.txt: exit code 77. Without Chromium the browser's part is skipped.
"""

import base64
import functools
import http.server
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from html.parser import HTMLParser

SOURCE = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = pathlib.Path(sys.argv[1]).resolve()
SITE = OUTPUT / "site"
sys.path[:0] = [str(SOURCE / "tests/browser"), str(SOURCE / "tests/support")]
import missing_package  # noqa: E402

# As coppiced sends the site (server/http/site.cc), with the scripts of the search page or of others.
POLICY = "default-src 'none'; script-src {}; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
TREES = ("client", "cmake", "common", "deploy", "docs", "proto", "server")
FILES = ("README.md", "SECURITY.md", "CHANGELOG.md", "CONTRIBUTING.md", "CMakeLists.txt")
COMMON_CHECKS = "document.querySelectorAll('h1').length === 1 && document.querySelector('main') !== null && document.title !== ''"


def build(root, out, **environment):
    return subprocess.run([root / "deploy/site.sh", out], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, **environment})


class References(HTMLParser):
    """What a page loads, what it links to, and what a strict policy forbids."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.ids, self.forbidden, self.scripts = [], [], set(), [], 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids.add(found.get("id"))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        self.loads += [found[name] for name in ("src", "srcset", "data", "poster") if found.get(name)]
        if tag in ("link", "form"):
            self.loads.append(found.get("href") or found.get("action") or "")
        if tag in ("base", "iframe", "object", "embed", "style") or tag == "script" and "src" not in found:
            self.forbidden.append(tag)
        self.forbidden += [name for name in found if name == "style" or name.startswith("on")]
        self.scripts += tag == "script"


@functools.lru_cache(maxsize=None)
def references(path):
    return References(path.read_text(encoding="utf-8"))


def setUpModule():
    shutil.rmtree(SITE, ignore_errors=True)
    built = build(SOURCE, SITE)
    assert built.returncode == 0, built.stdout


class SiteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pages = sorted(SITE.rglob("*.html"))

    def page(self, name):
        return (SITE / name).read_text(encoding="utf-8")

    def test_every_document_is_a_page(self):
        for path in [*SOURCE.glob("docs/**/*.md"), *SOURCE.glob("docs/**/*.ipynb")]:
            name = re.sub(r"(^|/)README$", r"\1index", path.relative_to(SOURCE / "docs").with_suffix("").as_posix())
            self.assertTrue((SITE / f"{name}.html").is_file(), path)
        for name in ("index", "overview", "security", "changelog", "search"):
            self.assertTrue((SITE / f"{name}.html").is_file(), name)

    def test_headings_keep_the_anchors_of_the_code_host(self):
        self.assertIn("what-is-not-protected", references(SITE / "threat-model.html").ids)

    def test_reference_has_what_the_sources_say(self):
        for name, text in (("protocol/relay", "Deals a ticket"), ("protocol/study", "CreateStudyRequest"), ("cpp/client-device", "DeviceSession"),
                           ("c", "coppice_device_open"), ("python", "PrivateTreeClassifier"), ("python-remote", "token_file"),
                           ("settings-coppiced", "backup-keep"), ("settings-coppice-relay", "admission")):
            self.assertIn(text, re.sub(r"<[^>]+>", "", self.page(f"reference/{name}.html")), name)
        self.assertIn("Roles: device, admin", re.sub(r"<[^>]+>", "", self.page("reference/protocol/report.html")))

    def test_every_setting_and_every_call_is_in_the_reference(self):
        for file, page in (("full.toml", "settings-coppiced"), ("relay.toml", "settings-coppice-relay")):
            text = self.page(f"reference/{page}.html")
            names = re.findall(r"(?m)^(?:# )?([a-z][a-z0-9-]*) = ", (SOURCE / "deploy/config" / file).read_text(encoding="utf-8"))
            self.assertGreater(len(names), 15)
            for name in names:
                self.assertIn(f'<span class="pre">{name}</span>', text)
        for proto in (SOURCE / "proto/coppice/v1").glob("*.proto"):
            for call in re.findall(r"(?m)^  rpc (\w+)", proto.read_text(encoding="utf-8")):
                self.assertIn(call.lower(), references(SITE / f"reference/protocol/{proto.stem}.html").ids)

    def test_commands_are_there_where_they_are_built(self):
        if not (pathlib.Path(os.environ.get("COPPICE_BIN_DIR", "/nowhere")) / "coppice").is_file():
            missing_package.skip("COPPICE_BIN_DIR has no coppice")
        self.assertIn("study-create", references(SITE / "reference/commands/coppice.html").ids)
        self.assertIn("--min-batch", self.page("reference/commands/coppice.html"))
        self.assertEqual(re.sub(r"<[^>]+>", "", self.page("reference/commands/coppiced.html")).count("A first try, on this machine only"), 1)

    def test_settings_below_one_comment_share_it(self):
        page = self.page("reference/settings-coppiced.html")
        self.assertEqual(page.count("Disk for batches of relays that are not counted yet"), 2)

    def test_nothing_comes_from_another_host_and_nothing_is_inline(self):
        self.assertGreater(len(self.pages), 60)
        for path in self.pages:
            found = references(path)
            self.assertEqual([load for load in found.loads if re.match(r"[a-z]+:|//", load)], [], path)
            self.assertEqual(found.forbidden, [], path)
            self.assertEqual(found.scripts > 0, path.name == "search.html", path)
        for path in SITE.rglob("*.css"):
            self.assertNotRegex(path.read_text(encoding="utf-8"), r"@import|url\(")

    def test_links_and_files_are_there(self):
        for path in self.pages:
            for link in [*references(path).links, *references(path).loads]:
                name, _, anchor = link.partition("#")
                if re.match(r"[a-z]+:", link):
                    continue
                target = (path.parent / name).resolve() if name else path
                self.assertTrue(target.is_file(), f"{path}: {link}")
                if anchor and target.suffix == ".html":
                    self.assertIn(anchor, references(target).ids, f"{path}: {link}")

    def test_search_index_has_words_of_pages_and_none_of_source_files(self):
        index = json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", self.page("searchindex.js").strip(), re.DOTALL)[1])
        names = index["docnames"]
        for word, page in (("curat", "threat-model"), ("postgresql", "postgresql"), ("coppice_device_open", "reference/c")):
            found = [index[part].get(word, []) for part in ("terms", "titleterms")]
            self.assertIn(page, [names[i] for pages in found for i in (pages if isinstance(pages, list) else [pages])], word)
        shown = [i for i, name in enumerate(names) if name.startswith("source/")]
        words = [word for word, found in index["terms"].items() if isinstance(found, int) and found in shown]
        self.assertEqual(words, [])

    def test_excerpts_are_of_shown_pages_and_modest(self):
        made = sorted(path.relative_to(SITE / "excerpts").with_suffix("").as_posix() for path in (SITE / "excerpts").rglob("*.js"))
        self.assertIn("research/mechanisms", made)
        self.assertEqual([name for name in made if name.startswith("source/") or not (SITE / f"{name}.html").is_file()], [])
        self.assertLess(sum(path.stat().st_size for path in (SITE / "excerpts").rglob("*.js.gz")), 600_000)


class BuildTest(unittest.TestCase):
    """Of pages that are wrong, with the configuration of the site."""

    def convert(self, text):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="coppice-site-"))
        self.addCleanup(shutil.rmtree, folder)
        pages = {"index": text, "other": "# Other\n\n## A section\n"}
        for name, page in pages.items():
            (folder / f"{name}.md").write_text(page + ("\n```{toctree}\nother\n```\n" if name == "index" else ""), encoding="utf-8")
        paths = {"index": "docs/README.md", "other": "docs/other.md"}
        (folder / "site.json").write_text(json.dumps({"pages": paths, "targets": {path: name for name, path in paths.items()},
                                                      "folders": ["server/http"]}))
        ran = subprocess.run(["/usr/bin/python3", "-m", "sphinx", "-q", "-W", "--keep-going", "-c", SOURCE / "deploy/site", "-d", folder / "trees",
                              folder, folder / "out"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                             env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        page = folder / "out/index.html"
        return ran.returncode, ran.stdout, page.read_text(encoding="utf-8") if page.is_file() else ""

    def test_links_that_lead_somewhere(self):
        code, said, page = self.convert("# Page\n\n[a](other.md), [b](other.md#a-section), [c](#page), [d](https://example.com), [e](../server/http)\n")
        self.assertEqual((code, said), (0, ""))
        for link in ("other.html", "other.html#a-section", "#page", "https://example.com"):
            self.assertIn(f'href="{link}"', page)
        self.assertIn(", e<", page)  # a folder is named, and not shown

    def test_names_of_files_become_titles(self):
        code, said, page = self.convert("# Page\n\n[other.md](other.md), [`docs/other.md`](other.md#a-section), [more](other.md)\n")
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(re.findall(r'href="other.html[^"]*">(.*?)</a>', page.partition("<main")[2].partition("</main>")[0])[:3], ["Other", "Other", "more"])

    def test_cells_of_sentences_have_the_heads_of_their_columns(self):
        words, figures = "| a table of words | b | a \"c\" |\n|---|---|---|\n| {0} | | {0} |\n", "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n"
        code, said, page = self.convert("# Page\n\n" + words.format("a whole sentence, which is long") + "\n" + figures)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(re.findall(r'data-label="([^"]*)"', page), ["b", "a &quot;c&quot;"])
        self.assertEqual((page.count("<td data-label=\"b\" data-empty"), page.count('class="scroll sentences"'), page.count('class="scroll"')), (1, 1, 1))

    def test_dead_links_and_anchors_fail(self):
        for link, why in (("gone.md", "there is no docs/gone.md"), ("other.md#gone", "docs/other.md has no #gone"),
                          ("#gone", "docs/README.md has no #gone"), ("../server/gone.h", "there is no server/gone.h")):
            code, said, _ = self.convert(f"# Page\n\nSee [it]({link}).\n")
            self.assertNotEqual(code, 0, link)
            self.assertIn("docs/README.md:3", said)
            self.assertIn(why, said)

    def test_formulas_become_mathml(self):
        text = "# Page\n\nInline $\\varepsilon_0$, and $`\\delta < 1`$.\n\n$$\n\\frac{a}{b}\n$$\n\n```math\n\\sqrt{n} - \\mathbb{E}[X]\n```\n"
        code, said, page = self.convert(text)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(page.count('display="inline"'), 2)
        self.assertEqual(page.count('display="block"'), 2)
        for sign in ("<mfrac>", "<msqrt>", "ε", "δ", "−", "𝔼"):
            self.assertIn(sign, page)
        self.assertNotRegex(page, r"\\(frac|sqrt|delta)|`")

    def test_formulas_that_cannot_be_shown_fail(self):
        code, said, _ = self.convert("# Page\n\n$$\n\\frac{a}\n$$\n")
        self.assertNotEqual(code, 0)
        self.assertIn("this formula cannot be shown", said)


class TreeTest(unittest.TestCase):
    """Of a copy of the tree with mistakes in it."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="coppice-site-"))
        self.addCleanup(shutil.rmtree, self.root)
        for tree in TREES:
            shutil.copytree(SOURCE / tree, self.root / tree, ignore=shutil.ignore_patterns("node_modules", "build", "__pycache__"))
        for file in FILES:
            shutil.copy(SOURCE / file, self.root)
        (self.root / "tests").symlink_to(SOURCE / "tests")

    def test_dead_links_fail_and_leave_the_site_that_was_there(self):
        out = self.root / "site"
        out.mkdir()
        (out / "searchindex.js").write_text("before")
        with open(self.root / "docs/schema.md", "a", encoding="utf-8") as page:
            page.write("\n[planted](planted.md) [planted](relay.md#planted) ![planted](planted.svg)\n")
        built = build(self.root, out)
        self.assertNotEqual(built.returncode, 0)
        self.assertIn("there is no docs/planted.md", built.stdout)
        self.assertIn("docs/relay.md has no #planted", built.stdout)
        self.assertIn("planted.svg", built.stdout)
        self.assertEqual((out / "searchindex.js").read_text(), "before")

    def test_stale_drawing_fails(self):
        layers = self.root / "cmake/layers.txt"
        layers.write_text(layers.read_text() + "spare | server/spare | base | absl\n")
        built = build(self.root, self.root / "site")
        self.assertNotEqual(built.returncode, 0)
        self.assertIn("rooms.svg", built.stdout)

    def test_other_folders_are_not_replaced(self):
        built = build(self.root, self.root / "docs")
        self.assertEqual(built.returncode, 2)
        self.assertIn("something else than a site", built.stdout)
        self.assertTrue((self.root / "docs/relay.md").is_file())


class Handler(http.server.SimpleHTTPRequestHandler):
    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY.format("'self'" if self.path.startswith("/search.html") else "'none'"))
        super().end_headers()

    def log_message(self, *arguments):
        pass


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("chromium") is None:
            missing_package.skip("chromium is not installed: tests/browser/packages.txt")
        from chromium import Browser

        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(SITE)))
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.server.shutdown)
        folder = tempfile.mkdtemp(prefix="coppice-browser-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        cls.browser = Browser(folder)
        cls.addClassCleanup(cls.browser.end)

    def show(self, page, scheme, width):
        self.browser.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        events = self.browser.open(f"http://127.0.0.1:{self.server.server_port}/{page}")
        return [event for event in events if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]

    def test_pages_fit_and_can_be_read(self):
        from chromium import CONTRAST

        pages = ["index", "overview", "threat-model", "relay", "research/mechanisms", "research/benchmark", "reference/protocol/study",
                 "reference/cpp/client-device", "reference/settings-coppiced", "source/cmake/layers.txt", "search"]
        for page in pages:
            for scheme, width in (("light", 360), ("dark", 360), ("light", 1280), ("dark", 1280)):
                with self.subTest(page=page, scheme=scheme, width=width):
                    self.assertEqual(self.show(f"{page}.html", scheme, width), [])
                    self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)
                    self.assertTrue(self.browser.value(COMMON_CHECKS))
                    contrast, text = self.browser.value(CONTRAST)
                    self.assertGreaterEqual(contrast, 4.5, text)
            picture = self.browser.call("Page.captureScreenshot")
            (OUTPUT / (page.replace("/", "-") + ".png")).write_bytes(base64.b64decode(picture["data"]))

    def test_search_finds_a_page(self):
        self.assertEqual(self.show("search.html?q=amplification", "light", 1280), [])
        found = self.browser.value("""new Promise(done => { const look = left => {
            const links = [...document.querySelectorAll('#search-results li a')].map(a => a.getAttribute('href'));
            links.some(link => link.includes('relay.html')) || left === 0 ? done(links) : setTimeout(look, 50, left - 1); }; look(200); })""")
        self.assertTrue(any("relay.html" in link for link in found), found)

    def hits(self):
        """Each hit of the search that is on the screen: [its title, the section's title, page#section, excerpt, marked words]."""
        return self.browser.value("""new Promise(done => { const look = left => {
            const hits = [...document.querySelectorAll('#search-results li')].filter(li => li.getBoundingClientRect().top < innerHeight);
            const ready = hits.length > 0 && hits.every(li => li.querySelector('.context'));
            if (!ready && left > 0) return setTimeout(look, 50, left - 1);
            done(hits.map(li => { const link = li.querySelector('a'), section = li.querySelector('.section a') || link;
              return [link.innerText, section.innerText, section.getAttribute('href'), li.querySelector('.context')?.innerText || '',
                      [...li.querySelectorAll('mark')].map(mark => mark.innerText.toLowerCase())]; })); }; look(200); })""")

    def test_search_shows_sections_and_the_words_around(self):
        for address in (f"http://127.0.0.1:{self.server.server_port}", SITE.as_uri()):
            for words, first, marked in (("amplification", "amplification", {"amplification"}), ("spent tickets", "Tickets", {"ticket", "spent"}),
                                         ("coppice_device_open", "C interface", {"coppice_device_open"})):
                with self.subTest(address=address, words=words):
                    self.browser.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
                    self.browser.open(f"{address}/search.html?q={words.replace(' ', '+')}")
                    hits = self.hits()
                    faults = [event for event in self.browser.events if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
                    self.assertEqual(faults, [])
                    self.assertGreater(len(hits), 1)
                    self.assertIn(first, hits[0][0] + hits[0][1])  # titles come first
                    self.assertEqual(set(hits[0][4]), marked)
                    self.assertEqual(len({place for _, _, place, *_ in hits}), len(hits), "a section is shown twice")
                    for *_, place, excerpt, _ in hits:
                        page, _, anchor = place.partition("#")
                        self.assertIn(anchor or None, references(SITE / page).ids | {None}, place)
                        self.assertTrue(20 < len(excerpt) < 260, excerpt)

    def test_the_policy_is_the_daemons(self):
        text = re.sub(r'"\s*"', "", (SOURCE / "server/http/site.cc").read_text(encoding="utf-8"))
        for part in POLICY.split("{}"):
            self.assertIn(part, text)


def main():
    if shutil.which("doxygen") is None or importlib.util.find_spec("myst_parser") is None:
        print("site_test: skipped: the packages of deploy/site/packages.txt are not installed", file=sys.stderr)
        sys.exit(77)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])


if __name__ == "__main__":
    main()
