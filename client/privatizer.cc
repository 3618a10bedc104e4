#include "client/privatizer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace coppice {

Privatizer::Privatizer(Terms terms, const Fingerprint& fingerprint,
                       std::vector<std::unique_ptr<LocalMechanism>> mechanisms)
    : terms_(std::move(terms)), fingerprint_(fingerprint), mechanisms_(std::move(mechanisms)) {}

absl::StatusOr<Privatizer> Privatizer::Create(Terms terms, const Fingerprint& fingerprint) {
  COPPICE_RETURN_IF_ERROR(ValidateTerms(terms));
  COPPICE_ASSIGN_OR_RETURN(auto mechanisms, MakeMechanisms(terms));
  return Privatizer(std::move(terms), fingerprint, std::move(mechanisms));
}

absl::StatusOr<PrivateReport> Privatizer::Privatize(RowView row, uint32_t label,
                                                    const Ticket& ticket,
                                                    PrivateRandom& random) const {
  COPPICE_RETURN_IF_ERROR(terms_.schema->Validate(row));
  if (label >= terms_.schema->num_classes()) {
    return absl::InvalidArgumentError(absl::StrCat("label must be one of the schema's ",
                                                   terms_.schema->num_classes(), " classes"));
  }
  const TicketDraw draw = DrawOf(ticket);
  const uint32_t tree = draw.Tree(static_cast<uint32_t>(terms_.forest.size()));
  const LocalMechanism& mechanism = *mechanisms_[tree];
  const LeafLabel value{.leaf = terms_.forest[tree].FindLeaf(row), .label = label};
  COPPICE_ASSIGN_OR_RETURN(std::string payload,
                           mechanism.Randomize(value, draw.Column(mechanism.columns()), random));
  return PrivateReport{.study = terms_.study,
                       .fingerprint = fingerprint_,
                       .ticket = ticket,
                       .payload = std::move(payload)};
}

}  // namespace coppice
