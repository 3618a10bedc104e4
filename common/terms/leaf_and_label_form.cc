#include "common/base/status_macros.h"
#include "common/terms/answer.h"
#include "common/terms/report_form.h"

namespace coppice {
namespace {

// Nothing is in the clear. The payload is about one value among leaves x labels: the leaf of the
// ticket's tree that the row falls in, and the row's label.
//
// Guarantee  epsilon-LDP; neighbours are any two rows, also rows that do not fit the schema. Rows
//            reach the report only through their (leaf, label), which the mechanism randomizes
//            once, with epsilon for the pair. Tree and column come from the ticket.
// Source     Ma and Yang 2024; docs/research/mechanisms.md.
class LeafAndLabelForm final : public ReportForm {
 public:
  bool ShowsSomething() const override { return false; }
  std::vector<std::string> NamesInClear(const Terms& /*terms*/) const override { return {}; }
  size_t MaxBytesInClear(const Terms& /*terms*/) const override { return 0; }

  Status Fill(const Question& question, LabelledRow row, PrivateRandom& random,
              Content content) const override {
    question.terms.schema->Fit(row.row);
    const uint32_t leaf = question.tree.FindLeaf(row.row);
    return RandomizeAnswer(question.terms,
                           {.tree = question.tree,
                            .tree_leaf = leaf,
                            .mechanism = question.mechanism,
                            .leaf = leaf,
                            .column = question.draw.Column(question.mechanism.columns())},
                           row, random, content.payload);
  }
};

}  // namespace

const ReportForm& ReportForm::LeafAndLabel() {
  static constexpr LeafAndLabelForm kForm;
  return kForm;
}

}  // namespace coppice
