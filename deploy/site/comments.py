"""Converts comments of the sources to Markdown."""

import html
import re
import textwrap

LABELS = ("Guarantee", "Errors", "Threads", "Units", "Source", "Utility")
_LABEL = re.compile(rf"^({'|'.join(LABELS)})(?::\s*|\s{{2,}}|\s*$)(.*)$")
_KEPT = re.compile(r"(`[^`\n]+`|\bdocs/[\w/.-]+\.md(?:#[\w-]+)?)")


def escape(text):
    """Escapes a line or paragraph for Markdown; code in backticks stays code, and the name of a page becomes a link."""
    parts = []
    for i, part in enumerate(_KEPT.split(text)):
        if i % 2 == 0:
            parts.append(re.sub(r"([\\*_\[\]{}<>#|$~`&!])", r"\\\1", part))
        elif part.startswith("`"):
            parts.append(part)
        else:
            parts.append(f"[{escape_all(part)}](/{part})")
    return re.sub(r"^([-+]|\d+(?=[.)]))", r"\\\1", "".join(parts)) if text[:1] in "-+" else re.sub(r"^(\d+)([.)]\s)", r"\1\\\2", "".join(parts))


def escape_all(text):
    return re.sub(r"([\\*_\[\]{}<>#|$~`&!])", r"\\\1", text)


def code(text):
    """Formats one line of code in a paragraph or a cell."""
    return "`" + text.replace("`", "'").replace("|", r"\|") + "`" if text else ""


def cell(text):
    """Formats a comment for a table's cell, as one paragraph."""
    parts = re.split(r"(`[^`\n]+`)", " ".join(text.split()))
    return "".join(part.replace("|", r"\|") if i % 2 else escape(part) for i, part in enumerate(parts))


def paragraphs(lines):
    group = []
    for line in [*lines, ""]:
        if line.strip():
            group.append(line)
        elif group:
            yield group
            group = []


def _plain(lines):
    """Converts lines without labels to Markdown: paragraphs, lists, and code, which is indented."""
    for group in paragraphs(lines):
        if all(line.startswith("    ") for line in group):
            yield "```text\n" + textwrap.dedent("\n".join(group)) + "\n```"
            continue
        items, current = [], []
        for line in group:
            if re.match(r"\s*[-*] ", line) and not (current and not current[0].lstrip().startswith(("-", "*")) and not items):
                items.append(current)
                current = [line]
            else:
                current.append(line)
        items.append(current)
        text = []
        for item in filter(None, items):
            joined = " ".join(line.strip() for line in item)
            bullet = re.match(r"[-*] (.*)", joined)
            text.append("- " + escape(bullet[1]) if bullet else escape(joined) + "\n")
        yield "\n".join(text).rstrip()


def _split_labels(lines):
    """Yields (label or "", lines) in order. A label's text is indented below it or, after a colon, its paragraph."""
    label, held, closes = "", [], False
    for line in lines:
        match = _LABEL.match(line)
        if match:
            yield label, held
            label, held, closes = match[1], [match[2]], line[len(match[1]):].startswith(":")
        elif label and (not line.strip() if closes else line.strip() and not line.startswith(" ")):
            yield label, held
            label, held, closes = "", [line], False
        else:
            held.append(line)
    yield label, held


def markdown(comment):
    """Converts a comment of several lines, without its comment signs, to Markdown."""
    out = []
    for label, lines in _split_labels(textwrap.dedent(comment).strip("\n").split("\n")):
        if label:
            lines = [lines[0], *textwrap.dedent("\n".join(lines[1:])).split("\n")]
            text = "\n\n".join(_plain(lines)).strip()
            out.append(f"**{label}** {text}" if not text.startswith(("-", "`")) else f"**{label}**\n\n{text}")
        else:
            out.extend(_plain(lines))
    return "\n\n".join(filter(None, out))


def table(head, rows):
    """Makes a table of cells that are Markdown already, without empty columns; "" if there are no rows."""
    if not rows:
        return ""
    used = [i for i in range(len(head)) if any(row[i] for row in rows)]
    head, rows = [head[i] for i in used], [[row[i] for i in used] for row in rows]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def fence(text, language):
    return f"```{language}\n{html.unescape(text).rstrip()}\n```"
