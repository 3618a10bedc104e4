#include "client/privatizer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace coppice {

Privatizer::Privatizer(Terms terms, const Fingerprint& fingerprint, HeldTrees trees,
                       std::vector<std::unique_ptr<LocalMechanism>> mechanisms)
    : terms_(std::move(terms)),
      fingerprint_(fingerprint),
      trees_(std::move(trees)),
      mechanisms_(std::move(mechanisms)) {}

absl::StatusOr<Privatizer> Privatizer::Create(Terms terms, const Fingerprint& fingerprint,
                                              HeldTrees trees) {
  COPPICE_RETURN_IF_ERROR(ValidateTerms(terms));
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms(terms.trees);
  for (const auto& [number, tree] : trees) {
    if (number >= terms.trees) {
      return absl::InvalidArgumentError(
          absl::StrCat("tree ", number, " is none of the study's ", terms.trees));
    }
    COPPICE_RETURN_IF_ERROR(ValidateTree(terms, tree));
    COPPICE_ASSIGN_OR_RETURN(mechanisms[number], MakeMechanism(terms, tree));
  }
  return Privatizer(std::move(terms), fingerprint, std::move(trees), std::move(mechanisms));
}

absl::StatusOr<PrivateReport> Privatizer::Privatize(RowView row, uint32_t label,
                                                    const Ticket& ticket,
                                                    PrivateRandom& random) const {
  const TicketDraw draw = DrawOf(ticket);
  const uint32_t tree = draw.Tree(terms_.trees);
  const auto held = trees_.find(tree);
  if (held == trees_.end()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the ticket answers in tree ", tree, " of study ", terms_.study,
                     ", which is not here; fetch the offer again"));
  }
  COPPICE_RETURN_IF_ERROR(terms_.schema->Validate(row));
  if (label >= terms_.schema->num_classes()) {
    return absl::InvalidArgumentError(absl::StrCat("label must be one of the schema's ",
                                                   terms_.schema->num_classes(), " classes"));
  }
  const LocalMechanism& mechanism = *mechanisms_[tree];
  const LeafLabel value{.leaf = held->second.FindLeaf(row), .label = label};
  COPPICE_ASSIGN_OR_RETURN(std::string payload,
                           mechanism.Randomize(value, draw.Column(mechanism.columns()), random));
  return PrivateReport{.study = terms_.study,
                       .fingerprint = fingerprint_,
                       .ticket = ticket,
                       .payload = std::move(payload)};
}

}  // namespace coppice
