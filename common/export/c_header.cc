// Writes one C99 header: tables, and short functions that walk them. The arithmetic is that of
// Model::Predict(), operation by operation, except for exp(), which is the header's own.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/export/c_parts.h"
#include "common/export/formats.h"
#include "common/export/model_parts.h"
#include "common/schema/number.h"

namespace coppice::formats {
namespace {

// C99 compilers need not accept longer strings.
constexpr size_t kMaxNameBytes = 4000 / 4;  // each byte may need an escape of four

constexpr char kValue[] = R"(
/* The value of a feature as the model knows it: cut to its bounds and, where the feature is whole,
   rounded; a code that is none is that of "other". A NaN stays one. */
static inline double @_value(const double *row, uint32_t feature) {
  static const double lower[] = {@LOWER};
  static const double upper[] = {@UPPER};
  static const uint8_t kind[] = {@KIND}; /* 0 numeric, 1 whole, 2 categorical */
  double x, rest;
@DERIVED  x = row[feature];
  if (x != x) return x;
  if (kind[feature] == 2) {
    const double other = upper[feature];
    return x >= 0 && x <= other && x == (double)(uint32_t)x ? x : other;
  }
  if (x <= lower[feature]) return lower[feature];
  if (x >= upper[feature]) return upper[feature];
  if (kind[feature] == 0) return x;
  rest = x - (double)(int64_t)x;
  x = (double)(int64_t)x;
  return rest >= 0.5 ? x + 1 : rest <= -0.5 ? x - 1 : x;
}
)";

// Inserted before a feature of the row is looked up.
constexpr char kDerived[] =
    R"(  /* Derived features come after the row's: signed sums of two or three, scaled to [0, 1]. */
  static const uint32_t terms[][3] = {@TERMS};
  static const int8_t signs[][3] = {@SIGNS};
  if (feature >= @_FEATURES) {
    double sum = 0;
    int i;
    for (i = 0; i < 3 && signs[feature - @_FEATURES][i] != 0; ++i) {
      const uint32_t part = terms[feature - @_FEATURES][i];
      const double scaled = (@_value(row, part) - lower[part]) / (upper[part] - lower[part]);
      sum = signs[feature - @_FEATURES][i] < 0 ? sum - scaled : sum + scaled;
    }
    return sum;
  }
)";

constexpr char kLeaf[] = R"(
/* The number of the leaf that a row falls into, in the tree whose first node is given. What is left
   of a node comes right after it. */
static inline uint32_t @_leaf(const double *row, uint32_t node) {
  /* kind: 0 leaf, 1 below the threshold, 2 equal to it, 3 missing. right: of a leaf its number. */
  static const struct {
    double threshold;
    uint32_t feature, right;
    uint8_t kind, missing_left;
  } nodes[] = {
@NODES  };
  while (nodes[node].kind != 0) {
    const double x = @_value(row, nodes[node].feature);
    int left;
    if (x != x) {
      left = nodes[node].kind == 3 || nodes[node].missing_left;
    } else if (nodes[node].kind == 1) {
      left = x < nodes[node].threshold;
    } else {
      left = nodes[node].kind == 2 && x == nodes[node].threshold;
    }
    node = left ? node + 1 : nodes[node].right;
  }
  return nodes[node].right;
}

/* Adds up what a row's leaves hold. Returns the leaf of the last tree. */
static inline uint32_t @_sum(const double *row, double sums[@_OUTPUTS]) {
  static const double outputs[][@_OUTPUTS] = {
@OUTPUTS  };
  static const uint32_t roots[] = {@ROOTS};
  uint32_t leaf = 0, tree, k;
  for (k = 0; k < @_OUTPUTS; ++k) sums[k] = 0;
  for (tree = 0; tree < @_TREES; ++tree) {
    leaf = @_leaf(row, roots[tree]);
    for (k = 0; k < @_OUTPUTS; ++k) sums[k] += outputs[leaf][k];
  }
  return leaf;
}
)";

constexpr char kExp[] = R"(
/* exp(x) for x <= 0, to a few parts in 1e16. */
static inline double @_exp(double x) {
  union {
    double number;
    uint64_t bits;
  } power;
  double r, sum = 1;
  int64_t k;
  int n;
  if (x < -708) return 0;
  k = (int64_t)(x * 1.4426950408889634 - 0.5);
  r = (x - (double)k * 0.693147180369123816490) - (double)k * 1.90821492927058770002e-10;
  for (n = 14; n > 0; --n) sum = 1 + sum * r / n;
  power.bits = (uint64_t)(k + 1023) << 52;
  return sum * power.number;
}
)";

