#include <iostream>
#include <memory>
#include <string>

#include "client/cli/models/commands.h"
#include "client/cli/models/model_source.h"
#include "client/cli/terminal/describe.h"
#include "client/cli/terminal/output.h"
#include "common/base/status_macros.h"
#include "common/tree/render.h"
#include "common/wire/convert.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {
namespace {

struct ShowFlags : ModelFlags {
  std::string format = "text", output_file;
  size_t tree = 0;
  bool force = false;
};

absl::Status Show(const ShowFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const v1::Model proto, GetModel(remote, flags.model));
  COPPICE_ASSIGN_OR_RETURN(const Model model, FromProto(proto));
  COPPICE_ASSIGN_OR_RETURN(const RenderFormat format, ParseRenderFormat(flags.format));
  COPPICE_ASSIGN_OR_RETURN(const std::string drawing, Render(model, flags.tree, format));
  Json json = DescribeModel(proto);
  json["tree"] = flags.tree;
  json["format"] = flags.format;
  if (!flags.output_file.empty()) {
    COPPICE_RETURN_IF_ERROR(WriteResult(flags.output_file, drawing, flags.force));
    json["output"] = flags.output_file;
    if (flags.output_file == "-") return absl::OkStatus();
  } else if (flags.output.json) {
    json["drawing"] = drawing;
  } else {
    std::cout << drawing << std::flush;
    return absl::OkStatus();
  }
  PrintObject(json, flags.output.json);
  return absl::OkStatus();
}

}  // namespace

void AddShow(const Command& noun) {
  const auto flags = std::make_shared<ShowFlags>();
  const Command verb =
      noun.AddCommand("show", "Draw a tree of a model",
                      "coppice model show --model m-91c0 --format svg --output tree.svg");
  verb.Add("--format", flags->format,
           "text, dot (Graphviz) or svg; votes: a model of lazybb as one table")
      .OneOf({"text", "dot", "svg", "votes"})
      .ShowDefault();
  verb.Add("--tree", flags->tree, "Which tree of a forest, from 0").ShowDefault();
  verb.Add("--output", flags->output_file, "File to write to; - is stdout (the default)")
      .Takes("FILE");
  verb.AddSwitch("--force", flags->force, "Replace the file if there is one");
  AddModelFlags(verb, *flags);
  SetAction(verb, flags, Show);
}

}  // namespace coppice::cli
