#!/usr/bin/env python3
"""docs/words.py counts what it says, and the pages for researchers stay as short as they have become."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import words  # noqa: E402

# README.md and docs/ together. Lower it to 25,000 once every page has been shortened, and with each page until then.
MOST_WORDS_OF_ALL = 25_000

# Lower these whenever a page becomes shorter. A table is no place to hide prose: its cells are short too.
MOST_WORDS = {
    "accuracy.md": 1260,
    "auto.md": 260,
    "benchmark.md": 710,
    "checking.md": 980,
    "competitors.md": 390,
    "cuts.md": 500,
    "mechanisms.md": 2720,
    "performance.md": 1100,
    "poisoning.md": 440,
    "reproduction.md": 1770,
}
MOST_WORDS_OF_RESEARCH = 10300


class CountTest(unittest.TestCase):
    def test_words_have_a_letter_or_a_digit(self):
        self.assertEqual(words.words("Two words — and `one=3` more, ε."), 6)

    def test_tables_code_and_comments_do_not_count(self):
        text = "one\n\n| a | b |\n|---|---|\n\n```sh\nnot this\n```\n\n    nor this\n\ntwo <!-- nor\nthis --> three\n"
        self.assertEqual(words.words(text), 3)

    def test_code_needs_an_empty_line_before_it(self):
        self.assertEqual(words.words("- one\n    two\n"), 2)
        self.assertEqual(words.words("- one\n\n    not this\n    nor this\n"), 1)

    def test_derivations_do_not_count(self):
        self.assertEqual(words.words(f"one\n{words.BEGIN}\nnot this\n{words.END}\ntwo\n"), 2)

    def test_marks_that_do_not_match_are_refused(self):
        for text in (words.BEGIN, words.END, f"{words.BEGIN}\n{words.BEGIN}\n{words.END}"):
            with self.assertRaisesRegex(ValueError, "page.md:"):
                words.words(text, "page.md")


class PagesTest(unittest.TestCase):
    def test_every_page_can_be_counted(self):
        found = words.count([ROOT / "README.md", ROOT / "docs"])
        print(f"{sum(found.values()):,} words of prose in {len(found)} pages")
        self.assertGreater(len(found), 20)

    def test_all_pages_together_stay_short(self):
        found = words.count([ROOT / "README.md", ROOT / "docs"])
        longest = sorted(found, key=found.get)[-5:]
        self.assertLessEqual(sum(found.values()), MOST_WORDS_OF_ALL,
                             "the documents are too long; the longest: " + ", ".join(f"{p.name} {found[p]:,}" for p in longest))

    def test_pages_for_researchers_stay_short(self):
        research = ROOT / "docs/research"
        for name, most in MOST_WORDS.items():
            number = words.words((research / name).read_text(encoding="utf-8"), name)
            self.assertLessEqual(number, most, f"docs/research/{name}: shorten it")
        self.assertLessEqual(sum(words.count([research]).values()), MOST_WORDS_OF_RESEARCH)


if __name__ == "__main__":
    unittest.main()
