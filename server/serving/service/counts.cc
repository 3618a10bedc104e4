// StudyHandlers::GetCounts(): the counts of a study's reports at the nodes of one of its trees.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/model/cuts.h"
#include "common/model/model.h"
#include "common/model/render_label.h"
#include "common/terms/answer.h"
#include "common/wire/proto/convert.h"
#include "server/curator/estimation/inspection/break_down.h"
#include "server/serving/service/handlers.h"
#include "server/serving/service/messages.h"

namespace coppice::service {
namespace {

// A model of one tree with equal probabilities, to render its questions as any model's.
StatusOr<Model> QuestionsOf(const Schema& schema, const Tree& tree) {
  const uint32_t classes = schema.num_outputs();
  const LeafPrediction nothing{.probabilities = std::vector<double>(classes, 1.0 / classes)};
  return Model::Create(schema, {tree}, {std::vector<LeafPrediction>(tree.num_leaves(), nothing)},
                       Certificate());
}

// The conditions that rows of a node satisfy, from the root down.
std::vector<std::string> ConditionsOf(const render_internal::TreeView& view, uint32_t node) {
  std::vector<std::string> up;
  const Tree& tree = view.tree();
  for (uint32_t child = node; child != 0; child = tree.parent(child)) {
    const uint32_t parent = tree.parent(child);
    const std::string question = render_internal::Question(view, parent);
    const bool holds = tree.nodes()[parent].left == child;
    up.push_back(holds ? question : StrCat("not (", question, ")"));
  }
  return {up.rbegin(), up.rend()};
}

v1::CountEstimate EstimateToProto(const curator::CountEstimate& estimate) {
  v1::CountEstimate proto;
  proto.set_estimate(estimate.estimate);
  proto.set_standard_error(estimate.standard_error);
  proto.set_low(estimate.low);
  proto.set_high(estimate.high);
  return proto;
}

v1::NodeCounts NodeToProto(const render_internal::TreeView& view,
                           const curator::NodeCounts& counts) {
  v1::NodeCounts proto;
  proto.set_node(counts.node);
  proto.set_depth(view.tree().node_depth(counts.node));
  for (std::string& condition : ConditionsOf(view, counts.node)) {
    proto.add_conditions(std::move(condition));
  }
  proto.set_public_rows(counts.public_rows);
  if (counts.rows) *proto.mutable_rows() = EstimateToProto(*counts.rows);
  for (const curator::CountEstimate& of_class : counts.classes) {
    *proto.add_classes() = EstimateToProto(of_class);
  }
  if (counts.margin) *proto.mutable_margin() = EstimateToProto(*counts.margin);
  return proto;
}

curator::CountsRequest CountsRequestOf(const v1::GetCountsRequest& request) {
  curator::CountsRequest result{.tree = request.tree()};
  if (request.has_node()) result.choice.node = request.node();
  if (request.has_depth()) result.choice.depth = request.depth();
  if (request.confidence() != 0) result.confidence = request.confidence();
  return result;
}

// Numbers are counted under the end that devices rounded them to, or as if they had.
std::vector<std::string> NamesOf(const Terms& terms, const Tree& tree) {
  if (!AnswersNumbers(terms)) return terms.schema->classes();
  if (const std::optional<LeafCentres>& centres = tree.centres()) {
    return {StrCat("rounded to ", centres->half_range, " below the leaf's centre"),
            StrCat("rounded to ", centres->half_range, " above the leaf's centre")};
  }
  return {StrCat("rounded to ", terms.rounding->low), StrCat("rounded to ", terms.rounding->high)};
}

std::string MethodOf(const curator::StudyCounts& counts) {
  const bool several = counts.forest->size() > 1;
  std::string text = StrCat(
      "Bernstein's tail at the variance of the worst rows, over all intervals together; rests on ",
      counts.tree_reports, several ? " reports of this tree, scaled to all " : " reports of all ",
      counts.reports);
  if (counts.margins_only) {
    StrAppend(&text, ". ", MechanismName(counts.terms->mechanism),
              " tells margins only, so there are no counts");
  }
  return text;
}

}  // namespace

Status StudyHandlers::GetCounts(const Caller& caller, const v1::GetCountsRequest& request,
                                v1::GetCountsResponse* response) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  const curator::CountsRequest asked = CountsRequestOf(request);
  COPPICE_ASSIGN_OR_RETURN(const curator::StudyCounts counts,
                           studies_.GetCounts(id, asked, ViewerOf(caller)));
  const Schema& schema = *counts.terms->schema;
  COPPICE_ASSIGN_OR_RETURN(const Model model, QuestionsOf(schema, (*counts.forest)[asked.tree]));
  const ReadableCuts cuts(model);
  const render_internal::TreeView view{.model = model, .number = 0, .cuts = cuts};
  response->set_tree(asked.tree);
  response->set_reports(counts.reports);
  response->set_tree_reports(counts.tree_reports);
  response->set_confidence(counts.break_down.confidence);
  response->set_intervals(counts.break_down.intervals);
  for (const curator::NodeCounts& node : counts.break_down.nodes) {
    *response->add_nodes() = NodeToProto(view, node);
  }
  for (const std::string& name : NamesOf(*counts.terms, (*counts.forest)[asked.tree]))
    response->add_class_names(name);
  response->set_method(MethodOf(counts));
  return OkStatus();
}

}  // namespace coppice::service
