// Writes one SELECT that PostgreSQL and DuckDB both take. It reads the relation coppice_input,
// whose columns have the features' names, and adds a prediction to each of its rows.
//
// A tree is a nested CASE that tells the number of the row's leaf, and what leaves hold is looked
// up in constant arrays. Large forests would make an expression that takes an engine longer to plan
// than to run: their nodes are a table instead, which a recursive query walks down.
//
// Numbers have an exponent: an engine with exact decimals (DuckDB) would otherwise round them to
// the digits that its decimals have. Comparisons with a NULL are unknown, and CASE takes ELSE
// then: so a condition tells the side on which a missing value does not go. OFFSET 0 keeps
// PostgreSQL from copying an expression to every place that uses its value.

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/export/formats.h"
#include "common/export/model_parts.h"
#include "common/schema/number.h"

namespace coppice::formats {
namespace {

// Beyond these a forest is a table of nodes.
constexpr size_t kMostCases = 20'000;
constexpr size_t kMostNumbers = 60'000;  // in leaves
constexpr size_t kMostNested = 100;      // engines limit how deep expressions are nested
constexpr size_t kMostColumns = 1'000;   // features, derived ones too
constexpr size_t kTermsOfSum = 32;       // for the same reason

// exp() of less is not needed, and PostgreSQL refuses results that are too small for a double.
constexpr char kLeastExponent[] = "-690e0";

std::string SqlNumber(double value) {
  const std::string digits = ShortestNumber(value);
  return digits.find('e') == std::string::npos ? digits + "e0" : digits;
}

std::string SqlQuoted(std::string_view text, std::string_view quote) {
  return StrCat(quote, StrReplaceAll(text, {{quote, StrCat(quote, quote)}}), quote);
}
std::string SqlText(std::string_view text) { return SqlQuoted(text, "'"); }
std::string SqlName(std::string_view name) { return SqlQuoted(name, "\""); }

// Short, and constant for an engine that plans.
std::string SqlList(const std::vector<std::string>& entries, std::string_view type) {
  return StrCat("CAST(string_to_array('", StrJoin(entries, ","), "', ',') AS ", type, "[])");
}

// Sums of sums, none of more than kTermsOfSum terms.
std::string SqlSum(std::vector<std::string> terms) {
  while (terms.size() > 1) {
    std::vector<std::string> sums;
    for (size_t first = 0; first < terms.size(); first += kTermsOfSum) {
      const size_t last = std::min(first + kTermsOfSum, terms.size());
      sums.push_back(StrCat(
          "(",
          StrJoin(std::vector<std::string>(terms.begin() + static_cast<std::ptrdiff_t>(first),
                                           terms.begin() + static_cast<std::ptrdiff_t>(last)),
                  " + "),
          ")"));
    }
    terms = std::move(sums);
  }
  return terms[0];
}

class SqlWriter {
 public:
  SqlWriter(const Model& model, std::string_view id) : model_(model), schema_(model.schema()) {
    WriteHead(id);
  }

  std::string Write() {
    StrAppend(&out_, FitsExpression() ? "WITH" : "WITH RECURSIVE",
              " coppice_rows AS (\n"
              "  SELECT row_number() OVER () AS coppice_row, i.* FROM coppice_input AS i)");
    WriteStage("values", "rows AS i", ValueColumns());
    if (FitsExpression()) {
      WriteStage("derived", "values", DerivedColumns());
      WriteStage("leaves", "derived", {Leaves()});
      WriteStage("sums", "leaves", SumColumns());
    } else {
      WriteWalk();
    }
    WriteAnswer();
    StrAppend(
        &out_, "\nSELECT i.*, a.prediction", schema_.target() ? "" : ", a.probabilities",
        "\nFROM coppice_rows AS i JOIN coppice_answers AS a ON a.coppice_row = i.coppice_row;\n");
    return std::move(out_);
  }

