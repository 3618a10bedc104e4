#include "common/base/status_macros.h"
#include "common/terms/answer.h"
#include "common/terms/public_values.h"
#include "common/terms/report_form.h"

namespace coppice {
namespace {

// All features are public. Their values are in the clear, and the payload is about the label alone,
// as in a tree of one leaf.
//
// Guarantee  epsilon-LDP; neighbours are any two labels of one row. The label reaches the report
//            only through the mechanism, which randomizes it once.
// Source     docs/research/mechanisms.md#label-only.
class LabelForm final : public ReportForm {
 public:
  bool IsAboutLabelAlone() const override { return true; }

  Status Fill(const Question& question, LabelledRow row, PrivateRandom& random,
              Content content) const override {
    const Schema& schema = *question.terms.schema;
    schema.Fit(row.row);
    content.in_clear = EncodePublicValues(schema, question.tree, row.row);
    return RandomizeAnswer(question.terms,
                           {.tree = question.tree,
                            .tree_leaf = question.tree.FindLeaf(row.row),
                            .mechanism = question.mechanism,
                            .column = question.draw.Column(question.mechanism.columns())},
                           row, random, content.payload);
  }
};

}  // namespace

const ReportForm& ReportForm::LabelAlone() {
  static constexpr LabelForm kForm;
  return kForm;
}

}  // namespace coppice
