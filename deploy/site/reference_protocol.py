"""Writes the reference of the protocol, from the comments of proto/: one page per file."""

import pathlib
import re
import subprocess
import tempfile

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

from comments import cell, code, escape, markdown, table

NOT_SPOKEN = {"storage"}  # stored, and never sent
SCALARS = {number: name.removeprefix("TYPE_").lower() for name, number in FieldDescriptorProto.Type.items()}


def read_files(root):
    sources = sorted((root / "proto/coppice/v1").glob("*.proto"))
    sources = [source for source in sources if source.stem not in NOT_SPOKEN]
    with tempfile.TemporaryDirectory() as folder:
        descriptors = pathlib.Path(folder) / "set"
        subprocess.run(["protoc", "-I", root / "proto", "--include_source_info", f"--descriptor_set_out={descriptors}", *sources], check=True)
        return FileDescriptorSet.FromString(descriptors.read_bytes()).file


def read_roles(root):
    """Reads {"Service/Method": roles} from server/serving/access/method_table.cc."""
    text = (root / "server/serving/access/method_table.cc").read_text(encoding="utf-8")
    sets = {}
    for name, roles in re.findall(r"constexpr RoleSet (\w+) = \{([^}]*)\}", text):
        sets[name] = [role.lower() for role in re.findall(r"Role::k(\w+)", roles)]
    found = {}
    for method, roles in re.findall(r'\{"/coppice\.v1\.([\w/]+)",\s+(\w+),', text):
        found[method] = sets[roles]
    return found


class Page:
    """The page of one file. `homes` has the page of each message and enum."""

    def __init__(self, file, homes, roles):
        self.file, self.homes, self.roles = file, homes, roles
        self.comments = {tuple(l.path): (l.leading_comments or l.trailing_comments) for l in file.source_code_info.location}
        self.name = pathlib.PurePath(file.name).stem

    def comment(self, *path):
        return re.sub(r"(?m)^ ", "", self.comments.get(path, ""))

    def link(self, type_name):
        name = type_name.removeprefix(".coppice.v1.")
        return f"[{code(name)}](/docs/reference/protocol/{self.homes[name]}.md#{anchor(name)})" if name in self.homes else code(name)

    def type_of(self, field, maps):
        if field.type_name in maps:
            key, value = maps[field.type_name].field
            return f"map of {self.type_of(key, {})} to {self.type_of(value, {})}"
        name = self.link(field.type_name) if field.type_name else code(SCALARS[field.type])
        repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
        return ("repeated " if repeated else "optional " if field.proto3_optional else "") + name

    def service(self, service, index):
        calls = [markdown(self.comment(6, index)), "## Calls"]
        for i, method in enumerate(service.method):
            roles = self.roles.get(f"{service.name}/{method.name}")
            request = ("a stream of " if method.client_streaming else "") + self.link(method.input_type)
            response = ("a stream of " if method.server_streaming else "") + self.link(method.output_type)
            calls += [f"### {method.name}", markdown(self.comment(6, index, 2, i)),
                      f"Request: {request}. Response: {response}." + (f" Roles: {', '.join(roles)}." if roles else "")]
        return calls

    def message(self, message, path, prefix=""):
        name = prefix + message.name
        maps = {f".coppice.v1.{name}.{nested.name}": nested for nested in message.nested_type if nested.options.map_entry}
        rows = []
        for i, field in enumerate(message.field):
            choice = ""
            if field.HasField("oneof_index") and not field.proto3_optional:
                choice = f"One of {code(message.oneof_decl[field.oneof_index].name)}. "
            rows.append([str(field.number), code(field.name), self.type_of(field, maps), choice + cell(self.comment(*path, 2, i))])
        oneofs = [f"{code(oneof.name)}: {escape(' '.join(self.comment(*path, 8, i).split()))}" for i, oneof in enumerate(message.oneof_decl)
                  if self.comment(*path, 8, i)]
        out = [f"### {escape(name)}", markdown(self.comment(*path)), *oneofs, table(["number", "field", "type", "meaning"], rows)]
        for i, nested in enumerate(message.nested_type):
            if not nested.options.map_entry:
                out += self.message(nested, (*path, 3, i), name + ".")
        for i, enum in enumerate(message.enum_type):
            out += self.enum(enum, (*path, 4, i), name + ".")
        return out

    def enum(self, enum, path, prefix=""):
        rows = [[str(value.number), code(value.name), cell(self.comment(*path, 2, i))] for i, value in enumerate(enum.value)]
        return [f"### {escape(prefix + enum.name)}", markdown(self.comment(*path)), table(["number", "value", "meaning"], rows)]

    def text(self):
        services = [service.name for service in self.file.service]
        out = [f"# {', '.join(services) or self.name + '.proto'}",
               f"Package `coppice.v1`, file `{self.file.name}`. [The protocol](/docs/protocol.md) says how calls are made."]
        for i, service in enumerate(self.file.service):
            out += self.service(service, i)
        out.append("## Messages")
        for i, message in enumerate(self.file.message_type):
            out += self.message(message, (4, i))
        if self.file.enum_type:
            out.append("## Enums")
        for i, enum in enumerate(self.file.enum_type):
            out += self.enum(enum, (5, i))
        return "\n\n".join(filter(None, out)) + "\n"


def anchor(name):
    return name.lower().replace(".", "")


def names_in(message, prefix=""):
    yield prefix + message.name
    for nested in message.nested_type:
        yield from names_in(nested, prefix + message.name + ".")
    for enum in message.enum_type:
        yield prefix + message.name + "." + enum.name


def write(root, stage):
    """Writes reference/protocol.md and reference/protocol/FILE.md; returns the pages."""
    files, roles = read_files(root), read_roles(root)
    homes = {}
    for file in files:
        page = pathlib.PurePath(file.name).stem
        homes |= {name: page for message in file.message_type for name in names_in(message)}
        homes |= {enum.name: page for enum in file.enum_type}
    folder = stage / "reference/protocol"
    folder.mkdir(parents=True)
    rows, others = [], []
    for file in sorted(files, key=lambda file: not file.service):
        page = Page(file, homes, roles)
        (folder / f"{page.name}.md").write_text(page.text(), encoding="utf-8")
        for i, service in enumerate(file.service):
            calls = ", ".join(code(method.name) for method in service.method)
            rows.append([f"[{code(service.name)}](/docs/reference/protocol/{page.name}.md)", calls, cell(page.comment(6, i))])
        if not file.service:
            names = ", ".join(page.link(message.name) for message in file.message_type)
            others.append([f"[{code(file.name)}](/docs/reference/protocol/{page.name}.md)", names])
    text = ["# Protocol reference", "Every service, message and enum of `coppice.v1`, from the comments of its `.proto` files.",
            "[The protocol](/docs/protocol.md) says how a client uses them.", "## Services", table(["service", "calls", "what for"], rows),
            "## Messages of several services", table(["file", "messages"], others)]
    (stage / "reference/protocol.md").write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return [f"reference/protocol/{pathlib.PurePath(file.name).stem}" for file in sorted(files, key=lambda file: not file.service)]
