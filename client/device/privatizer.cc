#include "client/device/privatizer.h"

#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/report_form.h"

namespace coppice {

Privatizer::Privatizer(Terms terms, const Fingerprint& fingerprint, TreesByIndex trees,
                       std::vector<std::unique_ptr<LocalMechanism>> mechanisms)
    : terms_(std::move(terms)),
      fingerprint_(fingerprint),
      trees_(std::move(trees)),
      mechanisms_(std::move(mechanisms)) {}

StatusOr<Privatizer> Privatizer::Create(Terms terms, const Fingerprint& fingerprint,
                                        TreesByIndex trees) {
  COPPICE_RETURN_IF_ERROR(ValidateTerms(terms));
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms(terms.trees);
  for (const auto& [number, tree] : trees) {
    if (number >= terms.trees) {
      return InvalidArgumentError(StrCat("tree ", number, " is none of the study's ", terms.trees));
    }
    COPPICE_RETURN_IF_ERROR(ValidateTree(terms, tree));
    COPPICE_ASSIGN_OR_RETURN(mechanisms[number],
                             MakeMechanism(terms, ReportForm::Of(terms).PayloadLeaves(tree)));
  }
  return Privatizer(std::move(terms), fingerprint, std::move(trees), std::move(mechanisms));
}

Status Privatizer::CheckTree(const TicketDraw& draw) const {
  const uint32_t tree = draw.Tree(terms_.trees);
  if (trees_.find(tree) != trees_.end()) return OkStatus();
  return FailedPreconditionError(StrCat("the ticket answers in tree ", tree, " of study ",
                                        terms_.study,
                                        ", which is not here; fetch the offer again"));
}

const LocalMechanism& Privatizer::MechanismOf(const TicketDraw& draw) const {
  return *mechanisms_[draw.Tree(terms_.trees)];
}

uint64_t Privatizer::MaxReportBytes(const Ticket& ticket) const {
  return MechanismOf(DrawOf(ticket)).max_payload_bytes() +
         ReportForm::Of(terms_).MaxBytesInClear(terms_);
}

StatusOr<Privatizer::Blank> Privatizer::BlankFor(const Ticket& ticket) const {
  Blank blank = {.report = {.study = terms_.study, .fingerprint = fingerprint_, .ticket = ticket},
                 .draw = DrawOf(ticket)};
  COPPICE_RETURN_IF_ERROR(CheckTree(blank.draw));
  ReportForm::Of(terms_).Reserve(MechanismOf(blank.draw), {.payload = blank.report.payload,
                                                           .in_clear = blank.report.public_values});
  return blank;
}

StatusOr<PrivateReport> Privatizer::Privatize(LabelledRow row, Blank blank,
                                              PrivateRandom& random) const {
  COPPICE_RETURN_IF_ERROR(ReportForm::Of(terms_).Fill(
      {.terms = terms_,
       .tree = trees_.at(blank.draw.Tree(terms_.trees)),
       .draw = blank.draw,
       .mechanism = MechanismOf(blank.draw)},
      std::move(row), random,
      {.payload = blank.report.payload, .in_clear = blank.report.public_values}));
  return std::move(blank.report);
}

StatusOr<PrivateReport> Privatizer::Privatize(const LabelledRow& row, const Ticket& ticket,
                                              PrivateRandom& random) const {
  COPPICE_ASSIGN_OR_RETURN(Blank blank, BlankFor(ticket));
  return Privatize(row, std::move(blank), random);
}

LabelledRow EncodeText(const Terms& terms, const TextRow& text) {
  return ReportForm::Of(terms).Encode(terms, text);
}

}  // namespace coppice
