// Writes XGBoost's JSON as version 1.7 does. XGBoost adds up float32 terms and passes the sum
// through its objective; a model whose leaves do not fit that is refused.
//
// A node's hessian is the number of leaves below it, which is public. XGBoost's covers would be
// counts of private rows, which a model never has, so its contributions weight leaves equally.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/export/formats.h"
#include "common/export/model_parts.h"

namespace coppice::formats {
namespace {

// No float32 is lower, so only missing values go left.
constexpr float kNothingBelow = std::numeric_limits<float>::lowest();
constexpr double kMaxFloat = std::numeric_limits<float>::max();
constexpr double kMaxTarget = kMaxFloat / 1e10;     // a score may be 1e9 times the range
constexpr size_t kMaxCategories = size_t{1} << 24;  // XGBoost's own limit
constexpr uint32_t kRootParent = std::numeric_limits<int32_t>::max();

// Writes a point or an exponent: XGBoost's reader refuses an integer such as "1" as a float.
std::string Float(double value) {
  char buffer[32];
  const std::to_chars_result end =
      std::to_chars(buffer, buffer + sizeof(buffer), static_cast<float>(value));
  std::string text(buffer, end.ptr);
  return text.find_first_of(".e") == std::string::npos ? text + "E0" : text;
}

// What XGBoost computes from a sum, and which sum it needs.
struct Objective {
  std::string name;
  Json parameters;
  double base_score = 0;
  uint32_t groups = 1;  // sums per row
  std::string output;   // in words
  std::string cut{};    // "[0,1]": the range that users must cut the output to; empty: none
  std::function<double(const LeafPrediction&, uint32_t group)> term;
};

Status CannotExpress(std::string_view why) {
  return FailedPreconditionError(
      StrCat("XGBoost cannot represent this model: ", why, "; export it as onnx, c or json"));
}

Json SquaredErrorParameters() { return {{"reg_loss_param", {{"scale_pos_weight", "1"}}}}; }

Objective NumberObjective(const Model& model) {
  const Target& target = *model.schema().target();
  const bool scores = model.leaf_kind() == LeafKind::kScores;
  const double width = target.span() / (scores ? 1 : static_cast<double>(model.forest().size()));
  return {.name = "reg:squarederror",
          .parameters = SquaredErrorParameters(),
          .base_score = target.min,
          .output = StrCat("the number ", model.schema().label()),
          .cut = model.leaf_kind() == LeafKind::kProbabilities
                     ? ""
                     : ToLine(Json::array({target.min, target.max})),
          .term = [width](const LeafPrediction& leaf, uint32_t) {
            return width * leaf.probabilities[1];
          }};
}

Objective TwoClassMean(const Model& model) {
  const auto trees = static_cast<double>(model.forest().size());
  return {.name = "reg:squarederror",
          .parameters = SquaredErrorParameters(),
          .output = StrCat("the probability of ", model.schema().classes()[1]),
          .cut = model.leaf_kind() == LeafKind::kAdditive ? "[0,1]" : "",
          .term = [trees](const LeafPrediction& leaf, uint32_t) {
            return leaf.probabilities[1] / trees;
          }};
}

Objective TwoClassScores(const Model& model) {
  return {.name = "binary:logistic",
          .parameters = SquaredErrorParameters(),
          .base_score = 0.5,  // for a sum of 0
          .output = StrCat("the probability of ", model.schema().classes()[1]),
          .term = [](const LeafPrediction& leaf, uint32_t) {
            return leaf.probabilities[1] - leaf.probabilities[0];
          }};
}

Objective ManyClassScores(const Model& model) {
  const uint32_t classes = model.schema().num_classes();
  return {
      .name = "multi:softprob",
      .parameters = {{"softmax_multiclass_param", {{"num_class", StrCat(classes)}}}},
      .groups = classes,
      .output = "the probability of each class",
      .term = [](const LeafPrediction& leaf, uint32_t group) { return leaf.probabilities[group]; }};
}

Status CheckLabels(const Model& model) {
  if (!LeafDecides(model)) return OkStatus();
  for (const LeafPrediction& leaf : model.leaves()[0]) {
    const std::vector<double>& p = leaf.probabilities;
    if (p[leaf.label] < *std::max_element(p.begin(), p.end())) {
      return CannotExpress("a leaf's label is not its most probable class");
    }
  }
  return OkStatus();
}

StatusOr<Objective> ObjectiveOf(const Model& model) {
  if (model.leaf_kind() == LeafKind::kWeights) {
    return CannotExpress("its leaves hold weights, and probabilities are parts of their total");
  }
  if (model.schema().target()) {
    const Target& target = *model.schema().target();
    if (std::max(std::abs(target.min), std::abs(target.max)) <= kMaxTarget) {
      return NumberObjective(model);
    }
    return CannotExpress("the target's bounds are too large for float32");
  }
  if (model.leaf_kind() == LeafKind::kScores) {
    return model.schema().num_classes() == 2 ? TwoClassScores(model) : ManyClassScores(model);
  }
  if (model.schema().num_classes() > 2) {
    return CannotExpress(
        "none of its objectives averages the probabilities of three or more classes");
  }
  COPPICE_RETURN_IF_ERROR(CheckLabels(model));
  return TwoClassMean(model);
}

Status CheckFeatures(const Model& model) {
  if (SplitsDerived(model)) return CannotExpress("it splits sums of features");
  for (const Feature& feature : model.schema().features()) {
    if (std::max(std::abs(feature.min), std::abs(feature.max)) > kMaxFloat) {
      return CannotExpress("a feature's bounds are beyond float32");
    }
    if (feature.values.size() >= kMaxCategories) {
      return CannotExpress("a feature has too many categories");
    }
  }
  return OkStatus();
}

// Returns the cut that divides users' values as `cut` divides them after rounding to whole numbers,
// halves away from zero.
double CutBeforeRounding(double cut) {
  constexpr double kHasFractions = 4503599627370496;  // 2^52: all doubles from here on are whole
  if (std::abs(cut) >= kHasFractions) return cut;
  const double edge = std::ceil(cut) - 0.5;
  return edge > 0 ? edge : std::nextafter(edge, std::numeric_limits<double>::infinity());
}

// The least float32 that is not below `cut`: every float32 is on the same side of both.
float FloatCut(double cut) {
  const auto near = static_cast<float>(cut);
  if (static_cast<double>(near) >= cut) return near;
  return std::nextafter(near, std::numeric_limits<float>::infinity());
}

// A split as XGBoost has it: left if the value is below the cut, or is not `category`.
struct Split {
  float cut = kNothingBelow;
  bool is_category = false;
  double category = 0;
  bool default_left = false;
  bool swaps = false;  // whether its left child is our right one
};

Split SplitOf(const Node& node, const Feature& feature) {
  if (node.kind == SplitKind::kCategory) {
    return {.is_category = true,
            .category = node.threshold,
            .default_left = !node.missing_left,
            .swaps = true};
  }
  if (node.kind == SplitKind::kMissing && feature.type == FeatureType::kCategorical) {
    // XGBoost dumps no cut of a categorical column. No value has this code, the one after "other".
    return {.is_category = true, .category = feature.other() + 1.0, .swaps = true};
  }
  if (node.kind == SplitKind::kMissing) return {.default_left = true};
  // XGBoost does not clamp: a cut outside the bounds has all values on one side.
  if (node.threshold <= feature.min) return {.default_left = node.missing_left};
  if (node.threshold > feature.max) return {.default_left = !node.missing_left, .swaps = true};
  const double cut = feature.integer ? CutBeforeRounding(node.threshold) : node.threshold;
  return {.cut = FloatCut(cut), .default_left = node.missing_left};
}

// The columns of one tree, one number per node. XGBoost's right child must follow its left one, so
// nodes are reordered: level by level from the top, children side by side.
class TreeText {
 public:
  TreeText(const Model& model, size_t tree, std::vector<double> terms)
      : schema_(model.schema()), terms_(std::move(terms)) {
    const bool constant =
        std::adjacent_find(terms_.begin(), terms_.end(), std::not_equal_to<>()) == terms_.end();
    const Tree leaf = Tree::SingleLeaf();
    const Tree& shape = constant ? leaf : model.forest()[tree];
    std::vector<uint32_t> ours = {0};  // indexed by XGBoost's place
    parents_ = {kRootParent};
    for (size_t i = 0; i < ours.size(); ++i) AddNode(shape, ours, i);
  }