 private:
  void WriteHead(std::string_view id) {
    StrAppend(&out_, "-- A model of coppice ", COPPICE_VERSION, ": ", ToLine(std::string(id)),
              "\n-- certificate: ", ToLine(CertificateJson(model_.certificate())),
              "\n-- schema: ", ToLine(SchemaJson(schema_)),
              "\n--\n"
              "-- Adds \"prediction\"",
              schema_.target() ? "" : " and \"probabilities\", by class in the schema's order,",
              " to the rows of coppice_input, which has a column for\n"
              "-- each feature, by its name: create a view of that name first. NULL is missing.\n");
  }

  bool FitsExpression() const {
    size_t cases = 0, leaves = 0, deepest = 0;
    for (const Tree& tree : model_.forest()) {
      cases += tree.nodes().size();
      leaves += tree.num_leaves();
      deepest = std::max<size_t>(deepest, tree.depth());
    }
    return cases <= kMostCases && leaves * schema_.num_outputs() <= kMostNumbers &&
           deepest <= kMostNested &&
           schema_.num_features() + model_.derived().size() <= kMostColumns;
  }

  // Adds a step, which has a row for each row.
  void WriteStage(std::string_view name, std::string_view from,
                  const std::vector<std::string>& columns) {
    StrAppend(&out_, ",\ncoppice_", name, " AS (SELECT coppice_row,\n  ", StrJoin(columns, ",\n  "),
              "\n  FROM coppice_", from, " OFFSET 0)");
  }

  // A column as the model knows it: cut to its bounds and rounded where it is whole; of a category
  // its number.
  std::string Value(const Feature& feature) const {
    const std::string column = StrCat("i.", SqlName(feature.name));
    if (feature.type == FeatureType::kCategorical) {
      std::string text = StrCat("CASE CAST(", column, " AS text)");
      for (size_t v = 0; v < feature.values.size(); ++v) {
        StrAppend(&text, " WHEN ", SqlText(feature.values[v]), " THEN ", v);
      }
      return StrCat(text, " ELSE CASE WHEN ", column, " IS NOT NULL THEN ", feature.values.size(),
                    " END END");
    }
    const std::string x = StrCat("CAST(", column, " AS float8)");
    const std::string inside =
        feature.integer ? StrCat("CASE WHEN abs(", x, " - trunc(", x, ")) >= 0.5e0 THEN trunc(", x,
                                 ") + sign(", x, ") ELSE trunc(", x, ") END")
                        : x;
    return StrCat("CASE WHEN ", x, " = CAST('NaN' AS float8) THEN NULL WHEN ", x,
                  " <= ", SqlNumber(feature.min), " THEN ", SqlNumber(feature.min), " WHEN ", x,
                  " >= ", SqlNumber(feature.max), " THEN ", SqlNumber(feature.max), " ELSE ",
                  inside, " END");
  }

  std::vector<std::string> ValueColumns() const {
    std::vector<std::string> columns;
    for (const Feature& feature : schema_.features()) {
      columns.push_back(StrCat(Value(feature), " AS v", columns.size()));
    }
    return columns;
  }

  std::string Derived(const DerivedFeature& derived) const {
    std::string text = "0e0";
    for (const DerivedTerm& term : derived) {
      const Feature& feature = schema_.features()[term.feature];
      StrAppend(&text, term.minus ? " - " : " + ", "(v", term.feature, " - (",
                SqlNumber(feature.min), ")) / ", SqlNumber(feature.max - feature.min));
    }
    return text;
  }

  std::vector<std::string> DerivedColumns() const {
    std::vector<std::string> columns = NamesOf("v", schema_.num_features());
    for (const DerivedFeature& derived : model_.derived()) {
      columns.push_back(StrCat(Derived(derived), " AS v", columns.size()));
    }
    return columns;
  }

