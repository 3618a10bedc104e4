#include <memory>
#include <string>
#include <vector>

#include "client/cli/models/commands.h"
#include "client/cli/models/model_source.h"
#include "client/cli/terminal/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/describe/text.h"
#include "common/export/formats.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/model_file.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {
namespace {

struct ExportFlags : ModelOrFileFlags {
  std::string format, output_file;
  bool force = false;
};

// For devices in C, which have a reader for the message (docs/device.md).
constexpr char kMessage[] = "message";

std::vector<std::string> Formats() {
  std::vector<std::string> names = formats::FormatNames();
  names.push_back(kMessage);
  return names;
}

StatusOr<std::string> ToFile(const v1::Model& proto, const std::string& format) {
  if (format.empty()) return ModelFileText(proto);  // what --file of every command accepts
  COPPICE_ASSIGN_OR_RETURN(const Model model, ParseModel(proto));
  if (format == kMessage) return ModelMessageBytes(proto);
  return formats::ExportModel(model, IdOf(proto.name()), format);
}

Status Export(const ExportFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const v1::Model model, GetModel(flags));
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, ToFile(model, flags.format));
  COPPICE_RETURN_IF_ERROR(WriteResult(flags.output_file, bytes, flags.force));
  if (flags.output_file == "-") return OkStatus();
  Json json = {{"model", IdOf(model.name())}};
  if (!flags.format.empty()) json["format"] = flags.format;
  json["output"] = flags.output_file;
  json["bytes"] = bytes.size();
  PrintObject(json, flags.output.json);
  return OkStatus();
}

}  // namespace

void AddExport(const Command& noun) {
  const auto flags = std::make_shared<ExportFlags>();
  const Command verb =
      noun.AddCommand("export", "Write a model to a file: complete, as JSON, or for other programs",
                      "coppice model export --model m-91c0 --format onnx --output model.onnx");
  verb.Add("--format", flags->format,
           "For programs without Coppice: json (documented, by names), onnx, xgboost (its JSON), c "
           "(one header) or sql (one query); see docs/export.md. For devices in C: message "
           "(docs/device.md). "
           "Default: the file that --file takes")
      .OneOf(Formats());
  verb.Add("--output", flags->output_file, "File to write to; - is stdout")
      .Takes("FILE")
      .Required();
  verb.AddSwitch("--force", flags->force, "Replace the file if there is one");
  AddModelOrFileFlags(verb, flags);
  SetAction(verb, flags, Export);
}

}  // namespace coppice::cli
