#include "client/privatizer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace coppice {

Privatizer::Privatizer(Terms terms, const Fingerprint& fingerprint, TreesByIndex trees,
                       std::vector<std::unique_ptr<LocalMechanism>> mechanisms)
    : terms_(std::move(terms)),
      fingerprint_(fingerprint),
      trees_(std::move(trees)),
      mechanisms_(std::move(mechanisms)) {}

absl::StatusOr<Privatizer> Privatizer::Create(Terms terms, const Fingerprint& fingerprint,
                                              TreesByIndex trees) {
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

absl::Status Privatizer::CheckTree(const TicketDraw& draw) const {
  const uint32_t tree = draw.Tree(terms_.trees);
  if (trees_.find(tree) != trees_.end()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the ticket answers in tree ", tree,
                                                    " of study ", terms_.study,
                                                    ", which is not here; fetch the offer again"));
}

absl::StatusOr<LeafLabel> Privatizer::Locate(const Tree& tree, const LabelledRow& row,
                                             PrivateRandom& random) const {
  const Schema& schema = *terms_.schema;
  const bool fits = schema.Validate(row.row).ok();
  const uint32_t leaf = fits ? tree.FindLeaf(row.row) : tree.FindLeaf(schema.Fit(row.row));
  if (row.label < schema.num_classes()) return LeafLabel{leaf, row.label};
  COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, random.UniformBelow(schema.num_classes()));
  return LeafLabel{leaf, static_cast<uint32_t>(drawn)};
}

absl::StatusOr<PrivateReport> Privatizer::Privatize(const LabelledRow& row, const Ticket& ticket,
                                                    PrivateRandom& random) const {
  const TicketDraw draw = DrawOf(ticket);
  COPPICE_RETURN_IF_ERROR(CheckTree(draw));
  const uint32_t tree = draw.Tree(terms_.trees);
  const LocalMechanism& mechanism = *mechanisms_[tree];
  COPPICE_ASSIGN_OR_RETURN(const LeafLabel value, Locate(trees_.at(tree), row, random));
  COPPICE_ASSIGN_OR_RETURN(std::string payload,
                           mechanism.Randomize(value, draw.Column(mechanism.columns()), random));
  return PrivateReport{.study = terms_.study,
                       .fingerprint = fingerprint_,
                       .ticket = ticket,
                       .payload = std::move(payload)};
}

}  // namespace coppice
