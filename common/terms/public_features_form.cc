#include <algorithm>

#include "common/base/status_macros.h"
#include "common/terms/answer.h"
#include "common/terms/public_values.h"
#include "common/terms/report_form.h"

namespace coppice {
namespace {

// Some features are public. Their values are in the clear (those that the tree asks about), and the
// payload is about the leaves that such values allow: at a split on a public feature only the row's
// side, at one on a private feature both.
//
// Guarantee  epsilon-LDP; neighbours are any two rows with the same public values. The leaves, and
//            with them the mechanism and its number of columns, follow from the public values
//            (ConsistentLeaves() reads no others); private values and the label reach the report
//            only through the (leaf, label) that the mechanism randomizes once. All allocations,
//            which the public values alone determine, come before a private value is read.
// Source     docs/research/mechanisms.md#public-features.
class PublicFeaturesForm final : public ReportForm {
 public:
  // How much is written depends on the row's public values.
  void Reserve(const LocalMechanism& /*mechanism*/, Content /*content*/) const override {}

  Status Fill(const Question& question, LabelledRow row, PrivateRandom& random,
              Content content) const override {
    const Schema& schema = *question.terms.schema;
    schema.Fit(row.row);
    content.in_clear = EncodePublicValues(schema, question.tree, row.row);
    const std::vector<uint32_t> leaves = ConsistentLeaves(question.tree, schema, row.row);
    COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<LocalMechanism> mechanism,
                             MakeMechanism(question.terms, static_cast<uint32_t>(leaves.size())));
    content.payload.reserve(mechanism->room_bytes());
    const uint32_t leaf = question.tree.FindLeaf(row.row);
    const auto own = std::lower_bound(leaves.begin(), leaves.end(), leaf);
    return RandomizeAnswer(question.terms,
                           {.tree = question.tree,
                            .tree_leaf = leaf,
                            .mechanism = *mechanism,
                            .leaf = static_cast<uint32_t>(own - leaves.begin()),
                            .column = question.draw.Column(mechanism->columns())},
                           row, random, content.payload);
  }
};

}  // namespace

const ReportForm& ReportForm::PublicFeatures() {
  static constexpr PublicFeaturesForm kForm;
  return kForm;
}

}  // namespace coppice
