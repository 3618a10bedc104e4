"""Drives headless Chromium over a pipe (the DevTools protocol)."""

import json
import os
import subprocess

# The least contrast of a text with its background, by WCAG 2, and that text.
CONTRAST = r"""
(() => {
  const parse = text => { const p = text.match(/[\d.]+/g).map(Number); return p.length > 3 ? p : [...p, 1]; };
  const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = c => { const l = c.slice(0, 3).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
                       return .2126 * l[0] + .7152 * l[1] + .0722 * l[2]; };
  const ground = element => { const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]); };
  let worst = [99, ''];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement, style = getComputedStyle(element);
    if (!node.data.trim() || ['title', 'desc'].includes(element.localName)) continue;
    const back = ground(element), color = parse(element.closest('svg') ? style.fill : style.color);
    color[3] *= Number(style.opacity);
    const pair = [light(over(color, back)), light(back)].sort((a, b) => b - a);
    const contrast = (pair[0] + .05) / (pair[1] + .05);
    if (contrast < worst[0]) worst = [contrast, node.data.trim()];
  }
  return worst;
})()
"""


class Browser:
    """`folder` becomes its profile; `flags` are passed to Chromium."""

    def __init__(self, folder, *flags):
        to_browser, self.commands = os.pipe()
        self.answers, from_browser = os.pipe()

        def place_pipes():  # where Chromium looks for them
            read, write = os.dup(to_browser), os.dup(from_browser)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
             "--hide-scrollbars", "--remote-debugging-pipe", "--user-data-dir=" + folder, *flags],
            preexec_fn=place_pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime", "Accessibility"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.answers, 1 << 16)
            if not piece:
                raise RuntimeError("Chromium ended")
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.commands, json.dumps(request).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def open(self, url):
        """Opens `url` and returns the events until the page has loaded."""
        self.events = []
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())
        self.value("document.readyState")  # everything logged while loading comes before this answer
        return self.events

    def value(self, expression):
        """Returns the value of `expression`, or of its promise."""
        evaluated = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return evaluated["result"].get("value")

    def end(self):
        os.close(self.commands)
        os.close(self.answers)
        self.process.terminate()
        self.process.wait()