// Returns the largest sum, the lower class on a tie.
constexpr char kLargest[] = R"(
static inline int @_largest(const double sums[@_OUTPUTS]) {
  int best = 0, k;
  for (k = 1; k < @_OUTPUTS; ++k) {
    if (sums[k] > sums[best]) best = k;
  }
  return best;
}
)";

constexpr char kMean[] = "  for (k = 0; k < @_OUTPUTS; ++k) p[k] /= @_TREES;\n";
constexpr char kCut[] =
    R"(  for (k = 0; k < @_OUTPUTS; ++k) p[k] = p[k] < 0 ? 0 : p[k] > 1 ? 1 : p[k];
)";
constexpr char kCutBelow[] = R"(  for (k = 0; k < @_OUTPUTS; ++k) p[k] = p[k] < 0 ? 0 : p[k];
)";
constexpr char kShare[] = R"(  for (k = 0; k < @_OUTPUTS; ++k) total += p[k];
  for (k = 0; k < @_OUTPUTS; ++k) p[k] = total > 0 ? p[k] / total : 1.0 / @_OUTPUTS;
)";
constexpr char kSoftmax[] = R"(  for (k = 0; k < @_OUTPUTS; ++k) {
    if (k != label) p[k] = @_exp(p[k] - p[label]);
  }
  p[label] = 1;
  for (k = 0; k < @_OUTPUTS; ++k) total += p[k];
  for (k = 0; k < @_OUTPUTS; ++k) p[k] /= total;
)";

class HeaderWriter {
 public:
  HeaderWriter(const Model& model, std::string_view id)
      : model_(model),
        schema_(model.schema()),
        id_(id),
        prefix_(CPrefix(id)),
        capitals_(AsciiStrToUpper(prefix_)),
        derives_(SplitsDerived(model)) {}

  std::string Write() {
    out_ = CCertificate(model_, id_);
    Add("#ifndef @_H\n#define @_H\n\n#include <stdint.h>\n\n");
    StrAppend(&out_, "#define ", capitals_, "_FEATURES ", schema_.num_features(), "\n");
    StrAppend(&out_, "#define ", capitals_, "_OUTPUTS ", schema_.num_outputs(), "\n");
    StrAppend(&out_, "#define ", capitals_, "_TREES ", model_.forest().size(), "\n");
    StrAppend(&out_, CEnumerations(schema_, prefix_));
    if (!schema_.target()) WriteClassNames();
    WriteValue();
    WriteTrees();
    WritePrediction();
    StrAppend(&out_, "\n#endif\n");
    return std::move(out_);
  }

 private:
  // Adds `text`, with the prefix for the "@" of each "@_" (in capitals where capitals follow), then
  // its parts, which may hold any text.
  void Add(std::string text, std::vector<std::pair<std::string_view, std::string>> parts = {}) {
    for (size_t at = text.find("@_"); at != std::string::npos; at = text.find("@_", at)) {
      const bool capital = IsAsciiUpper(static_cast<unsigned char>(text[at + 2]));
      text.replace(at, 1, capital ? capitals_ : prefix_);
    }
    StrAppend(&out_, StrReplaceAll(text, parts));
  }

  void WriteClassNames() {
    Add("\n/* The name of a class, in UTF-8. */\n"
        "static inline const char *@_class_name(int label) {\n"
        "  static const char *const names[] = {\n@NAMES  };\n  return names[label];\n}\n",
        {{"@NAMES", StrJoin(schema_.classes(), "", [](std::string* out, const std::string& name) {
            StrAppend(out, "    ", CString(name), ",\n");
          })}});
  }

  void WriteValue() {
    std::string lower, upper, kind;
    for (const Feature& feature : schema_.features()) {
      const bool categorical = feature.type == FeatureType::kCategorical;
      StrAppend(&lower, lower.empty() ? "" : ", ", ShortestNumber(feature.min));
      StrAppend(&upper, upper.empty() ? "" : ", ",
                ShortestNumber(categorical ? feature.other() : feature.max));
      StrAppend(&kind, kind.empty() ? "" : ", ", categorical ? 2 : feature.integer ? 1 : 0);
    }
    const std::string derived = derives_ ? DerivedText() : "";
    Add(StrReplaceAll(kValue, {{"@DERIVED", derived}}),
        {{"@LOWER", lower}, {"@UPPER", upper}, {"@KIND", kind}});
  }

  std::string DerivedText() const {
    std::string terms, signs;
    for (const DerivedFeature& derived : model_.derived()) {
      std::vector<uint32_t> features(3);
      std::vector<int> directions(3);
      for (size_t i = 0; i < derived.size(); ++i) {
        features[i] = derived[i].feature;
        directions[i] = derived[i].minus ? -1 : 1;
      }
      StrAppend(&terms, terms.empty() ? "" : ", ", "{", StrJoin(features, ", "), "}");
      StrAppend(&signs, signs.empty() ? "" : ", ", "{", StrJoin(directions, ", "), "}");
    }
    return StrReplaceAll(kDerived, {{"@TERMS", terms}, {"@SIGNS", signs}});
  }

