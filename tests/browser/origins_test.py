#!/usr/bin/env python3
"""Pages in headless Chromium that call a daemon over HTTP: origins_test.py COPPICED

A page of an origin that --http-allow-origin names may call, and reads the answer, an error and the request's id. A
page of another origin may not, and none of its calls is run, as the log shows. Exit code 77 without Chromium.
"""

import html
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from eventually import http_port  # noqa: E402

COPPICED = sys.argv[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

# Makes calls, and shows what the page could read.
PAGE = """<!doctype html><meta charset="utf-8"><title>calls</title><pre id="seen">nothing</pre><script>
const call = async (method, request) => {
  try {
    const answer = await fetch('CURATOR/coppice.v1.StudyService/' + method, {method: 'POST', body: JSON.stringify(request),
      headers: {'Content-Type': 'application/json', 'Connect-Protocol-Version': '1'}});
    return {status: answer.status, body: await answer.json(), id: answer.headers.get('trailer-x-request-id')};
  } catch (error) {
    return {failed: String(error)};
  }
};
(async () => {
  const seen = [await call('ListStudies', {}), await call('GetStudy', {name: 'studies/none'})];
  document.getElementById('seen').textContent = JSON.stringify(seen);
})();
</script>"""


class Page(http.server.BaseHTTPRequestHandler):
    curator = ""

    def do_GET(self):
        page = PAGE.replace("CURATOR", self.curator).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


def serve_pages():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Origins(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="coppice-origins-"))
        cls.allowed, cls.other = serve_pages(), serve_pages()
        with open(cls.folder / "log", "wb") as log:
            cls.daemon = subprocess.Popen(
                [COPPICED, "--data-dir", cls.folder / "store", "--insecure", "--listen", "127.0.0.1:0", "--http-listen",
                 "127.0.0.1:0", "--http-allow-origin", cls.origin(cls.allowed), "--log-level", "debug"], stderr=log)
        Page.curator = f"http://127.0.0.1:{http_port(cls.daemon, cls.log)}"

    @classmethod
    def tearDownClass(cls):
        cls.daemon.terminate()
        cls.daemon.wait()
        for server in (cls.allowed, cls.other):
            server.shutdown()
        shutil.rmtree(cls.folder)

    @staticmethod
    def origin(server):
        return f"http://127.0.0.1:{server.server_port}"

    @classmethod
    def log(cls):
        return (cls.folder / "log").read_text(encoding="utf-8", errors="replace")

    def seen_by_page_of(self, server):
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                   f"--user-data-dir={self.folder}/profile-{server.server_port}", "--virtual-time-budget=20000",
                   "--dump-dom", self.origin(server) + "/"]
        page = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout
        return json.loads(html.unescape(re.search(r'id="seen">(.*?)</pre>', page, re.DOTALL).group(1)))

    def test_an_allowed_page_reads_answers_errors_and_ids(self):
        answer, error = self.seen_by_page_of(self.allowed)
        self.assertEqual((answer["status"], answer["body"]), (200, {}))
        self.assertRegex(answer["id"], "^[0-9a-f]{32}$")
        self.assertEqual((error["status"], error["body"]["code"]), (404, "not_found"))

    def test_a_page_of_another_origin_runs_no_call(self):
        calls = self.log().count(" call ")
        for outcome in self.seen_by_page_of(self.other):
            self.assertIn("failed", outcome)
        self.assertEqual(self.log().count(" call "), calls)


if __name__ == "__main__":
    if CHROMIUM is None:
        print("origins_test: skipped: chromium is not installed", file=sys.stderr)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
