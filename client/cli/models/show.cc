#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/cli/models/commands.h"
#include "client/cli/models/model_source.h"
#include "client/cli/terminal/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/describe/text.h"
#include "common/model/render.h"
#include "common/model/summary.h"
#include "common/pages/pages.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {
namespace {

constexpr char kHtml[] = "html";

struct ShowModelFlags : ModelOrFileFlags {
  std::string format = "text", output_file;
  std::optional<size_t> tree;
  bool force = false;
};

// Says where to continue from the summary.
std::string Hint(const Model& model) {
  return StrCat("\nTrees are numbered 0 to ", model.forest().size() - 1,
                ": `--tree 0` shows the first, `model explain` how a row goes through them, "
                "`model verify` what the privacy means.\n");
}

// Whether to show a summary: for people, if they ask for no particular one of several trees.
bool IsSummary(const ShowModelFlags& flags, const Model& model) {
  return flags.format == "text" && !flags.tree && !flags.output.json && model.forest().size() > 1;
}

StatusOr<std::string> Draw(const ShowModelFlags& flags, const std::string& id, const Model& model) {
  if (flags.format == kHtml) return report::TreePage(id, model);
  if (IsSummary(flags, model)) return RenderSummary(model) + Hint(model);
  COPPICE_ASSIGN_OR_RETURN(const RenderFormat format, ParseRenderFormat(flags.format));
  return Render(model, flags.tree.value_or(0), format);
}

Json DescribeImportances(const Model& model) {
  Json json = Json::array();
  for (const Importance& one : Summarize(model).importances) {
    json.push_back({{"feature", model.tree_schema().features()[one.feature].name},
                    {"importance", one.importance},
                    {"standard_error", one.standard_error ? Json(*one.standard_error) : Json()}});
  }
  return json;
}

Status Show(const ShowModelFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const v1::Model proto, GetModel(flags));
  COPPICE_ASSIGN_OR_RETURN(const Model model, ParseModel(proto));
  COPPICE_ASSIGN_OR_RETURN(const std::string drawing, Draw(flags, IdOf(proto.name()), model));
  Json json = DescribeModel(proto);
  if (!IsSummary(flags, model) && flags.format != kHtml) json["tree"] = flags.tree.value_or(0);
  json["format"] = flags.format;
  if (!flags.output_file.empty()) {
    COPPICE_RETURN_IF_ERROR(WriteResult(flags.output_file, drawing, flags.force));
    json["output"] = flags.output_file;
    if (flags.output_file == "-") return OkStatus();
  } else if (flags.output.json) {
    json["drawing"] = drawing;
  } else {
    PrintText(drawing);
    return OkStatus();
  }
  if (flags.output.json) json["importances"] = DescribeImportances(model);
  PrintObject(json, flags.output.json);
  return OkStatus();
}

}  // namespace

void AddShow(const Command& noun) {
  const auto flags = std::make_shared<ShowModelFlags>();
  const Command verb =
      noun.AddCommand("show", "Summarize a forest, or draw one of its trees",
                      "coppice model show --model m-91c0 --format svg --output tree.svg");
  verb.Add("--format", flags->format,
           "text, dot (Graphviz) or svg; votes: a model of lazybb as one table; html: a page with "
           "all trees, which open at a click")
      .OneOf({"text", "dot", "svg", "votes", kHtml})
      .ShowDefault();
  verb.Add("--tree", flags->tree,
           "Which tree of a forest, from 0 (default: the first; as text, a summary of all)");
  verb.Add("--output", flags->output_file, "File to write to; - is stdout (the default)")
      .Takes("FILE");
  verb.AddSwitch("--force", flags->force, "Replace the file if there is one");
  AddModelOrFileFlags(verb, flags);
  SetAction(verb, flags, Show);
}

}  // namespace coppice::cli
