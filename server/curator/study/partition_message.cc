#include "server/curator/study/partition_message.h"

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/field_error.h"

namespace coppice::curator {
namespace {

v1::SplitRule RuleToProto(SplitRule rule) {
  switch (rule) {
    case SplitRule::kMaxEdge:
      return v1::SPLIT_RULE_MAX_EDGE;
    case SplitRule::kRandomMaxEdge:
      return v1::SPLIT_RULE_RANDOM_MAX_EDGE;
    case SplitRule::kCart:
      return v1::SPLIT_RULE_CART;
    case SplitRule::kHybrid:
      return v1::SPLIT_RULE_HYBRID;
    case SplitRule::kRandomCut:
      return v1::SPLIT_RULE_RANDOM_CUT;
  }
  return v1::SPLIT_RULE_UNSPECIFIED;
}

StatusOr<SplitRule> ParseSplitRule(v1::SplitRule proto) {
  switch (proto) {
    case v1::SPLIT_RULE_MAX_EDGE:
      return SplitRule::kMaxEdge;
    case v1::SPLIT_RULE_RANDOM_MAX_EDGE:
      return SplitRule::kRandomMaxEdge;
    case v1::SPLIT_RULE_CART:
      return SplitRule::kCart;
    case v1::SPLIT_RULE_HYBRID:
      return SplitRule::kHybrid;
    case v1::SPLIT_RULE_RANDOM_CUT:
      return SplitRule::kRandomCut;
    default:
      return FieldError("partition.rule", "must be set, to one that this version knows");
  }
}

v1::Criterion CriterionToProto(Criterion criterion) {
  return criterion == Criterion::kGini ? v1::CRITERION_GINI : v1::CRITERION_ENTROPY;
}

StatusOr<Criterion> ParseCriterion(v1::Criterion proto) {
  switch (proto) {
    case v1::CRITERION_GINI:
      return Criterion::kGini;
    case v1::CRITERION_ENTROPY:
      return Criterion::kEntropy;
    default:
      return FieldError("partition.criterion", "must be set, to one that this version knows");
  }
}

}  // namespace

v1::PartitionOptions ToProto(const PartitionOptions& options) {
  v1::PartitionOptions proto;
  proto.set_rule(RuleToProto(options.rule));
  proto.set_criterion(CriterionToProto(options.criterion));
  proto.set_max_depth(options.max_depth);
  proto.set_min_leaf(options.min_leaf);
  proto.set_trees(options.trees);
  proto.set_seed(options.seed);
  proto.set_max_leaves(options.max_leaves);
  proto.set_ignore_labels(!options.use_labels);
  proto.set_from_schema(options.from_schema);
  proto.set_by_feature(options.by_feature);
  return proto;
}

StatusOr<PartitionRequest> ParsePartitionRequest(const v1::PartitionOptions& proto) {
  PartitionRequest request = {.max_leaves = proto.max_leaves(),
                              .use_labels = !proto.ignore_labels(),
                              .from_schema = proto.from_schema(),
                              .by_feature = proto.by_feature()};
  if (proto.rule() != v1::SPLIT_RULE_UNSPECIFIED) {
    COPPICE_ASSIGN_OR_RETURN(request.rule, ParseSplitRule(proto.rule()));
  }
  if (proto.criterion() != v1::CRITERION_UNSPECIFIED) {
    COPPICE_ASSIGN_OR_RETURN(request.criterion, ParseCriterion(proto.criterion()));
  }
  if (proto.has_max_depth()) request.max_depth = proto.max_depth();
  if (proto.min_leaf() > 0) request.min_leaf = proto.min_leaf();
  if (proto.trees() > 0) request.trees = proto.trees();
  if (proto.has_seed()) request.seed = proto.seed();
  return request;
}

StatusOr<PartitionOptions> ParsePartitionOptions(const v1::PartitionOptions& proto) {
  COPPICE_ASSIGN_OR_RETURN(const SplitRule rule, ParseSplitRule(proto.rule()));
  COPPICE_ASSIGN_OR_RETURN(const Criterion criterion, ParseCriterion(proto.criterion()));
  return PartitionOptions{.rule = rule,
                          .criterion = criterion,
                          .max_depth = proto.max_depth(),
                          .min_leaf = proto.min_leaf(),
                          .trees = proto.trees(),
                          .seed = proto.seed(),
                          .max_leaves = proto.max_leaves(),
                          .use_labels = !proto.ignore_labels(),
                          .from_schema = proto.from_schema(),
                          .by_feature = proto.by_feature()};
}

}  // namespace coppice::curator