  // "v0", "v1", ... for the prefix "v".
  static std::vector<std::string> NamesOf(std::string_view prefix, size_t count) {
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) names.push_back(StrCat(prefix, i));
    return names;
  }

  // The leaf below a node, counted from 1 on.
  std::string Case(const Tree& tree, uint32_t at) const {
    const Node& node = tree.nodes()[at];
    if (node.kind == SplitKind::kLeaf) return StrCat(tree.first_leaf(at) + 1);
    const std::string x = StrCat("v", node.feature);
    const std::string left = Case(tree, node.left), right = Case(tree, node.right);
    if (node.kind == SplitKind::kMissing) {
      return StrCat("CASE WHEN ", x, " IS NULL THEN ", left, " ELSE ", right, " END");
    }
    const bool numeric = node.kind == SplitKind::kNumeric;
    const std::string threshold =
        numeric ? SqlNumber(node.threshold) : StrCat(static_cast<int64_t>(node.threshold));
    if (node.missing_left) {
      return StrCat("CASE WHEN ", x, numeric ? " >= " : " <> ", threshold, " THEN ", right,
                    " ELSE ", left, " END");
    }
    return StrCat("CASE WHEN ", x, numeric ? " < " : " = ", threshold, " THEN ", left, " ELSE ",
                  right, " END");
  }

  // One column for all trees, since PostgreSQL's rows have 1,664 at most.
  std::string Leaves() const {
    std::vector<std::string> leaves;
    for (const Tree& tree : model_.forest()) leaves.push_back(Case(tree, 0));
    return StrCat("ARRAY[\n    ", StrJoin(leaves, ",\n    "), "] AS t");
  }

  // What the leaves of a tree hold of an output.
  std::vector<std::string> Held(size_t tree, uint32_t output) const {
    std::vector<std::string> held;
    for (const LeafPrediction& leaf : model_.leaves()[tree]) {
      held.push_back(ShortestNumber(leaf.probabilities[output]));
    }
    return held;
  }

  std::vector<std::string> LabelsOfLeaves() const {
    std::vector<std::string> labels;
    for (const LeafPrediction& leaf : model_.leaves()[0]) labels.push_back(StrCat(leaf.label));
    return labels;
  }

  std::vector<std::string> SumColumns() const {
    std::vector<std::string> columns;
    for (uint32_t k = 0; k < schema_.num_outputs(); ++k) {
      std::vector<std::string> terms;
      for (size_t t = 0; t < model_.forest().size(); ++t) {
        terms.push_back(StrCat("(", SqlList(Held(t, k), "float8"), ")[t[", t + 1, "]]"));
      }
      columns.push_back(StrCat(SqlSum(std::move(terms)), " AS s", k));
    }
    if (LeafDecides(model_)) {
      columns.push_back(StrCat("(", SqlList(LabelsOfLeaves(), "int"), ")[t[1]] AS label"));
    }
    return columns;
  }

