#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/studies/commands.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {
namespace {

struct CountsFlags {
  ServerFlags server;
  OutputFlags output;
  std::string study;
  uint32_t tree = 0;
  std::optional<uint32_t> node, depth;
  double confidence = 0.95;
};

v1::GetCountsRequest CountsRequestOf(const CountsFlags& flags) {
  v1::GetCountsRequest request;
  request.set_name(MakeName(kStudies, flags.study));
  request.set_tree(flags.tree);
  if (flags.node) request.set_node(*flags.node);
  if (flags.depth) request.set_depth(*flags.depth);
  request.set_confidence(flags.confidence);
  return request;
}

void AddEstimate(const v1::CountEstimate& estimate, double all, Json& json) {
  json["estimate"] = estimate.estimate();
  json["standard_error"] = estimate.standard_error();
  json["low"] = estimate.low();
  json["high"] = estimate.high();
  json["share"] = estimate.estimate() / all;
}

Json DescribeEstimate(const v1::CountEstimate& estimate, double all) {
  Json json = Json::object();
  AddEstimate(estimate, all, json);
  return json;
}

Json DescribeNode(const v1::GetCountsResponse& response, const v1::NodeCounts& node) {
  const auto all = static_cast<double>(response.reports());
  Json json = {{"node", node.node()},
               {"depth", node.depth()},
               {"conditions", Json::array()},
               {"public_rows", node.public_rows()}};
  for (const std::string& condition : node.conditions()) json["conditions"].push_back(condition);
  if (node.has_rows()) json["rows"] = DescribeEstimate(node.rows(), all);
  if (node.has_margin()) json["margin"] = DescribeEstimate(node.margin(), all);
  if (node.classes_size() == response.class_names_size()) {
    json["classes"] = Json::object();
    for (int k = 0; k < node.classes_size(); ++k) {
      json["classes"][response.class_names(k)] = DescribeEstimate(node.classes(k), all);
    }
  }
  return json;
}

Json DescribeCounts(const CountsFlags& flags, const v1::GetCountsResponse& response) {
  Json json = {{"study", flags.study},
               {"tree", response.tree()},
               {"reports", response.reports()},
               {"tree_reports", response.tree_reports()},
               {"confidence", response.confidence()},
               {"intervals", response.intervals()},
               {"method", response.method()},
               {"nodes", Json::array()}};
  for (const v1::NodeCounts& node : response.nodes()) {
    json["nodes"].push_back(DescribeNode(response, node));
  }
  return json;
}

// Adds a line per interval of a node.
void AddLines(const v1::GetCountsResponse& response, const v1::NodeCounts& node,
              std::vector<Json>& lines) {
  const auto add = [&](const std::string& what, const v1::CountEstimate& estimate) {
    Json line = {{"node", node.node()}, {"counted", what}};
    AddEstimate(estimate, static_cast<double>(response.reports()), line);
    line["public_rows"] = node.public_rows();
    line["where"] = node.conditions().empty() ? "everywhere" : StrJoin(node.conditions(), ", ");
    lines.push_back(std::move(line));
  };
  if (node.has_rows()) add("rows", node.rows());
  if (node.has_margin() && response.class_names_size() == 2) {
    add(StrCat(response.class_names(1), " less ", response.class_names(0)), node.margin());
  }
  for (int k = 0; k < node.classes_size() && k < response.class_names_size(); ++k) {
    add(response.class_names(k), node.classes(k));
  }
}

Status ShowCounts(const CountsFlags& flags) {
  if (flags.node && flags.depth) {
    return InvalidArgumentError("--node and --depth cannot be combined; give one of them");
  }
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const auto response,
                           remote.Call<v1::GetCountsResponse>(CountsRequestOf(flags)));
  if (flags.output.json) {
    PrintObject(DescribeCounts(flags, response), /*json=*/true);
    return OkStatus();
  }
  std::vector<Json> lines;
  for (const v1::NodeCounts& node : response.nodes()) AddLines(response, node, lines);
  PrintRows(lines, /*json=*/false);
  Note(StrCat("All ", response.intervals(), " intervals hold together with probability ",
              response.confidence(), " or more: ", response.method(), "."));
  return OkStatus();
}

}  // namespace

void AddStudyCounts(const Command& noun) {
  const auto flags = std::make_shared<CountsFlags>();
  const Command verb =
      noun.AddCommand("counts",
                      "Break a study's reports down by the nodes of a tree: rows and classes, with "
                      "intervals that all hold at once. Costs no privacy",
                      "coppice study counts --study s-4f2a --tree 0 --depth 2");
  AddIdFlag(verb, "--study", flags->study, "Id of the study");
  verb.Add("--tree", flags->tree, "Which tree, from 0").ShowDefault();
  verb.Add("--node", flags->node,
           "Only this node, by its number; the root is 0 (default: all nodes). Intervals are "
           "narrower for fewer nodes");
  verb.Add("--depth", flags->depth, "All nodes down to this depth; the root has depth 0");
  verb.Add("--confidence", flags->confidence, "Probability, at least, that all intervals hold")
      .InRange(0.5, 0.999999)
      .ShowDefault();
  SetRemoteAction(verb, flags, ShowCounts);
}

}  // namespace coppice::cli