  std::string Write(size_t id) const {
    const auto ints = [](const std::vector<int64_t>& column) { return StrJoin(column, ","); };
    return StrCat(
        "{\"base_weights\":[", means_, "],\"categories\":[", ints(categories_),
        "],\"categories_nodes\":[", ints(category_nodes_), "],\"categories_segments\":[",
        ints(segments_), "],\"categories_sizes\":[", ints(sizes_), "],\"default_left\":[",
        ints(default_left_), "],\"id\":", id, ",\"left_children\":[", ints(left_),
        "],\"loss_changes\":[", zeros_, "],\"parents\":[", ints(parents_), "],\"right_children\":[",
        ints(right_), "],\"split_conditions\":[", conditions_, "],\"split_indices\":[",
        ints(feature_), "],\"split_type\":[", ints(type_), "],\"sum_hessian\":[", leaves_,
        "],\"tree_param\":{\"num_deleted\":\"0\",\"num_feature\":\"", schema_.num_features(),
        "\",\"num_nodes\":\"", left_.size(), "\",\"size_leaf_vector\":\"0\"}}");
  }

 private:
  // Writes the node at `place`, and appends places for its children.
  void AddNode(const Tree& tree, std::vector<uint32_t>& ours, size_t place) {
    const uint32_t number = ours[place];
    const Node& node = tree.nodes()[number];
    const bool is_leaf = node.kind == SplitKind::kLeaf;
    const Split split = is_leaf ? Split{} : SplitOf(node, schema_.features()[node.feature]);
    const auto next = static_cast<int64_t>(ours.size());
    left_.push_back(is_leaf ? -1 : next);
    right_.push_back(is_leaf ? -1 : next + 1);
    if (!is_leaf) {
      ours.push_back(split.swaps ? node.right : node.left);
      ours.push_back(split.swaps ? node.left : node.right);
      parents_.insert(parents_.end(), 2, static_cast<int64_t>(place));
    }
    feature_.push_back(node.feature);
    type_.push_back(split.is_category ? 1 : 0);
    default_left_.push_back(split.default_left ? 1 : 0);
    if (split.is_category) AddCategory(place, split.category);
    AddNumbers(tree, number, split);
  }

