#!/usr/bin/env python3
"""Adds a toy by a recipe of docs/contributing.md to a copy of the files that the recipe names.

  apply.py mechanism|trainer|method|setting SOURCE_DIR OUTPUT_DIR [LIST]

OUTPUT_DIR gets only those files: a build with it before SOURCE_DIR on the include path sees the toy. With LIST it
prints their paths and writes nothing.

Fails if the recipe in the document names other files than the toy needs, or more files than its limit, or if a place
to add something at is not found; also if other production code names what the recipe adds, which would make the recipe
incomplete.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent

# Each edit is a file, a pattern whose match stays, and the text to insert after it.
RECIPES = {
    "mechanism": {
        "section": "Adding a mechanism",
        "limit": 5,
        "new": {"common/ldp/toy.cc": "toy_mechanism.cc"},
        "edits": [
            ("common/ldp/CMakeLists.txt", r"coppice_room\(ldp\n(  \w+\.cc\n)*", "  toy.cc\n"),
            ("common/ldp/local_mechanism.h", r"enum class MechanismKind [^}]*", "  kToy = 100,\n"),
            ("common/ldp/mechanisms.h", r"(MechanismOr Make\w+\(.*\);\n)+",
             "MechanismOr MakeToy(const Budget& epsilon, const Domain& domain);\n"),
            ("common/ldp/mechanisms.h", r"kMechanisms = \{\n(    MechanismEntry\{[^}]*\},\n)*",
             '    MechanismEntry{MechanismKind::kToy, "toy", &MakeToy},\n'),
            ("proto/coppice/v1/study.proto", r"enum Mechanism \{[^}]*",
             "  // Randomized response, counted from the end.\n  MECHANISM_TOY = 100;\n"),
        ],
        "tests": [
            ("tests/privacy/local_enumeration_test.cc", r"CasesOf\(MechanismKind kind\) \{\n.*\n",
             '    case MechanismKind::kToy:\n      return {{kind, "1", {1, 2}, {}, 0.99},\n'
             '              {kind, "0.5", {2, 3}, {}, 0.99}};\n'),
        ],
        # Files that may name one: the simulated liars and the default choice, which are about some mechanisms.
        "names": r"MechanismKind::k\w|v1::MECHANISM_[^U]",
        "may_name": r"common/ldp/|server/lab/simulation/liars\.cc|server/curator/estimation/planning/mechanism_choice\.h",
    },
    "trainer": {
        "section": "Adding a trainer",
        "limit": 5,
        "new": {"server/trainers/forests/toy.cc": "toy_trainer.cc"},
        "edits": [
            ("server/trainers/CMakeLists.txt", r"coppice_room\(trainers\n(  [\w/]+\.cc\n)*", "  forests/toy.cc\n"),
            ("server/trainers/forests/forests.h", r"(const Trainer& \w+\(\);.*\n)+",
             "const Trainer& Toy();  // toy.cc\n"),
            ("server/trainers/registry.cc", r"kTrainers = \{", "&Toy(), "),
        ],
        "tests": [],
        "names": r"\b(Spe|MaxTree|DpBoost|LazyBb|Logistic)\(\)",
        "may_name": r"server/trainers/",
    },
    # Counts the studies that the caller may see.
    "method": {
        "section": "Adding an RPC",
        "limit": 8,  # documents, terminal and Python included
        "new": {},
        "edits": [
            ("proto/coppice/v1/study.proto", r"rpc ListStudies\(.*\n",
             "  // Counts the studies that the caller may see.\n"
             "  rpc CountStudies(CountStudiesRequest) returns (CountStudiesResponse);\n"),
            ("proto/coppice/v1/study.proto", r"message ListStudiesResponse \{[^}]*\}\n",
             "\nmessage CountStudiesRequest {}\n\nmessage CountStudiesResponse {\n"
             "  // How many there are.\n  uint64 studies = 1;\n}\n"),
            ("server/serving/service/handlers.h", r"  Status ListStudies\([^;]*;\n",
             "  Status CountStudies(const Caller& caller, const v1::CountStudiesRequest& request,\n"
             "                      v1::CountStudiesResponse* response) const;\n"),
            ("server/serving/service/study_handlers.cc", r"registry\.Add\(\*this, &StudyHandlers::ListStudies\);\n",
             "  registry.Add(*this, &StudyHandlers::CountStudies);\n"),
            ("server/serving/service/study_handlers.cc", r"(?=Status StudyHandlers::ListStudies\()",
             "Status StudyHandlers::CountStudies(const Caller& caller, const v1::CountStudiesRequest&,\n"
             "                                   v1::CountStudiesResponse* response) const {\n"
             "  v1::ListStudiesResponse page;\n"
             "  COPPICE_RETURN_IF_ERROR(ListStudies(caller, v1::ListStudiesRequest(), &page));\n"
             "  response->set_studies(page.studies_size());\n  return OkStatus();\n}\n\n"),
            ("server/serving/access/method_table.cc", r"(?=    \{\"/coppice\.v1\.StudyService/CreateStudy\")",
             '    {"/coppice.v1.StudyService/CountStudies", kAnalysts, kInline, kShort, kBrief, kReads, kPublic, '
             "kNamed, kList},\n"),
            ("client/cli/studies/study.cc", r"(?=void AddListStudies\()",
             "Status CountStudies(const StudyListFlags& flags) {\n"
             "  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));\n"
             "  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::CountStudiesResponse>(\n"
             "                                                    v1::CountStudiesRequest()));\n"
             '  PrintObject({{"studies", response.studies()}}, flags.output.json);\n'
             "  return OkStatus();\n}\n\n"
             "void AddCountStudies(const Command& noun) {\n"
             "  const auto flags = std::make_shared<StudyListFlags>();\n"
             '  const Command verb = noun.AddCommand("count", "Count the studies", "coppice study count");\n'
             "  AddOutputFlags(verb, flags->output);\n  AddServerFlags(verb, flags->server);\n"
             "  SetAction(verb, flags, CountStudies);\n}\n\n"),
            ("client/cli/studies/study.cc", r"  AddListStudies\(noun\);\n", "  AddCountStudies(noun);\n"),
            ("client/python/coppice/remote/studies.py", r"(?=    def get\(self, study_id)",
             "    def count(self) -> int:\n"
             '        """Return how many studies there are."""\n'
             "        request = study_pb2.CountStudiesRequest()\n"
             "        return int(self._caller.call(request, study_pb2.CountStudiesResponse).studies)\n\n"),
            ("docs/protocol.md", r"\| `analyst` \| ", "`CountStudies`, "),
        ],
        "tests": [],
        "toys": {"toy_method_test.cc": "toy_method_test.cc"},
        "names": r"\bListStudies(Request|Response)\b",
        "may_name": r"server/serving/service/(handlers\.h|study_handlers\.cc)|client/cli/studies/study\.cc",
    },
    # A number from 0 to 9 that devices check.
    "setting": {
        "section": "Adding a study setting",
        "limit": 8,
        "new": {},
        "edits": [
            ("proto/coppice/v1/study.proto", r"message Manifest \{\n",
             "  // From 0 to 9.\n  uint32 toy = 100;\n"),
            ("proto/coppice/v1/study.proto", r"message StudySettings \{\n",
             "  // From 0 to 9.\n  uint32 toy = 100;\n"),
            ("common/terms/manifest.h", r"struct Manifest \{\n(  \w.*\n|  //.*\n)*?  uint64_t min_reports.*\n",
             "  uint32_t toy = 0;\n"),
            ("common/terms/manifest.cc", r"Status ValidateManifest\(const Manifest& manifest\) \{\n",
             '  if (manifest.toy > 9) return InvalidArgumentError("toy: must be 0 to 9");\n'),
            ("common/wire/messages.h", r"struct ManifestMessage \{\n", "  uint32_t toy = 0;\n"),
            ("common/wire/messages.h", r"fields\.Number\(14, \"sealed_payload_bytes\", [^\n]*\n",
             '  fields.Number(100, "toy", manifest.toy);\n'),
            ("common/wire/manifest.cc", r"StatusOr<Manifest> MakeManifest\([^{]*\{\n[\s\S]*?"
             r"\.min_reports = message\.min_reports,\n", "                    .toy = message.toy,\n"),
            ("common/wire/manifest.cc", r"  ManifestMessage message\{[\s\S]*?\};\n", "  message.toy = manifest.toy;\n"),
            ("server/curator/study/study_settings.h", r"struct StudySettings \{\n", "  uint32_t toy = 0;\n"),
            ("server/curator/study/study_settings.cc", r"StudySettings settings\{\n", "      .toy = proto.toy(),\n"),
            ("server/curator/study/study_settings.cc", r"v1::StudySettings ToProto\([^{]*\{\n  v1::StudySettings proto;\n",
             "  proto.set_toy(settings.toy);\n"),
            ("server/curator/study/study_settings.cc", r"void PromiseToDevices\([^{]*\{\n",
             "  manifest.toy = settings.toy;\n"),
            ("server/curator/study/study_settings.cc", r"std::string CanonicalText\([\s\S]*?(?=  return text;\n)",
             '  if (settings.toy != 0) StrAppend(&text, " toy ", settings.toy);\n'),
            ("common/describe/study_settings.cc", r"constexpr StudySetting kSettings\[\] = \{\n",
             '    {.name = "toy",\n     .takes = "N",\n     .help = "From 0 to 9",\n     .set =\n'
             "         [](const std::string& text, v1::StudySettings& settings) {\n"
             "           uint32_t toy = 0;\n           const Status status = ParseCount(text, toy);\n"
             "           if (status.ok()) settings.set_toy(toy);\n           return status;\n         },\n"
             "     .describe = [](const v1::StudySettings& settings,\n"
             '                    Description& json) { json["toy"] = settings.toy(); }},\n'),
        ],
        "tests": [],
        "toys": {"toy_setting_test.cc": "toy_setting_test.cc"},
        # Acts once a study is sealed, so nobody else names it.
        "names": r"\brequire_submission_token\b",
        "may_name": r"server/curator/study/study(_settings)?\.|server/curator/studies/studies\.cc"
                    r"|common/describe/study_settings\.cc",
    },
}


def fail(words):
    sys.exit(f"apply.py: {words}")


def stated_files(source, section):
    """Returns the files of the section's table, with NAME replaced by the toy's."""
    text = (source / "docs/contributing.md").read_text()
    found = re.search(rf"^## {section}\n(.*?)(^## |\Z)", text, re.S | re.M)
    if found is None:
        fail(f'docs/contributing.md has no section "{section}"')
    places = {"NAME": "toy", "SERVICE": "study", "CLASS": "studies", "server/trainers/FOLDER": "server/trainers/forests",
              "client/cli/FOLDER/COMMAND": "client/cli/studies/study"}
    stated = re.findall(r"^\| `([^`]+)` \|", found.group(1), re.M)
    for place, file in places.items():
        stated = [one.replace(place, file) for one in stated]
    return stated


def check(source, recipe):
    taken = sorted({*recipe["new"], *(file for file, _, _ in recipe["edits"])})
    stated = sorted(stated_files(source, recipe["section"]))
    if stated != taken:
        fail(f"docs/contributing.md names {stated}, and the toy takes {taken}")
    if len(taken) > recipe["limit"]:
        fail(f"{len(taken)} files are more than {recipe['limit']}")
    for path in (path for top in ("common", "client", "server")
                 for path in sorted((source / top).rglob("*.[ch]*"))):
        name = str(path.relative_to(source))
        if re.match(recipe["may_name"], name):
            continue
        found = re.search(recipe["names"], re.sub(r"//.*", "", path.read_text()))
        # A default value names one, and needs no change.
        if found is not None:
            fail(f"{name} names {found.group(0)}: who adds another would have to know")


def main():
    recipe, source, output = RECIPES[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    edits = recipe["edits"] + recipe["tests"]
    if sys.argv[4:] == ["LIST"]:
        print(";".join([*recipe["new"], *recipe.get("toys", {}), *dict.fromkeys(file for file, _, _ in edits)]))
        return
    check(source, recipe)
    toys = recipe["new"] | recipe.get("toys", {})
    texts = {file: (HERE / toy).read_text() for file, toy in toys.items()}
    for file, place, addition in edits:
        text = texts.get(file) or (source / file).read_text()
        found = re.search(place, text)
        if found is None:
            fail(f"{file} has no place for {addition!r}")
        texts[file] = text[:found.end()] + addition + text[found.end():]
    for file, text in texts.items():
        if file.endswith(".py"):
            compile(text, file, "exec")
        path = output / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
