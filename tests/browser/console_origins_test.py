#!/usr/bin/env python3
"""The console in headless Chromium, and what other pages can do to it: console_origins_test.py COPPICED

A page that the daemon serves calls it, shows a document of the daemon in a sandboxed frame, and runs no script but
its own files. Pages of another site, of another port of the same host, and of a name that was pointed to this
machine can neither read, frame nor call it, and none of their calls is run. Exit code 77 without Chromium.
"""

import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from chromium import Browser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from eventually import eventually, http_port  # noqa: E402

COPPICED = sys.argv[1]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
REBOUND = "rebound.example"  # Chromium resolves it to this machine
LIST = "/coppice.v1.StudyService/ListStudies"

# A minimal console. Its inline script and style must not work.
INDEX = """<!doctype html><html lang="en"><meta charset="utf-8"><title>console</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="assets/style-1.css">
<script src="assets/main-1.js" defer></script><script>document.title = 'an inline script ran'</script>
<body><h1 style="color: rgb(1, 2, 3)">Studies</h1><iframe sandbox="allow-same-origin allow-modals"></iframe></body></html>
"""
STYLE = "h1 { letter-spacing: 7px }"
SCRIPT = """
window.ran = [];
const mark = what => window.ran.push(what);
window.call = () => fetch('coppice.v1.StudyService/ListStudies', {method: 'POST', body: '{}',
  headers: {'Content-Type': 'application/json', 'Connect-Protocol-Version': '1'}}).then(answer => answer.status);
const policy = trustedTypes.createPolicy('coppice', {createHTML: text => text});
window.show = text => new Promise(resolve => {
  const frame = document.querySelector('iframe');
  frame.onload = () => resolve(getComputedStyle(frame.contentDocument.body).maxWidth);
  frame.srcdoc = policy.createHTML(text);
});
for (const [what, act] of [['eval', () => (0, eval)('1')], ['markup', () => { document.body.innerHTML += ''; }],
                           ['another policy', () => trustedTypes.createPolicy('other', {})]]) {
  try { act(); mark(what); } catch (refused) { }
}
"""

# What a page of another origin finds out: the status or bytes that it could read, or "failed".
ATTACKS = """
const curator = 'CURATOR', list = curator + '/coppice.v1.StudyService/ListStudies';
const seen = async (name, attempt) => [name, await Promise.race([attempt().then(String, () => 'failed'),
  new Promise(resolve => setTimeout(resolve, 5000, 'failed'))])];
const element = (tag, attributes) => new Promise((resolve, reject) => {
  const made = Object.assign(document.createElement(tag), attributes, {onload: () => resolve('loaded'), onerror: reject});
  document.body.append(made);
});
const post = options => fetch(list, {method: 'POST', body: '{}', credentials: 'include', ...options});
const readFrame = () => new Promise((resolve, reject) => {
  const frame = document.createElement('iframe');
  frame.onload = () => { try { resolve(frame.contentDocument.title || 'empty'); } catch (error) { reject(error); } };
  frame.src = curator + '/';
  document.body.append(frame);
});
const attack = () => Promise.all([
  seen('read the page', () => fetch(curator + '/').then(answer => answer.text())),
  seen('read a file', () => fetch(curator + '/assets/main-1.js').then(answer => answer.text())),
  seen('call', () => post({headers: {'Content-Type': 'application/json'}}).then(answer => answer.status)),
  seen('call as a form does', () => post({headers: {'Content-Type': 'text/plain'}}).then(answer => answer.status)),
  seen('run its script', () => element('script', {src: curator + '/assets/main-1.js'})),
  seen('run its module', () => element('script', {type: 'module', src: curator + '/assets/main-1.js'})),
  seen('take its style', () => element('link', {rel: 'stylesheet', href: curator + '/assets/style-1.css'})),
  seen('show its picture', () => element('img', {src: curator + '/assets/dot-1.svg'})),
  seen('read its frame', readFrame),
]);
const blind = () => post({mode: 'no-cors', headers: {'Content-Type': 'text/plain'}}).then(answer => answer.type, () => 'failed');
"""


