// docs/model.schema.json is the contract, which tests enforce. Nodes are written one by one: a
// document tree of a million nodes would take a gigabyte.

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/export/formats.h"
#include "common/export/model_parts.h"
#include "common/schema/number.h"

namespace coppice::formats {
namespace {

std::string Number(double value) { return std::isfinite(value) ? ShortestNumber(value) : "null"; }

Json DerivedJson(const Model& model) {
  Json list = Json::array();
  for (size_t i = 0; i < model.derived().size(); ++i) {
    Json terms = Json::array();
    for (const DerivedTerm& term : model.derived()[i]) {
      terms.push_back({{"feature", model.schema().features()[term.feature].name},
                       {"sign", term.minus ? -1 : 1}});
    }
    list.push_back(
        {{"name", model.tree_schema().features()[model.schema().num_features() + i].name},
         {"terms", std::move(terms)}});
  }
  return list;
}

class TreeWriter {
 public:
  TreeWriter(const Model& model, std::string& out) : model_(model), out_(out) {
    for (const Feature& feature : model.tree_schema().features()) {
      names_.push_back(ToLine(feature.name));
    }
    for (const std::string& name : model.schema().classes()) classes_.push_back(ToLine(name));
  }

  void Write(size_t number) {
    const Tree& tree = model_.forest()[number];
    StrAppend(&out_, "    {\"nodes\": [\n");
    for (uint32_t i = 0; i < tree.nodes().size(); ++i) {
      const Node& node = tree.nodes()[i];
      StrAppend(&out_, "      {");
      if (node.kind == SplitKind::kLeaf) {
        WriteLeaf(model_.leaves()[number][tree.first_leaf(i)]);
      } else {
        WriteSplit(node);
      }
      StrAppend(&out_, i + 1 < tree.nodes().size() ? "},\n" : "}\n");
    }
    StrAppend(&out_, "    ]}");
  }

 private:
  void WriteLeaf(const LeafPrediction& leaf) {
    StrAppend(
        &out_, "\"outputs\": [",
        StrJoin(leaf.probabilities, ", ", [](std::string* out, double x) { *out += Number(x); }),
        "]");
    // The noise of scores does not belong to a single leaf: see SharedNoise.
    if (model_.leaf_kind() != LeafKind::kScores) {
      StrAppend(&out_, ", \"standard_error\": ", Number(leaf.standard_error));
    }
    if (LeafDecides(model_)) {
      StrAppend(&out_, ", \"label\": ", classes_[leaf.label]);
    }
  }

  void WriteSplit(const Node& node) {
    StrAppend(&out_, "\"feature\": ", names_[node.feature], ", ");
    const Feature& feature = model_.tree_schema().features()[node.feature];
    if (node.kind == SplitKind::kNumeric) {
      StrAppend(&out_, "\"below\": ", Number(node.threshold));
    } else if (node.kind == SplitKind::kMissing) {
      StrAppend(&out_, "\"is_missing\": true");
    } else if (node.threshold == feature.other()) {
      StrAppend(&out_, "\"is_other\": true");
    } else {
      StrAppend(&out_, "\"is\": ", ToLine(feature.values[static_cast<size_t>(node.threshold)]));
    }
    if (node.kind != SplitKind::kMissing) {
      StrAppend(&out_, ", \"missing\": ", node.missing_left ? "\"left\"" : "\"right\"");
    }
    StrAppend(&out_, ", \"left\": ", node.left, ", \"right\": ", node.right);
  }

  const Model& model_;
  std::string& out_;
  std::vector<std::string> names_, classes_;  // quoted
};

}  // namespace

StatusOr<std::string> ToJson(const Model& model, std::string_view id) {
  Json head = {{"format", "coppice.model"}, {"version", 1}, {"id", std::string(id)}};
  head["written_by"] = StrCat("coppice ", COPPICE_VERSION);
  head.update(SchemaJson(model.schema()));
  head["derived"] = DerivedJson(model);
  head["leaf_kind"] = std::string(NameOf(model.leaf_kind()));
  head["certificate"] = CertificateJson(model.certificate());
  std::string out = "{\n";
  for (const auto& [key, value] : head.items()) {
    StrAppend(&out, "  ", ToLine(key), ": ", ToLine(value), ",\n");
  }
  StrAppend(&out, "  \"trees\": [\n");
  TreeWriter writer(model, out);
  for (size_t tree = 0; tree < model.forest().size(); ++tree) {
    writer.Write(tree);
    StrAppend(&out, tree + 1 < model.forest().size() ? ",\n" : "\n");
  }
  StrAppend(&out, "  ]\n}\n");
  return out;
}

}  // namespace coppice::formats
