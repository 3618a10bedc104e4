#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "client/cli/tables/commands.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/export/row_types.h"
#include "common/table/schema_file.h"
#include "common/terms/sha256.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {
namespace {

struct GenerateFlags {
  ServerFlags server;
  OutputFlags output;
  std::string language, schema_file, study, name, package, output_dir;
  bool force = false;
};

struct RowSchema {
  std::string name;
  SchemaFile file;
  std::string joined_by;
};

StatusOr<RowSchema> SchemaOfStudy(const GenerateFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::GetStudyRequest request;
  request.set_name(MakeName(kStudies, flags.study));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::GetStudyResponse>(request));
  const v1::Terms& terms = response.study().terms();
  COPPICE_ASSIGN_OR_RETURN(Schema schema, ParseSchema(terms.schema()));
  return RowSchema{.name = flags.study,
                   .file = {.schema = std::make_shared<const Schema>(std::move(schema))},
                   .joined_by = terms.joined_by()};
}

StatusOr<RowSchema> SchemaOf(const GenerateFlags& flags) {
  if (!flags.study.empty()) return SchemaOfStudy(flags);
  COPPICE_ASSIGN_OR_RETURN(SchemaFile file, ReadSchema(flags.schema_file));
  return RowSchema{.name = std::filesystem::path(flags.schema_file).stem().string(),
                   .file = std::move(file),
                   .joined_by = ""};
}

// Hashes the schema as a study's terms have it: a file and the study that was made from it then
// have the same hash.
std::string Sha256Of(const Schema& schema) {
  const Sha256Digest digest = Sha256({ToProto(schema).SerializeAsString()});
  return BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

Status Generate(const GenerateFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(RowSchema found, SchemaOf(flags));
  const Schema& schema = *found.file.schema;
  const std::string text = ToText(found.file), sha256 = Sha256Of(schema);
  COPPICE_ASSIGN_OR_RETURN(
      const formats::SourceFile source,
      formats::GenerateRowTypes(schema,
                                {.name = flags.name.empty() ? found.name : flags.name,
                                 .schema_sha256 = sha256,
                                 .schema_json = text,
                                 .joined_by = found.joined_by,
                                 .package = flags.package},
                                flags.language));
  const std::string path = StrCat(flags.output_dir, "/", source.name);
  const std::string record = StrCat(path, ".schema.json");
  if (!flags.force && std::filesystem::exists(record)) {
    return AlreadyExistsError(StrCat(record, " exists; give --force to replace it"));
  }
  std::error_code failed;
  std::filesystem::create_directories(flags.output_dir, failed);
  if (failed) return UnavailableError(StrCat(flags.output_dir, ": ", failed.message()));
  COPPICE_RETURN_IF_ERROR(WriteResult(path, source.text, flags.force));
  COPPICE_RETURN_IF_ERROR(WriteResult(record, text, /*force=*/true));
  PrintObject({{"output", path}, {"schema", record}, {"schema_sha256", sha256}}, flags.output.json);
  return OkStatus();
}

}  // namespace

void AddGenerate(const Command& noun) {
  const auto flags = std::make_shared<GenerateFlags>();
  const Command verb = noun.AddCommand(
      "generate",
      "Write a source file with a type for the rows of a schema or a study, so that a compiler "
      "checks what a program sets; and beside it the schema, for `coppice study create "
      "--compatible-with`",
      "coppice schema generate --language c --schema schema.json --output src");
  verb.Add("--language", flags->language, "What the file is written in")
      .Required()
      .OneOf({"c", "cpp", "ts", "java", "python"});
  const Flag schema = verb.Add("--schema", flags->schema_file, "Schema, JSON").Takes("FILE");
  const Flag study =
      AddIdFlag(verb, "--study", flags->study, "Instead: the schema of this study", false);
  study.Excludes(schema);
  verb.Add("--output", flags->output_dir, "Folder for the files, made if there is none")
      .Required()
      .Takes("DIR");
  verb.Add("--name", flags->name,
           "What the type is named after (default: the study's id, or the schema's file)")
      .Takes("NAME");
  verb.Add("--package", flags->package, "With --language java: the package of the class")
      .Takes("NAME");
  verb.AddSwitch("--force", flags->force, "Replace files that there are");
  AddOutputFlags(verb, flags->output);
  const Flag server = AddServerFlags(verb, flags->server);
  server.Required(false);
  verb.CheckFlags([schema, study, server]() -> Status {
    if (!schema.IsGiven() && !study.IsGiven()) {
      return InvalidArgumentError("give --schema FILE, or --study ID");
    }
    return study.IsGiven() && !server.IsGiven() ? server.MissingError() : OkStatus();
  });
  SetAction(verb, flags, Generate);
}

}  // namespace coppice::cli
