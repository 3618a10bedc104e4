#!/usr/bin/env python3
"""Prepares the input of Sphinx: stage.py ROOT STAGE [BIN_DIR]

Pages of docs/ keep their places in STAGE, with docs/README.md as the entry page; README.md becomes overview.md. Source files
that pages link to become pages of their own below source/, and reference/ is made from the sources. STAGE/site.json tells
pages.py which file of the repository each page is, and what is linked but not shown: {"pages": {docname: path},
"targets": {path: docname}, "folders": [path]}.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import reference_commands
import reference_cpp
import reference_protocol

HERE = pathlib.Path(__file__).resolve().parent
ROOT_PAGES = {"README.md": "overview", "SECURITY.md": "security", "CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contribute"}
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
FENCE = re.compile(r"^ *```")
LANGUAGES = {".cc": "cpp", ".h": "cpp", ".c": "c", ".proto": "protobuf", ".py": "python", ".sh": "sh", ".json": "json", ".toml": "toml",
             ".yaml": "yaml", ".yml": "yaml", ".js": "js"}
MOST_LINES = 2000  # shown of a source file
OWN_PAGES = {"deploy/config/full.toml": "reference/settings-coppiced", "deploy/config/relay.toml": "reference/settings-coppice-relay",
             "proto/coppice/v1": "reference/protocol", "client/device/c/coppice_device.h": "reference/c", "client/python/coppice/__init__.py": "reference/python"}


def docname_of(path):
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    name = path.removeprefix("docs/")
    stem = name.rsplit(".", 1)[0]
    return re.sub(r"(^|/)README$", r"\1index", stem)


def prose(text):
    inside = False
    for line in text.split("\n"):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield re.sub(r"`[^`]*`", "", line)


def notebook_page(text):
    """Converts a notebook's cells to Markdown, without their output."""
    cells = []
    for found in json.loads(text)["cells"]:
        source = "".join(found["source"])
        cells.append(source if found["cell_type"] == "markdown" else f"```python\n{source}\n```")
    return "\n\n".join(cells) + "\n"


class Stage:
    def __init__(self, root, folder):
        self.root, self.folder = root, folder
        self.pages, self.targets, self.folders = {}, {}, set()

    def add(self, docname, path, text):
        """Adds a page. `path` is the repository's file from which its links are resolved."""
        file = self.folder / f"{docname}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.pages[docname] = path
        self.targets.setdefault(path, docname)

    def add_documents(self):
        paths = [*ROOT_PAGES, *(path.relative_to(self.root).as_posix() for path in sorted((self.root / "docs").rglob("*.md")))]
        for path in [path for path in paths if "node_modules" not in path]:
            text = (self.root / path).read_text(encoding="utf-8")
            self.add(docname_of(path), path, re.sub(r"^# Coppice\n", "# Overview\n", text) if path == "README.md" else text)
        for path in sorted((self.root / "docs").rglob("*.ipynb")):
            name = path.relative_to(self.root).as_posix()
            if ".ipynb_checkpoints" not in name:
                self.add(docname_of(name), name, notebook_page(path.read_text(encoding="utf-8")))
        for path in sorted((self.root / "docs").rglob("*.svg")):
            # Pages of docs/ find a drawing beside them, those of the root below docs/.
            for base in (self.root / "docs", self.root):
                copy = self.folder / path.relative_to(base)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)

    def add_reference(self, bin_dir):
        made = [*reference_commands.write(self.root, self.folder, bin_dir), *reference_protocol.write(self.root, self.folder),
                *reference_cpp.write(self.root, self.folder)]
        subprocess.run([sys.executable, HERE / "reference_python.py", self.root, self.folder], check=True)
        for path in sorted((self.folder / "reference").rglob("*.md")):
            docname = path.relative_to(self.folder).with_suffix("").as_posix()
            self.pages[docname] = f"docs/{docname}.md"
            self.targets[f"docs/{docname}.md"] = docname
        for docname in made:
            name = docname.removeprefix("reference/protocol/")
            if name != docname:
                self.targets[f"proto/coppice/v1/{name}.proto"] = docname
        self.targets["proto/coppice/v1"] = "reference/protocol"
        self.targets |= OWN_PAGES
        self.attach("reference/protocol", [name for name in made if name.startswith("reference/protocol/")])
        self.attach("reference/commands", [name for name in made if name.startswith("reference/commands/")])
        self.attach("reference/cpp", [name for name in made if name.startswith("reference/cpp/")])

    def add_sources(self):
        """Adds a page for each file that a page links to and that is not a page itself."""
        for docname, path in list(self.pages.items()):
            if docname.startswith("reference/"):
                continue
            for line in prose((self.folder / f"{docname}.md").read_text(encoding="utf-8")):
                for link in LINK.findall(line):
                    target = (self.root / path).parent / link
                    if re.match(r"[a-z]+:", link) or self.root not in target.resolve().parents:
                        continue
                    name = target.resolve().relative_to(self.root).as_posix()
                    if target.is_file():
                        self.add_source(name)
                    elif target.is_dir():
                        self.folders.add(name)

    def add_source(self, path):
        if path in self.targets or path.endswith((".svg", ".png")):
            return
        lines = (self.root / path).read_text(encoding="utf-8").split("\n")
        rest = f"\n\nThe first {MOST_LINES:,} of {len(lines):,} lines." if len(lines) > MOST_LINES else ""
        longest = max((len(ticks) for ticks in re.findall(r"`{3,}", "\n".join(lines))), default=2)
        fence = "`" * (longest + 1)
        body = "\n".join(lines[:MOST_LINES]).rstrip()
        language = LANGUAGES.get(pathlib.Path(path).suffix, "text")
        self.add(f"source/{path}", path, f"---\norphan: true\nnosearch: true\n---\n# {path}{rest}\n\n{fence}{language}\n{body}\n{fence}\n")

    def attach(self, docname, pages, caption="", hidden=True):
        entries = "\n".join("/" + page for page in pages)
        options = (":hidden:\n" if hidden else ":maxdepth: 1\n:titlesonly:\n") + (f":caption: {caption}\n" if caption else "")
        with open(self.folder / f"{docname}.md", "a", encoding="utf-8") as page:
            page.write(f"\n\n```{{toctree}}\n{options}\n{entries}\n```\n")

    def add_contents(self):
        sections = {name: list(section["pages"]) for name, section in tomllib.loads((HERE / "contents.toml").read_text()).items()}
        listed = {docname_of(path) for pages in sections.values() for path in pages}
        for docname in sorted(self.pages):
            if docname not in listed and docname != "index" and not docname.startswith(("reference/", "source/")):
                sections["Research" if docname.startswith("research/") else "Understand"].append(self.pages[docname])
        if "index" not in self.pages:
            self.add("index", "docs/README.md", "# Coppice\n\nDecision trees learned under differential privacy.\n")
            hidden = False
        else:
            hidden = True
        for name, pages in sections.items():
            self.attach("index", [docname_of(path) for path in pages], caption=name, hidden=hidden)


def main():
    root, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    stage = Stage(root, folder)
    stage.add_documents()
    stage.add_reference(pathlib.Path(sys.argv[3]) if sys.argv[3:] else None)
    stage.add_sources()
    stage.add_contents()
    (folder / "site.json").write_text(json.dumps({"pages": stage.pages, "targets": stage.targets, "folders": sorted(stage.folders)}), encoding="utf-8")


if __name__ == "__main__":
    main()