  // Rows walk down all trees at once. Nodes of all trees are counted on from 1; what is left of a
  // node comes right after it.
  void WriteWalk() {
    WriteStage("arrays", "values", {StrCat("ARRAY[", StrJoin(WalkedValues(), ", "), "] AS x")});
    const Nodes nodes = AllNodes();
    StrAppend(&out_,
              ",\ncoppice_walk AS (\n"
              "  SELECT v.coppice_row, t.node FROM coppice_arrays AS v, (SELECT unnest(",
              SqlList(nodes.root, "int"),
              ") AS node) AS t\n"
              "  UNION ALL\n"
              "  SELECT n.coppice_row,\n"
              "    CASE WHEN CASE WHEN v.x[n.feature] IS NULL THEN n.missing_left = 1\n"
              "                   WHEN n.kind = 1 THEN v.x[n.feature] < n.threshold\n"
              "                   ELSE n.kind = 2 AND v.x[n.feature] = n.threshold END\n"
              "    THEN n.node + 1 ELSE n.after_left END\n"
              "  FROM (SELECT w.coppice_row, w.node");
    for (const auto& [list, type, name] : {std::tuple(&nodes.kind, "int", "kind"),
                                           {&nodes.feature, "int", "feature"},
                                           {&nodes.threshold, "float8", "threshold"},
                                           {&nodes.after_left, "int", "after_left"},
                                           {&nodes.missing_left, "int", "missing_left"}}) {
      StrAppend(&out_, ",\n    ", Entry(*list, type), " AS ", name);
    }
    StrAppend(&out_,
              "\n    FROM coppice_walk AS w OFFSET 0) AS n\n"
              "  JOIN coppice_arrays AS v ON v.coppice_row = n.coppice_row\n"
              "  WHERE n.kind <> 0),\n"
              "coppice_sums AS (SELECT w.coppice_row");
    for (uint32_t k = 0; k < schema_.num_outputs(); ++k) {
      StrAppend(&out_, ",\n  sum(", Entry(nodes.held[k], "float8"), ") AS s", k);
    }
    if (LeafDecides(model_)) {
      StrAppend(&out_, ",\n  max(", Entry(nodes.label, "int"), ") AS label");
    }
    StrAppend(&out_, "\n  FROM coppice_walk AS w WHERE ", Entry(nodes.kind, "int"),
              " = 0 GROUP BY w.coppice_row)");
  }

  // The entry of a list of all nodes that belongs to a row's node.
  static std::string Entry(const std::vector<std::string>& list, std::string_view type) {
    return StrCat("(", SqlList(list, type), ")[w.node]");
  }

  std::vector<std::string> WalkedValues() const {
    std::vector<std::string> values;
    for (const std::string& name : NamesOf("v", schema_.num_features())) {
      values.push_back(StrCat("CAST(", name, " AS float8)"));
    }
    for (const DerivedFeature& derived : model_.derived()) values.push_back(Derived(derived));
    return values;
  }

  // Of all trees, node by node. What leaves hold is 0 elsewhere.
  struct Nodes {
    std::vector<std::string> root, kind, feature, threshold, after_left, missing_left, label;
    std::vector<std::vector<std::string>> held;  // by output
  };
  Nodes AllNodes() const {
    Nodes all;
    all.held.resize(schema_.num_outputs());
    for (size_t t = 0; t < model_.forest().size(); ++t) {
      const Tree& tree = model_.forest()[t];
      const size_t first = all.kind.size() + 1;
      all.root.push_back(StrCat(first));
      for (uint32_t at = 0; at < tree.nodes().size(); ++at) {
        const Node& node = tree.nodes()[at];
        const bool is_leaf = node.kind == SplitKind::kLeaf;
        const bool is_missing_left = node.missing_left || node.kind == SplitKind::kMissing;
        all.kind.push_back(StrCat(static_cast<int>(node.kind)));
        all.feature.push_back(StrCat(node.feature + 1));
        all.threshold.push_back(ShortestNumber(node.threshold));
        all.after_left.push_back(StrCat(is_leaf ? 0 : first + node.right));
        all.missing_left.push_back(is_missing_left ? "1" : "0");
        const LeafPrediction none, *leaf = &none;
        if (is_leaf) leaf = &model_.leaves()[t][tree.first_leaf(at)];
        all.label.push_back(StrCat(leaf->label));
        for (uint32_t k = 0; k < all.held.size(); ++k) {
          all.held[k].push_back(is_leaf ? ShortestNumber(leaf->probabilities[k]) : "0");
        }
      }
    }
    return all;
  }

