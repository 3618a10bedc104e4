#include "common/terms/report_form.h"

#include <memory>

#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {

const ReportForm& ReportForm::Of(const Terms& terms) {
  return For(*terms.schema, !terms.joined_by.empty());
}

const ReportForm& ReportForm::For(const Schema& schema, bool shows_id) {
  if (shows_id) return JoinedById();
  if (schema.all_public()) return LabelAlone();
  return schema.public_features().empty() ? LeafAndLabel() : PublicFeatures();
}

std::vector<std::string> ReportForm::NamesInClear(const Terms& terms) const {
  std::vector<std::string> names;
  for (const uint32_t feature : terms.schema->public_features()) {
    names.push_back(terms.schema->features()[feature].name);
  }
  return names;
}

size_t ReportForm::MaxBytesInClear(const Terms& terms) const {
  return terms.schema->public_features().size() * sizeof(double);
}

Status ReportForm::CheckMechanism(MechanismKind kind, const Budget& epsilon,
                                  const Schema& schema) const {
  COPPICE_ASSIGN_OR_RETURN(
      const std::unique_ptr<LocalMechanism> mechanism,
      MakeLocalMechanism(kind, epsilon, {.leaves = 1, .classes = schema.num_outputs()}));
  if (mechanism->window() && !(IsAboutLabelAlone() && schema.target())) {
    return InvalidArgumentError(
        StrCat("mechanism: ", MechanismName(kind),
               " is for studies of numbers whose features are all public; take another"));
  }
  if (ShowsSomething() && mechanism->adds_laplace_noise()) {
    return InvalidArgumentError(
        StrCat("mechanism: ", MechanismName(kind),
               " is for studies without public features; take one whose reports are bits"));
  }
  return OkStatus();
}

Status ReportForm::CheckAgrees(const Schema& study, const Schema& own) const {
  return study.CheckAgreesWith(own);
}

LabelledRow ReportForm::Encode(const Terms& terms, const TextRow& text) const {
  return terms.schema->EncodeTotally(text);
}

void ReportForm::Reserve(const LocalMechanism& mechanism, Content content) const {
  content.payload.reserve(mechanism.room_bytes());
}

}  // namespace coppice