class OtherPage(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = b"<!doctype html><title>other</title><body></body>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


class ConsoleOrigins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="coppice-console-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        assets = cls.folder / "console" / "assets"
        assets.mkdir(parents=True)
        (assets.parent / "index.html").write_text(INDEX)
        (assets / "main-1.js").write_text(SCRIPT)
        (assets / "style-1.css").write_text(STYLE)
        (assets / "dot-1.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>')
        with open(cls.folder / "log", "wb") as log:
            cls.daemon = subprocess.Popen(
                [COPPICED, "--data-dir", cls.folder / "store", "--insecure", "--listen", "127.0.0.1:0", "--http-listen",
                 "127.0.0.1:0", "--console", assets.parent, "--log-level", "debug"], stderr=log)
        cls.addClassCleanup(cls.stop_daemon)
        cls.port = http_port(cls.daemon, cls.log)
        cls.curator = f"http://127.0.0.1:{cls.port}"
        cls.pages = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherPage)
        threading.Thread(target=cls.pages.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.pages.shutdown)
        cls.browser = Browser(str(cls.folder / "profile"), f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1")
        cls.addClassCleanup(cls.browser.end)

    @classmethod
    def stop_daemon(cls):
        cls.daemon.terminate()
        cls.daemon.wait()

    @classmethod
    def log(cls):
        return (cls.folder / "log").read_text(encoding="utf-8", errors="replace")

    def calls(self):
        return self.log().count(" call ")

    def attack_from(self, url):
        self.browser.open(url)
        self.browser.value("document.body || document.documentElement.append(document.createElement('body'))")
        self.browser.value(ATTACKS.replace("CURATOR", self.curator).replace("const ", "var "))
        return dict(self.browser.value("attack()"))

    def assert_nothing_is_had(self, url):
        before = self.calls()
        for attempt, outcome in self.attack_from(url).items():
            # A refused frame shows a page of the browser, whose origin nobody may read.
            self.assertEqual(outcome, "failed", f"{url}: {attempt}")
        self.assertIn(self.browser.value("blind()"), ("opaque", "failed"))
        self.assertEqual(self.calls(), before, "a call was run")

    def test_its_own_page_calls_and_shows_documents(self):
        for host in ("127.0.0.1", "localhost"):
            self.browser.open(f"http://{host}:{self.port}/")
            before = self.calls()
            self.assertEqual(self.browser.value("call()"), 200)
            self.assertEqual(self.calls(), before + 1)
            self.assertEqual(self.browser.value("getComputedStyle(document.querySelector('h1')).letterSpacing"), "7px")
        style = "".join((SOURCE / "common/pages/style" / name).read_text() for name in ("chart.css", "page.css"))
        document = f"<!DOCTYPE html><html><head><style>{style}</style></head><body><p>x</p></body></html>"
        self.assertEqual(self.browser.value(f"show({json.dumps(document)})"), "928px", "the style sheet's own width")
        other = document.replace("</style>", "body{max-width:5px}</style>")
        self.assertEqual(self.browser.value(f"show({json.dumps(other)})"), "none", "any other style is refused")

    def test_its_page_runs_no_script_but_its_files(self):
        self.browser.open(self.curator + "/")
        self.assertEqual(self.browser.value("document.title"), "console")
        self.assertEqual(self.browser.value("window.ran"), [])
        self.assertEqual(self.browser.value("getComputedStyle(document.querySelector('h1')).color"), "rgb(0, 0, 0)")
        hostile = "<script>parent.ran.push('frame')</script><img src=x onerror=\"parent.ran.push('handler')\">"
        self.browser.value(f"show({json.dumps(hostile)})")
        self.assertEqual(self.browser.value("window.ran"), [])
        self.assertIsNone(self.browser.value("fetch('https://elsewhere.invalid/').then(() => 'sent', () => null)"))

    def test_a_page_of_another_site_has_nothing_of_it(self):
        self.assert_nothing_is_had(f"http://localhost:{self.pages.server_port}/")

    def test_a_page_of_another_port_has_nothing_of_it(self):
        self.assert_nothing_is_had(f"http://127.0.0.1:{self.pages.server_port}/")

    def test_a_link_from_another_site_opens_it(self):
        self.browser.open(f"http://localhost:{self.pages.server_port}/")
        self.browser.events = []
        self.browser.value(f"void (location.href = '{self.curator}/')")

        def is_there():
            try:
                return self.browser.value("location.origin + typeof call") == self.curator + "function"
            except RuntimeError:  # the navigation ended the question
                return False

        eventually(is_there)
        self.assertEqual(self.browser.value("call()"), 200)

    # The page has the very origin that the name now has: only the daemon can tell the difference.
    def test_a_name_that_was_pointed_here_is_refused(self):
        self.browser.open(f"http://{REBOUND}:{self.port}/")
        self.assertIn("the console is not served at this host", self.browser.value("document.body.innerText"))
        before = self.calls()
        for options in ("{method: 'POST', body: '{}', headers: {'Content-Type': 'application/json'}}", "{}"):
            self.assertIn(self.browser.value(f"fetch('{LIST}', {options}).then(answer => answer.status)"), (403, 405))
        self.assertEqual(self.browser.value("fetch('/assets/main-1.js').then(answer => answer.status)"), 403)
        self.assertEqual(self.calls(), before, "a call was run")


if __name__ == "__main__":
    if shutil.which("chromium") is None:
        print("console_origins_test: skipped: chromium is not installed", file=sys.stderr)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