  // From the sums s0, s1, ... to the answer.
  void WriteAnswer() {
    const bool scores = model_.leaf_kind() == LeafKind::kScores;
    if (schema_.target() && scores) {
      return WriteStage("answers", "sums", {NumberAt("GREATEST(0e0, LEAST(1e0, s1))")});
    }
    WriteStage("means", "sums", MeanColumns());
    WriteStage("weights", "means", WeightColumns());
    WriteStage("shares", "weights", ShareColumns());
    if (schema_.target()) return WriteStage("answers", "shares", {NumberAt("p1")});
    WriteStage("answers", "shares",
               {StrCat(Label(), " AS prediction"),
                StrCat("ARRAY[", StrJoin(NamesOf("p", outputs()), ", "), "] AS probabilities")});
  }

  uint32_t outputs() const { return schema_.num_outputs(); }

  std::string NumberAt(std::string_view place) const {
    const Target& target = *schema_.target();
    return StrCat(SqlNumber(target.min), " + ", SqlNumber(target.span()), " * ", place,
                  " AS prediction");
  }

  std::vector<std::string> MeanColumns() const {
    const bool sums =
        model_.leaf_kind() == LeafKind::kScores || model_.leaf_kind() == LeafKind::kWeights;
    const std::string divided =
        sums ? "" : StrCat(" / ", SqlNumber(static_cast<double>(model_.forest().size())));
    std::vector<std::string> columns;
    for (uint32_t k = 0; k < outputs(); ++k) {
      columns.push_back(StrCat("s", k, divided, " AS m", k));
    }
    columns.push_back(
        StrCat("GREATEST(", StrJoin(NamesOf("s", outputs()), ", "), ")", divided, " AS most"));
    if (LeafDecides(model_)) columns.push_back("label");
    return columns;
  }

  // What probabilities are shares of, and the class.
  std::vector<std::string> WeightColumns() const {
    std::vector<std::string> columns;
    for (const std::string& m : NamesOf("m", outputs())) {
      columns.push_back(StrCat(WeightOf(m), " AS w", columns.size()));
    }
    if (!schema_.target()) columns.push_back(StrCat(Class(), " AS class"));
    return columns;
  }

  std::string WeightOf(std::string_view m) const {
    switch (model_.leaf_kind()) {
      case LeafKind::kScores:
        return StrCat("CASE WHEN ", m, " - most < ", kLeastExponent, " THEN 0e0 ELSE exp(", m,
                      " - most) END");
      case LeafKind::kAdditive:
        return StrCat("GREATEST(0e0, LEAST(1e0, ", m, "))");
      case LeafKind::kWeights:
        return StrCat("GREATEST(0e0, ", m, ")");
      case LeafKind::kProbabilities:
        break;
    }
    return std::string(m);
  }

  // The number of the class, from 1 on; the first one wins a tie.
  std::string Class() const {
    if (LeafDecides(model_)) return "label + 1";
    std::string text = "CASE most";
    for (uint32_t k = 0; k < outputs(); ++k) StrAppend(&text, " WHEN m", k, " THEN ", k + 1);
    return text + " END";
  }

  std::vector<std::string> ShareColumns() const {
    const std::vector<std::string> weights = NamesOf("w", outputs());
    const std::string total = SqlSum(weights);
    std::vector<std::string> columns;
    for (const std::string& w : weights) {
      const std::string share = model_.leaf_kind() == LeafKind::kProbabilities
                                    ? w
                                    : StrCat("CASE WHEN ", total, " > 0e0 THEN ", w, " / ", total,
                                             " ELSE ", SqlNumber(1.0 / outputs()), " END");
      columns.push_back(StrCat(share, " AS p", columns.size()));
    }
    if (!schema_.target()) columns.push_back("class");
    return columns;
  }

  std::string Label() const {
    std::vector<std::string> names;
    for (const std::string& name : schema_.classes()) names.push_back(SqlText(name));
    return StrCat("(ARRAY[", StrJoin(names, ", "), "])[class]");
  }

  const Model& model_;
  const Schema& schema_;
  std::string out_;
};

}  // namespace

StatusOr<std::string> ToSql(const Model& model, std::string_view id) {
  return SqlWriter(model, id).Write();
}

}  // namespace coppice::formats
