#!/usr/bin/env python3
"""Samples in pages are cut out of programs that are built and tested.

A page names the sample before its block, `<!-- sample client/device/examples/device.cc: a device -->`. The file has it between
the lines `// sample: a device` and `// end of sample`.
"""

import pathlib
import re
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMED = re.compile(r"<!-- sample (\S+): (.+?) -->\n```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "<!-- sample "
# Blocks that no program has, and why.
FREE = {"docs/export.md": "it uses a header that an export writes; tests/common/export compiles such headers"}


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def cut(path, name):
    """Returns the sample of the file, without its indentation."""
    text = (ROOT / path).read_text(encoding="utf-8")
    found = re.search(rf"^ *// sample: {re.escape(name)}\n(.*?)^ *// end of sample$", text, re.DOTALL | re.MULTILINE)
    assert found is not None, f"{path} has no sample {name!r}"
    return textwrap.dedent(found[1])


class SamplesTest(unittest.TestCase):
    def test_samples_are_what_the_programs_have(self):
        samples = 0
        for page in pages():
            text = page.read_text(encoding="utf-8")
            found = NAMED.findall(text)
            self.assertEqual(len(found), text.count(MARK), f"{page}: a sample is named, and no block follows")
            for path, name, block in found:
                self.assertEqual(block, cut(path, name), f"{page.relative_to(ROOT)}: copy the sample from {path}")
            samples += len(found)
        self.assertGreater(samples, 0)

    def test_every_block_of_code_is_a_sample(self):
        for page in pages():
            text = page.read_text(encoding="utf-8")
            if str(page.relative_to(ROOT)) in FREE:
                continue
            self.assertEqual(len(re.findall(r"^```(?:c|cpp|c\+\+|java)$", text, re.MULTILINE)), len(NAMED.findall(text)),
                             f"{page}: say which sample a block of C, C++ or Java is (FREE says why one is none)")


if __name__ == "__main__":
    unittest.main()
