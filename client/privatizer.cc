#include "client/privatizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/ldp/randomized_rounding.h"
#include "common/study/public_values.h"

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
    COPPICE_ASSIGN_OR_RETURN(mechanisms[number], MakeMechanism(terms, tree.num_leaves()));
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

uint64_t Privatizer::MaxReportBytes(const Ticket& ticket) const {
  constexpr uint64_t kMaxVarintBytes = 5;  // of a noisy entry
  const LocalMechanism& mechanism = *mechanisms_[DrawOf(ticket).Tree(terms_.trees)];
  const uint64_t payload = mechanism.payload_bytes();
  const uint64_t values = uint64_t{terms_.num_public_features()} * sizeof(double);
  return payload * (mechanism.adds_laplace_noise() ? kMaxVarintBytes : 1) +
         std::max<uint64_t>(values, kMaxJoinIdBytes);
}

absl::Status Privatizer::CheckRowId(const LabelledRow& row) const {
  const absl::Status status = CheckJoinId(row.id);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      "study ", terms_.study, " asks for the id \"", terms_.joined_by,
      "\" of the row, and has no answer without: ", status.message(), "; nothing is sent"));
}

absl::StatusOr<uint32_t> Privatizer::LabelOf(const LabelledRow& row, PrivateRandom& random) const {
  const uint32_t classes = terms_.schema->num_outputs();
  if (terms_.rounding.has_value() && std::isfinite(row.number)) {
    return RoundToAnEnd(terms_.rounding->PlaceOf(row.number), random);
  }
  if (!terms_.rounding.has_value() && row.label < classes) return row.label;
  COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, random.UniformBelow(classes));
  return static_cast<uint32_t>(drawn);
}

absl::StatusOr<std::string> Privatizer::RandomizeLabel(const LabelledRow& row,
                                                       const TicketDraw& draw,
                                                       PrivateRandom& random) const {
  COPPICE_ASSIGN_OR_RETURN(const auto mechanism, MakeMechanism(terms_, /*leaves=*/1));
  COPPICE_ASSIGN_OR_RETURN(const uint32_t label, LabelOf(row, random));
  return mechanism->Randomize({.leaf = 0, .label = label}, draw.Column(mechanism->columns()),
                              random);
}

absl::StatusOr<std::string> Privatizer::RandomizeConsistent(const Tree& tree, const Row& row,
                                                            uint32_t label, const TicketDraw& draw,
                                                            PrivateRandom& random) const {
  const std::vector<uint32_t> leaves = ConsistentLeaves(tree, *terms_.schema, row);
  COPPICE_ASSIGN_OR_RETURN(const auto mechanism,
                           MakeMechanism(terms_, static_cast<uint32_t>(leaves.size())));
  const auto own = std::lower_bound(leaves.begin(), leaves.end(), tree.FindLeaf(row));
  const LeafLabel value = {.leaf = static_cast<uint32_t>(own - leaves.begin()), .label = label};
  return mechanism->Randomize(value, draw.Column(mechanism->columns()), random);
}

absl::StatusOr<PrivateReport> Privatizer::Privatize(const LabelledRow& row, const Ticket& ticket,
                                                    PrivateRandom& random) const {
  const TicketDraw draw = DrawOf(ticket);
  COPPICE_RETURN_IF_ERROR(CheckTree(draw));
  PrivateReport report = {
      .study = terms_.study, .fingerprint = fingerprint_, .ticket = ticket, .payload = {}};
  if (!terms_.joined_by.empty()) {
    // Before the label is looked at: whether there is an answer may depend on the id alone.
    COPPICE_RETURN_IF_ERROR(CheckRowId(row));
    COPPICE_ASSIGN_OR_RETURN(report.payload, RandomizeLabel(row, draw, random));
    report.public_values = row.id;
    return report;
  }
  const uint32_t number = draw.Tree(terms_.trees);
  const Tree& tree = trees_.at(number);
  const Schema& schema = *terms_.schema;
  const Row fitted = schema.Validate(row.row).ok() ? row.row : schema.Fit(row.row);
  COPPICE_ASSIGN_OR_RETURN(const uint32_t label, LabelOf(row, random));
  if (terms_.shows_values()) {
    COPPICE_ASSIGN_OR_RETURN(report.payload,
                             RandomizeConsistent(tree, fitted, label, draw, random));
    report.public_values = EncodePublicValues(schema, tree, fitted);
    return report;
  }
  const LocalMechanism& mechanism = *mechanisms_[number];
  COPPICE_ASSIGN_OR_RETURN(report.payload,
                           mechanism.Randomize({.leaf = tree.FindLeaf(fitted), .label = label},
                                               draw.Column(mechanism.columns()), random));
  return report;
}

}  // namespace coppice
