"""Writes the reference of the C++ and C interfaces, from Doxygen's XML of the public headers."""

import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree

from comments import cell, code, escape, fence, markdown, table

HERE = pathlib.Path(__file__).resolve().parent
DOXYFILE = """
INPUT = {headers}
STRIP_FROM_PATH = {root}
FULL_PATH_NAMES = YES
OUTPUT_DIRECTORY = {output}
INPUT_FILTER = "python3 {filter}"
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
EXTRACT_STATIC = YES
HIDE_FRIEND_COMPOUNDS = YES
SORT_MEMBER_DOCS = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
INCLUDE_GRAPH = NO
INCLUDED_BY_GRAPH = NO
PREDEFINED = COPPICE_API= ABSL_GUARDED_BY(x)= ABSL_EXCLUSIVE_LOCKS_REQUIRED(x)= ABSL_LOCKS_EXCLUDED(x)=
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_AS_ERROR = YES
"""
SHOWN = ("public-type", "public-func", "public-static-func", "public-attrib", "public-static-attrib", "friend", "protected-func",
         "protected-attrib", "user-defined", "typedef", "enum", "func", "var", "define")


def public_rooms(root):
    """Returns the folders whose headers `cmake --install` puts into include/, from the ground up (cmake/install.cmake)."""
    layers = {}
    for line in (root / "cmake/layers.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            room, folder = (field.strip() for field in line.split("|")[:2])
            layers[room] = folder
    targets = (root / "cmake/targets.cmake").read_text(encoding="utf-8")
    public = set()
    for name in ("COPPICE_CLIENT_ROOMS", "COPPICE_CARRIER_ROOMS"):
        public |= set(re.search(rf"set\({name}\s+([^)]+)\)", targets)[1].split())
    return [layers[room] for room in layers if room in public]


def run_doxygen(root, headers, output):
    doxyfile = DOXYFILE.format(headers=" ".join(map(str, headers)), root=root, output=output, filter=HERE / "doxygen_filter.py")
    (output / "Doxyfile").write_text(doxyfile, encoding="utf-8")
    subprocess.run(["doxygen", output / "Doxyfile"], check=True)
    return {path.stem: ElementTree.parse(path).getroot().find("compounddef")
            for path in (output / "xml").glob("*.xml") if path.stem not in ("index", "Doxyfile")}


def text_of(element, name):
    found = element.find(name)
    return "" if found is None else " ".join("".join(found.itertext()).split())


def comment_of(element):
    return "\n".join("".join(verbatim.itertext()).strip("\n") for verbatim in element.findall("detaileddescription//verbatim"))


def tidy(declaration):
    for pattern, replacement in ((r"\b(?:coppice::)+", ""), (r"\s+", " "), (r"< ", "<"), (r" (?=>)", ""), (r" ([&*]+) ?(?=\w)", r"\1 "),
                                 (r" ([&*]+)$", r"\1"), (r"\( ", "("), (r"\) ?= ?", ") = "), (r"const ?=", "const ="), (r"= ?(?=0|default)", "= ")):
        declaration = re.sub(pattern, replacement, declaration)
    return declaration


def declaration_of(member):
    kind, name = member.get("kind"), text_of(member, "name")
    template = member.find("templateparamlist")
    head = ""
    if template is not None:
        head = "template <" + ", ".join(" ".join(filter(None, (text_of(p, "type"), text_of(p, "declname")))) for p in template) + ">\n"
    if kind == "enum":
        base = text_of(member, "type")
        word = "enum class" if member.get("strong") == "yes" else "enum"
        return f"{word} {name if not name.startswith('@') else ''}".rstrip() + (f" : {base}" if base else "")
    if kind == "define":
        initializer = text_of(member, "initializer")
        return f"#define {name}{text_of(member, 'argsstring')}" + (f" {initializer}" if len(initializer) < 60 else "")
    flags = "".join(word + " " for flag, word in (("static", "static"), ("explicit", "explicit")) if member.get(flag) == "yes")
    if kind == "friend":
        flags += "friend "
    if member.get("virt") in ("virtual", "pure-virtual") and "override" not in text_of(member, "argsstring"):
        flags += "virtual "
    kind_type = text_of(member, "type")
    if kind == "typedef":
        definition = text_of(member, "definition")
        return head + tidy(definition) + ";"
    initializer = text_of(member, "initializer") if kind == "variable" else ""
    initializer = " " + initializer if initializer and len(initializer) < 80 else ""
    return head + tidy(f"{flags}{kind_type} {name}{text_of(member, 'argsstring')}{initializer}".strip()) + ";"


def wrapped(declaration, width=78):
    """Wraps a declaration with many arguments."""
    head, _, line = declaration.rpartition("\n")
    lines = []
    while len(line) > width and ", " in line[:width]:
        place = line.rindex(", ", 0, width) + 2
        lines.append(line[:place].rstrip())
        line = "    " + line[place:]
    return "\n".join(filter(None, [head, *lines, line]))


def enum_text(member):
    rows = [[code(text_of(value, "name") + (" " + text_of(value, "initializer") if value.find("initializer") is not None else "")),
             cell(comment_of(value))] for value in member.findall("enumvalue")]
    return table(["value", "meaning"], rows)


def fields_table(members):
    return table(["field", "type", "meaning"],
                 [[code(text_of(m, "name")), code(tidy(text_of(m, "type") + text_of(m, "argsstring"))), cell(comment_of(m))] for m in members])


def members_text(members, language, as_fields=False):
    """Shows declarations with their comments below. Declarations without a comment join the one above, as in the header."""
    out, group = [], []

    def flush():
        if group:
            out.append(fence("\n".join(group), language))
            group.clear()

    fields = [m for m in members if as_fields and m.get("kind") == "variable"]
    if fields:
        out.append(fields_table(fields))
    for member in members:
        comment, arguments = comment_of(member), text_of(member, "argsstring")
        if member in fields or re.search("= ?delete", arguments) or text_of(member, "name").startswith("~") and not comment:
            continue
        if comment and group:
            flush()
        group.append(wrapped(declaration_of(member)))
        if member.get("kind") == "enum":
            flush()
            out += [markdown(comment), enum_text(member)]
        elif comment:
            flush()
            out.append(markdown(comment))
    flush()
    return "\n\n".join(filter(None, out))


def members_of(compound):
    members = [member for section in compound.findall("sectiondef") if section.get("kind") in SHOWN for member in section.findall("memberdef")]
    return sorted(members, key=lambda member: int(member.find("location").get("line")))


def compound_text(compound, language, level):
    kind, name = compound.get("kind"), text_of(compound, "compoundname")
    name = re.sub(r"^coppice::", "", name)
    bases = [("" if base.get("prot") == "private" else base.get("prot") + " ") + tidy("".join(base.itertext()))
             for base in compound.findall("basecompoundref")]
    declared = f"{kind} {name}" + (" : " + ", ".join(bases) if bases else "")
    parts = ["#" * level + " " + escape(name), fence(declared, language), markdown(comment_of(compound)),
             members_text(members_of(compound), language, as_fields=True)]
    return "\n\n".join(filter(None, parts))


def header_text(file, compounds, namespace_members, language, level):
    """Returns the classes and functions of one header, in its order."""
    path = file.find("location").get("file")
    found = []
    for inner in file.findall("innerclass"):
        compound = compounds.get(inner.get("refid"))
        if compound is not None and inner.get("prot") == "public" and not re.search(r"(internal|private)", text_of(compound, "compoundname")):
            found.append((int(compound.find("location").get("line")), compound_text(compound, language, level + 1)))
    free = [member for member in [*members_of(file), *namespace_members.get(path, [])]
            if not re.search(r"_H_$|^COPPICE_API$", text_of(member, "name"))]
    lines = sorted(line for line, _ in found)
    groups = {}
    for member in free:  # those between two classes are grouped
        line = int(member.find("location").get("line"))
        groups.setdefault(sum(other < line for other in lines), []).append(member)
    for members in groups.values():
        members.sort(key=lambda member: int(member.find("location").get("line")))
        found.append((int(members[0].find("location").get("line")), members_text(members, language)))
    return [text for _, text in sorted(found) if text]


def write(root, stage):
    """Writes reference/cpp.md, reference/cpp/ROOM.md and reference/c.md; returns the pages."""
    rooms = {folder: sorted((root / folder).glob("*.h")) for folder in public_rooms(root)}
    c_header = root / "client/device/c/coppice_device.h"
    with tempfile.TemporaryDirectory() as output:
        compounds = run_doxygen(root, [*(h for headers in rooms.values() for h in headers), c_header], pathlib.Path(output))
    files = {c.find("location").get("file"): c for c in compounds.values() if c.get("kind") == "file"}
    namespace_members = {}
    for compound in compounds.values():
        if compound.get("kind") == "namespace" and not re.search(r"(internal|@)", text_of(compound, "compoundname")):
            for member in members_of(compound):
                namespace_members.setdefault(member.find("location").get("file"), []).append(member)

    folder = stage / "reference/cpp"
    folder.mkdir(parents=True)
    index, pages = [], []
    for room, headers in rooms.items():
        name = room.removeprefix("common/").replace("/", "-")
        page = [f"# {room}", f"Headers of `{room}`, which the component `client` installs below `include/coppice/`."]
        for header in headers:
            path = header.relative_to(root).as_posix()
            text = header_text(files[path], compounds, namespace_members, "cpp", 2)
            summary = comment_of(files[path])
            page += [f"## {escape(header.name)}", fence(f'#include "{path}"', "cpp"), markdown(summary), *text]
            index.append([f"[{code(path)}](/docs/reference/cpp/{name}.md#{header.name.replace('.', '')})",
                          cell(summary.split("\n\n")[0])])
        (folder / f"{name}.md").write_text("\n\n".join(filter(None, page)) + "\n", encoding="utf-8")
        pages.append(f"reference/cpp/{name}")
    text = ["# C++ interface",
            "What a program for devices includes: `find_package(coppice)` in CMake, or `pkg-config coppice`.",
            "Names without a namespace are in `coppice`.", table(["header", "what it is"], index)]
    (stage / "reference/cpp.md").write_text("\n\n".join(text) + "\n", encoding="utf-8")

    file = files["client/device/c/coppice_device.h"]
    text = ["# C interface", fence("#include <coppice_device.h>", "c"), markdown(comment_of(file)),
            *header_text(file, compounds, {}, "c", 1)]
    (stage / "reference/c.md").write_text("\n\n".join(filter(None, text)) + "\n", encoding="utf-8")
    return pages