  void WriteTrees() {
    std::string nodes, outputs, roots;
    uint32_t first_node = 0, first_leaf = 0;
    for (size_t t = 0; t < model_.forest().size(); ++t) {
      const Tree& tree = model_.forest()[t];
      StrAppend(&roots, t == 0 ? "" : ", ", first_node);
      for (uint32_t i = 0; i < tree.nodes().size(); ++i) {
        const Node& node = tree.nodes()[i];
        const bool is_leaf = node.kind == SplitKind::kLeaf;
        StrAppend(&nodes, "    {", ShortestNumber(node.threshold), ", ", node.feature, ", ",
                  is_leaf ? first_leaf + tree.first_leaf(i) : first_node + node.right, ", ",
                  static_cast<int>(node.kind), ", ", node.missing_left ? 1 : 0, "},\n");
      }
      for (const LeafPrediction& leaf : model_.leaves()[t]) {
        StrAppend(&outputs, "    {",
                  StrJoin(leaf.probabilities, ", ",
                          [](std::string* out, double x) { *out += ShortestNumber(x); }),
                  "},\n");
      }
      first_node += static_cast<uint32_t>(tree.nodes().size());
      first_leaf += tree.num_leaves();
    }
    Add(kLeaf, {{"@NODES", nodes}, {"@OUTPUTS", outputs}, {"@ROOTS", roots}});
  }

  void WritePrediction() {
    const bool scores = model_.leaf_kind() == LeafKind::kScores;
    if (schema_.target()) return WriteNumber(scores);
    if (scores) Add(kExp);
    if (!LeafDecides(model_)) Add(kLargest);
    Add("\n/* The class of a row, and the probability of each class. */\n"
        "static inline int @_predict(const double row[@_FEATURES], double p[@_OUTPUTS]) {\n");
    if (LeafDecides(model_)) {
      Add("  static const uint16_t labels[] = {@LABELS};\n  return labels[@_sum(row, p)];\n}\n",
          {{"@LABELS",
            StrJoin(model_.leaves()[0], ", ", [](std::string* out, const LeafPrediction& leaf) {
              StrAppend(out, leaf.label);
            })}});
      return;
    }
    if (model_.leaf_kind() != LeafKind::kProbabilities) Add("  double total = 0;\n");
    Add("  int k, label;\n  @_sum(row, p);\n");
    const bool mean = !scores && model_.leaf_kind() != LeafKind::kWeights;
    if (mean) Add(kMean);
    Add("  label = @_largest(p);\n");
    Add(scores ? kSoftmax : Normalization());
    Add("  return label;\n}\n");
  }

  // Turns means or sums into probabilities.
  std::string Normalization() const {
    if (model_.leaf_kind() == LeafKind::kAdditive) return StrCat(kCut, kShare);
    if (model_.leaf_kind() == LeafKind::kWeights) return StrCat(kCutBelow, kShare);
    return "";
  }

  void WriteNumber(bool scores) {
    Add("\n/* The number that is predicted of a row. */\n"
        "static inline double @_predict(const double row[@_FEATURES]) {\n"
        "  double p[@_OUTPUTS];\n");
    const std::string normalization = Normalization();
    if (!normalization.empty()) Add("  double total = 0;\n");
    const bool mean = !scores && model_.leaf_kind() != LeafKind::kWeights;
    if (mean || !normalization.empty()) Add("  int k;\n");
    Add("  @_sum(row, p);\n");
    if (mean) Add(kMean);
    Add(normalization);
    if (scores) Add("  p[1] = p[1] < 0 ? 0 : p[1] > 1 ? 1 : p[1];\n");
    const Target& target = *schema_.target();
    StrAppend(&out_, "  return ", ShortestNumber(target.min), " + ", ShortestNumber(target.span()),
              " * p[1];\n}\n");
  }

  const Model& model_;
  const Schema& schema_;
  const std::string_view id_;
  const std::string prefix_, capitals_;
  const bool derives_;
  std::string out_;
};

Status CheckName(std::string_view name) {
  if (name.size() <= kMaxNameBytes) return OkStatus();
  return InvalidArgumentError(StrCat("a name has ", name.size(), " bytes; a string of C may have ",
                                     kMaxNameBytes, ": json and onnx take longer ones"));
}

}  // namespace

StatusOr<std::string> ToCHeader(const Model& model, std::string_view id) {
  for (const std::string& name : model.schema().classes()) {
    if (Status status = CheckName(name); !status.ok()) return status;
  }
  return HeaderWriter(model, id).Write();
}

}  // namespace coppice::formats
