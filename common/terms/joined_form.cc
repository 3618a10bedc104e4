#include <optional>

#include "common/base/printable.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/answer.h"
#include "common/terms/public_values.h"
#include "common/terms/report_form.h"

namespace coppice {
namespace {

bool HaveSameBounds(const std::optional<Target>& one, const std::optional<Target>& other) {
  if (!one.has_value() || !other.has_value()) return one.has_value() == other.has_value();
  return one->min == other->min && one->max == other->max;
}

// The curator has the features already and needs to know whose label it gets: the row's id is in
// the clear, and the payload is about the label alone. Features are not looked at.
//
// Guarantee  epsilon-LDP; neighbours are any two labels of one id. The label reaches the report
// only
//            through the mechanism, which randomizes it once. Whether there is a report at all
//            depends on the id, which is checked before the label is read.
// Source     docs/research/mechanisms.md#label-only.
class JoinedForm final : public ReportForm {
 public:
  bool ShowsId() const override { return true; }
  bool IsAboutLabelAlone() const override { return true; }
  std::vector<std::string> NamesInClear(const Terms& terms) const override {
    return {terms.joined_by};
  }
  size_t MaxBytesInClear(const Terms& /*terms*/) const override { return kMaxJoinIdBytes; }

  // A device has the label and none of the features.
  Status CheckAgrees(const Schema& study, const Schema& own) const override {
    if (study.label() == own.label() && study.classes() == own.classes() &&
        HaveSameBounds(study.target(), own.target())) {
      return OkStatus();
    }
    return FailedPreconditionError(StrCat(
        "label \"", Printable(study.label()), "\", its bounds or its classes (",
        Printable(ListOf(study.classes())), ") are not those of this device's own schema, \"",
        Printable(own.label()), "\" (", Printable(ListOf(own.classes())), ")"));
  }

  LabelledRow Encode(const Terms& terms, const TextRow& text) const override {
    const Schema& schema = *terms.schema;
    TextRow asked;
    if (const auto label = text.find(schema.label()); label != text.end()) asked.insert(*label);
    LabelledRow row = schema.EncodeTotally(asked);
    if (const auto id = text.find(terms.joined_by); id != text.end()) row.id = id->second;
    return row;
  }

  void Reserve(const LocalMechanism& mechanism, Content content) const override {
    content.in_clear.reserve(kMaxJoinIdBytes);
    ReportForm::Reserve(mechanism, content);
  }

  Status Fill(const Question& question, LabelledRow row, PrivateRandom& random,
              Content content) const override {
    if (const Status status = CheckJoinId(row.id); !status.ok()) {
      return InvalidArgumentError(StrCat(
          "study ", question.terms.study, " asks for the id \"", question.terms.joined_by,
          "\" of the row, and has no answer without: ", status.message(), "; nothing is sent"));
    }
    content.in_clear = row.id;
    return RandomizeAnswer(question.terms,
                           {.tree = question.tree,
                            .mechanism = question.mechanism,
                            .column = question.draw.Column(question.mechanism.columns())},
                           row, random, content.payload);
  }
};

}  // namespace

const ReportForm& ReportForm::JoinedById() {
  static constexpr JoinedForm kForm;
  return kForm;
}

}  // namespace coppice
