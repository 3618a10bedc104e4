#!/usr/bin/env python3
"""Opens every page in headless Chromium: browser_test.py SAMPLE_PAGES OUTPUT_DIR

Each page opens in light and in dark, wide and narrow, without a console error or a request for anything but itself;
its text contrasts with its background; nothing is wider than the window; a screen reader finds a heading and a main
part. The certificate prints on one page of A4. OUTPUT_DIR keeps screenshots and PDFs. Exit code 77 without Chromium.
"""

import base64
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from chromium import CONTRAST, Browser

PROGRAM, OUTPUT = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
PAGES = ["budget", "certificate", "curve", "evaluation", "hostile", "plan", "record", "regression", "tree"]
WIDTHS = {"wide": 1000, "narrow": 390}


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="coppice-browser-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.browser = Browser(cls.folder)
        cls.addClassCleanup(cls.browser.end)

    def show(self, page, scheme="light", width=1000):
        self.browser.call("Emulation.setEmulatedMedia", media="",
                          features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        return self.browser.open(url_of(page))

    def take_picture(self, name):
        size = self.browser.call("Page.getLayoutMetrics")["cssContentSize"]
        picture = self.browser.call("Page.captureScreenshot", captureBeyondViewport=True,
                                    clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        (OUTPUT / (name + ".png")).write_bytes(base64.b64decode(picture["data"]))

    def print_page(self, page):
        self.show(page, "dark")  # paper must be light all the same
        pdf = base64.b64decode(self.browser.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True)["data"])
        (OUTPUT / (page + ".pdf")).write_bytes(pdf)
        return pdf

    def test_pages_are_quiet_and_ask_for_nothing(self):
        for page in PAGES:
            events = self.show(page)
            complaints = [event for event in events
                          if event.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")]
            self.assertEqual(complaints, [], page)
            asked = [event["params"]["request"]["url"] for event in events
                     if event.get("method") == "Network.requestWillBeSent"]
            self.assertEqual(asked, [url_of(page)], page)

    def test_a_script_or_a_style_of_another_hand_is_refused(self):
        page = (OUTPUT / "curve.html").read_text()
        for foreign in ("<script>document.title = 'changed'</script>", "<style>h1{display:none}</style>",
                        "<img src='https://example.invalid/x.png' alt=''>"):
            (OUTPUT / "changed.html").write_text(page.replace("</main>", foreign + "</main>"))
            events = self.show("changed")
            refused = [event for event in events if event.get("method") == "Log.entryAdded"
                       and "Content Security Policy" in event["params"]["entry"]["text"]]
            self.assertNotEqual(refused, [], foreign)
            self.assertNotEqual(self.browser.value("document.title"), "changed")
            self.assertNotEqual(self.browser.value("getComputedStyle(document.querySelector('h1')).display"), "none")

    def test_the_style_is_taken(self):
        for page in PAGES:
            self.show(page)
            self.assertEqual(self.browser.value("getComputedStyle(document.body).maxWidth"), "928px", page)

    def test_text_stands_out_in_light_and_in_dark(self):
        grounds = set()
        for scheme in ("light", "dark"):
            for page in PAGES:
                self.show(page, scheme)
                contrast, text = self.browser.value(CONTRAST)
                self.assertGreaterEqual(contrast, 4.5, f"{page}, {scheme}: {text}")
                grounds.add((scheme, self.browser.value("getComputedStyle(document.documentElement).backgroundColor")))
                self.take_picture(f"{page}-{scheme}")
        self.assertEqual(len(grounds), 2, grounds)

    def test_nothing_is_wider_than_the_window(self):
        for name, width in WIDTHS.items():
            for page in PAGES:
                self.show(page, width=width)
                self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width, f"{page}, {name}")
                if name == "narrow":
                    self.take_picture(f"{page}-narrow")

    def test_a_screen_reader_finds_its_way(self):
        for page in PAGES:
            self.show(page)
            nodes = self.browser.call("Accessibility.getFullAXTree")["nodes"]
            roles = [node["role"]["value"] for node in nodes if not node.get("ignored") and "role" in node]
            for role in ("main", "banner", "contentinfo", "heading"):
                self.assertIn(role, roles, page)
            unnamed = [node for node in nodes if not node.get("ignored") and node.get("role", {}).get("value")
                       in ("image", "table", "region", "DisclosureTriangle") and not node.get("name", {}).get("value")]
            self.assertEqual(unnamed, [], page)
            self.assertEqual(self.browser.value("document.querySelectorAll('h1').length"), 1, page)
            self.assertEqual(self.browser.value("document.querySelectorAll('th:not([scope])').length"), 0, page)

    def test_a_tree_opens_by_keyboard(self):
        self.show("tree")
        self.browser.value("document.querySelectorAll('summary')[3].focus()")
        state = "document.activeElement.parentElement.open"
        before = self.browser.value(state)
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13,
                              text="\r")
        self.assertEqual(self.browser.value(state), not before)

    def test_names_from_data_stay_text(self):
        for page in ("budget", "hostile", "record", "tree"):
            self.show(page)
            self.assertEqual(self.browser.value("document.scripts.length"), 0, page)
            self.assertIn("<script>alert(\"1\")</script>", self.browser.value("document.body.textContent"), page)

    def test_the_certificate_prints_on_one_page(self):
        self.assertEqual(page_count(self.print_page("certificate")), 1)
        for page in PAGES:
            self.assertGreaterEqual(page_count(self.print_page(page)), 1, page)

    def test_the_drawing_is_a_file_of_its_own(self):
        events = self.browser.open((OUTPUT / "curve.svg").as_uri())
        self.assertEqual([event for event in events if event.get("method") == "Log.entryAdded"], [])
        self.assertGreater(self.browser.value("document.querySelector('path.line').getTotalLength()"), 100)
        self.take_picture("curve-svg")


def url_of(page):
    return (OUTPUT / (page + ".html")).as_uri()


def page_count(pdf):
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def main():
    if shutil.which("chromium") is None:
        print("browser_test: skipped: chromium is not installed: tests/browser/packages.txt", file=sys.stderr)
        sys.exit(77)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    subprocess.run([PROGRAM, str(OUTPUT)], check=True)
    unittest.main(argv=sys.argv[:1])


main()
