"""Writes the reference of settings and of the command line, from the sample configurations and from `PROGRAM manual`."""

import re
import subprocess

from comments import cell, code, escape, table

PROGRAMS = {"coppice": "the command line", "coppiced": "the curator", "coppice-relay": "the relay", "coppice-lab": "experiments on this machine"}
SETTINGS = {"coppiced": ("full.toml", "The curator's settings"), "coppice-relay": ("relay.toml", "The relay's settings")}


def plain(text):
    """Converts a line of a manual page, with the few escapes that our programs write, to plain text."""
    text = re.sub(r"\\f[BIR]", "", text)
    for escaped, sign in (("\\-", "-"), ("\\(dq", '"'), ("\\(aq", "'"), ("\\&", ""), ("\\e", "\\"), ("\\\\", "\\")):
        text = text.replace(escaped, sign)
    return text


def quoted(text):
    return text.removeprefix('"').removesuffix('"')


class Manual:
    """A manual page: `sections` are [level, heading, items], and an item is ("text", line), ("code", lines) or ("option", flag, meaning)."""

    def __init__(self, troff):
        self.sections = []
        self.defaults = {}
        lines = iter(troff.split("\n"))
        for line in lines:
            if line.startswith((".SH ", ".SS ")):
                self.sections.append([2 if line.startswith(".SH") else 3, plain(quoted(line[4:])), []])
            elif line.startswith(".TP"):
                self._items().append(["option", plain(next(lines)), []])
            elif line.startswith(".nf"):
                code_lines = []
                for inner in lines:
                    if inner.startswith(".fi"):
                        break
                    code_lines.append(plain(inner))
                self._items().append(["code", code_lines])
            elif line.startswith(".PP"):
                self._items().append(["break"])
            elif line and not line.startswith("."):
                self._add(plain(line))

    def _items(self):
        return self.sections[-1][2]

    def _add(self, text):
        items = self._items()
        if items and items[-1][0] == "option":
            default = re.fullmatch(r"Default: (.*)\.", text)
            if default:
                self.defaults[items[-1][1].split()[0]] = default[1]
            items[-1][2].append(text)
        elif items and items[-1][0] == "text":
            items[-1][1].append(text)
        else:
            items.append(["text", [text]])

    def markdown(self, program):
        out = []
        for level, heading, items in self.sections:
            if heading in ("NAME", "SYNOPSIS"):
                continue
            if heading not in ("DESCRIPTION", "COMMANDS"):
                words = heading.removeprefix(program + " ") if level == 3 else heading.capitalize()
                out.append(f"{'#' * (2 if words.count(' ') == 0 else 3)} {escape(words)}")
            rows = []
            for item in items:
                if item[0] == "option":
                    rows.append([code(item[1]), cell(" ".join(item[2]))])
                    continue
                out.append(table(["flag", "meaning"], rows))
                rows = []
                if item[0] == "text":
                    out.append(escape(" ".join(item[1])))
                elif item[0] == "code":
                    body = [line for line in item[1] if line.strip() not in ("Example:", "Examples:")]
                    shift = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
                    out.append("```sh\n" + "\n".join(line[shift:] for line in body).strip("\n") + "\n```")
            out.append(table(["flag", "meaning"], rows))
        return "\n\n".join(filter(None, out)) + "\n"


def read_manuals(bin_dir):
    """Reads the manuals of the programs that are built, by program."""
    manuals = {}
    for program in PROGRAMS:
        if bin_dir is not None and (bin_dir / program).is_file():
            printed = subprocess.run([bin_dir / program, "manual"], check=True, capture_output=True, text=True)
            manuals[program] = Manual(printed.stdout)
    return manuals


def settings_in(text):
    """Returns [(section, [(name, value, is_set, comment)])] of a sample configuration."""
    comment, before, sections = [], [], []
    for line in text.split("\n"):
        heading, setting = re.match(r"## (.*)", line), re.match(r"(# )?([a-z][a-z0-9-]*) = (.*)$", line)
        if heading:
            sections.append((heading[1], []))
            comment = []
        elif setting and sections:
            before = comment = comment or before  # settings below one comment share it
            sections[-1][1].append((setting[2], setting[3], setting[1] is None, " ".join(comment)))
            comment = []
        elif line.startswith("# "):
            comment.append(line[2:])
        elif not line.strip():
            comment, before = [], []
    return sections


def settings_page(root, program, manual):
    file, title = SETTINGS[program]
    text = (root / "deploy/config" / file).read_text(encoding="utf-8")
    head = " ".join(line[2:] for line in text.split("\n\n")[0].split("\n") if line.startswith("# ") and not line.startswith("#   "))
    out = [f"# {title}", f"What `{program}` can be set to, from `deploy/config/{file}`. Each setting is also a flag, `--NAME`. A sample is what that file says.", escape(head)]
    for section, settings in settings_in(text):
        rows = []
        for name, value, is_set, comment in settings:
            default = manual.defaults.get("--" + name, "") if manual else ""
            sample = "" if value.strip('"') in (default, "false") else f" Sample: {code(value)}."
            rows.append([code(name), code(default), cell(comment) + sample])
        words, _, aside = section.partition("; ")
        page = re.match(r"(.*) \((docs/[^)]*)\)(.*)", words)
        words, link = (page[1] + page[3], page[2]) if page else (words, "")
        out += [f"## {escape(words)}", escape(aside[:1].upper() + aside[1:] + ".") if aside else "", f"See {escape(link)}." if link else "",
                table(["setting", "default", "meaning"], rows)]
    return "\n\n".join(filter(None, out)) + "\n"


def write(root, stage, bin_dir):
    """Writes reference/settings-PROGRAM.md and reference/commands/PROGRAM.md; returns the pages."""
    manuals = read_manuals(bin_dir)
    (stage / "reference/commands").mkdir(parents=True)
    pages = []
    for program in SETTINGS:
        page = f"reference/settings-{program}"
        (stage / f"{page}.md").write_text(settings_page(root, program, manuals.get(program)), encoding="utf-8")
        pages.append(page)
    rows = []
    for program, purpose in PROGRAMS.items():
        if program in manuals:
            page = f"reference/commands/{program}"
            text = f"# {program}\n\n`{program} manual | man -l -` shows the same.\n\n" + manuals[program].markdown(program)
            (stage / f"{page}.md").write_text(text, encoding="utf-8")
            pages.append(page)
            rows.append([f"[{code(program)}](/docs/{page}.md)", purpose])
        else:
            rows.append([code(program), purpose + "; left out, because it was not built beside this site"])
    text = "# Commands\n\nWhat each program prints of itself; `PROGRAM manual | man -l -` shows the same.\n\n" + table(["program", "what it is"], rows)
    (stage / "reference/commands.md").write_text(text, encoding="utf-8")
    return pages