  void AddCategory(size_t place, double code) {
    category_nodes_.push_back(static_cast<int64_t>(place));
    segments_.push_back(static_cast<int64_t>(categories_.size()));
    sizes_.push_back(1);
    categories_.push_back(static_cast<int64_t>(code));
  }

  void AddNumbers(const Tree& tree, uint32_t number, const Split& split) {
    const uint32_t begin = tree.first_leaf(number), end = tree.end_leaf(number);
    const double mean = std::accumulate(terms_.begin() + begin, terms_.begin() + end, 0.0) /
                        static_cast<double>(end - begin);
    const bool is_leaf = tree.nodes()[number].kind == SplitKind::kLeaf;
    Append(means_, mean);
    Append(conditions_, is_leaf ? terms_[begin] : split.is_category ? 0 : split.cut);
    Append(leaves_, end - begin);
    Append(zeros_, 0);
  }

  static void Append(std::string& column, double value) {
    StrAppend(&column, column.empty() ? "" : ",", Float(value));
  }

  const Schema& schema_;
  const std::vector<double> terms_;  // one per leaf
  std::vector<int64_t> left_, right_, parents_, feature_, type_, default_left_;
  std::vector<int64_t> categories_, category_nodes_, segments_, sizes_;
  std::string means_, conditions_, leaves_, zeros_;
};

// Returns names if XGBoost accepts all of them; it refuses some characters, and then gets none.
Json FeatureNames(const Schema& schema) {
  Json names = Json::array();
  for (const Feature& feature : schema.features()) {
    if (feature.name.find_first_of("[]<") != std::string::npos) return Json::array();
    names.push_back(feature.name);
  }
  return names;
}

Json Attributes(const Model& model, std::string_view id, const Objective& objective) {
  Json attributes = {{"coppice.output", objective.output},
                     {"coppice.schema", ToLine(SchemaJson(model.schema()))},
                     {"coppice.certificate", ToLine(CertificateJson(model.certificate()))}};
  // XGBoost's reader takes an attribute without a value for one that is not there, and fails.
  if (!id.empty()) attributes["coppice.model"] = std::string(id);
  if (!objective.cut.empty()) attributes["coppice.cut"] = objective.cut;
  return attributes;
}

Json LearnerParameters(const Model& model, const Objective& objective) {
  return {{"base_score", Float(objective.base_score)},
          {"boost_from_average", "0"},
          {"num_class", StrCat(objective.groups > 1 ? objective.groups : 0)},
          {"num_feature", StrCat(model.schema().num_features())},
          {"num_target", "1"}};
}

}  // namespace

StatusOr<std::string> ToXgboost(const Model& model, std::string_view id) {
  COPPICE_RETURN_IF_ERROR(CheckFeatures(model));
  COPPICE_ASSIGN_OR_RETURN(const Objective objective, ObjectiveOf(model));
  std::string trees;
  std::vector<uint32_t> groups;
  for (size_t t = 0; t < model.forest().size(); ++t) {
    for (uint32_t group = 0; group < objective.groups; ++group) {
      std::vector<double> terms;
      for (const LeafPrediction& leaf : model.leaves()[t]) {
        terms.push_back(objective.term(leaf, group));
      }
      StrAppend(&trees, groups.empty() ? "" : ",\n",
                TreeText(model, t, std::move(terms)).Write(groups.size()));
      groups.push_back(group);
    }
  }
  Json types = Json::array();
  for (const Feature& feature : model.schema().features()) {
    types.push_back(feature.type == FeatureType::kCategorical ? "c" : "q");
  }
  Json parameters = objective.parameters;
  parameters["name"] = objective.name;
  return StrCat(
      "{\"learner\":{\"attributes\":", ToLine(Attributes(model, id, objective)),
      ",\"feature_names\":", ToLine(FeatureNames(model.schema())),
      ",\"feature_types\":", ToLine(types),
      ",\"gradient_booster\":{\"model\":{\"gbtree_model_param\":{\"num_parallel_tree\":\"1\","
      "\"num_trees\":\"",
      groups.size(), "\",\"size_leaf_vector\":\"0\"},\"tree_info\":[", StrJoin(groups, ","),
      "],\"trees\":[\n", trees, "]},\"name\":\"gbtree\"},\"learner_model_param\":",
      ToLine(LearnerParameters(model, objective)), ",\"objective\":", ToLine(parameters),
      "},\"version\":[1,7,4]}\n");
}

}  // namespace coppice::formats
