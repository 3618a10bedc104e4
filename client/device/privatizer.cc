#include "client/device/privatizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/ldp/randomized_rounding.h"
#include "common/terms/public_values.h"

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
    const uint32_t leaves = terms.joined_by.empty() ? tree.num_leaves() : 1;
    COPPICE_ASSIGN_OR_RETURN(mechanisms[number], MakeMechanism(terms, leaves));
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
  const uint64_t values = uint64_t{terms_.num_public_features()} * sizeof(double);
  return MechanismOf(DrawOf(ticket)).max_payload_bytes() +
         std::max<uint64_t>(values, kMaxJoinIdBytes);
}

Status Privatizer::CheckRowId(const LabelledRow& row) const {
  const Status status = CheckJoinId(row.id);
  if (status.ok()) return status;
  return InvalidArgumentError(
      StrCat("study ", terms_.study, " asks for the id \"", terms_.joined_by,
             "\" of the row, and has no answer without: ", status.message(), "; nothing is sent"));
}

StatusOr<uint32_t> Privatizer::LabelOf(const LabelledRow& row, PrivateRandom& random) const {
  const uint32_t classes = terms_.schema->num_outputs();
  if (terms_.rounding.has_value() && std::isfinite(row.number)) {
    return RoundToAnEnd(terms_.rounding->PlaceOf(row.number), random);
  }
  if (!terms_.rounding.has_value() && row.label < classes) return row.label;
  COPPICE_ASSIGN_OR_RETURN(const uint64_t drawn, random.UniformBelow(classes));
  return static_cast<uint32_t>(drawn);
}

Status Privatizer::ShowId(const LabelledRow& row, Blank& blank, PrivateRandom& random) const {
  // Comes before the label is read: whether there is an answer may depend on the id alone.
  COPPICE_RETURN_IF_ERROR(CheckRowId(row));
  blank.report.public_values = row.id;
  COPPICE_ASSIGN_OR_RETURN(const uint32_t label, LabelOf(row, random));
  const LocalMechanism& mechanism = MechanismOf(blank.draw);
  return mechanism.Randomize({.leaf = 0, .label = label}, blank.draw.Column(mechanism.columns()),
                             random, blank.report.payload);
}

Status Privatizer::ShowValues(const LabelledRow& row, Blank& blank, PrivateRandom& random) const {
  const Tree& tree = trees_.at(blank.draw.Tree(terms_.trees));
  // Public values and all allocations come first.
  blank.report.public_values = EncodePublicValues(*terms_.schema, tree, row.row);
  const std::vector<uint32_t> leaves = ConsistentLeaves(tree, *terms_.schema, row.row);
  COPPICE_ASSIGN_OR_RETURN(const auto mechanism,
                           MakeMechanism(terms_, static_cast<uint32_t>(leaves.size())));
  blank.report.payload.reserve(mechanism->room_bytes());
  COPPICE_ASSIGN_OR_RETURN(const uint32_t label, LabelOf(row, random));
  const auto own = std::lower_bound(leaves.begin(), leaves.end(), tree.FindLeaf(row.row));
  const LeafLabel value = {.leaf = static_cast<uint32_t>(own - leaves.begin()), .label = label};
  return mechanism->Randomize(value, blank.draw.Column(mechanism->columns()), random,
                              blank.report.payload);
}

StatusOr<Privatizer::Blank> Privatizer::BlankFor(const Ticket& ticket) const {
  Blank blank = {.report = {.study = terms_.study, .fingerprint = fingerprint_, .ticket = ticket},
                 .draw = DrawOf(ticket)};
  COPPICE_RETURN_IF_ERROR(CheckTree(blank.draw));
  const bool is_joined = !terms_.joined_by.empty();
  if (is_joined) blank.report.public_values.reserve(kMaxJoinIdBytes);
  if (is_joined || !terms_.shows_values()) {
    blank.report.payload.reserve(MechanismOf(blank.draw).room_bytes());
  }
  return blank;
}

Status Privatizer::ShowNothing(const LabelledRow& row, Blank& blank, PrivateRandom& random) const {
  COPPICE_ASSIGN_OR_RETURN(const uint32_t label, LabelOf(row, random));
  const LocalMechanism& mechanism = MechanismOf(blank.draw);
  const uint32_t leaf = trees_.at(blank.draw.Tree(terms_.trees)).FindLeaf(row.row);
  return mechanism.Randomize({.leaf = leaf, .label = label}, blank.draw.Column(mechanism.columns()),
                             random, blank.report.payload);
}

StatusOr<PrivateReport> Privatizer::Privatize(LabelledRow row, Blank blank,
                                              PrivateRandom& random) const {
  if (!terms_.joined_by.empty()) {
    COPPICE_RETURN_IF_ERROR(ShowId(row, blank, random));
  } else {
    terms_.schema->Fit(row.row);
    COPPICE_RETURN_IF_ERROR(terms_.shows_values() ? ShowValues(row, blank, random)
                                                  : ShowNothing(row, blank, random));
  }
  return std::move(blank.report);
}

StatusOr<PrivateReport> Privatizer::Privatize(const LabelledRow& row, const Ticket& ticket,
                                              PrivateRandom& random) const {
  COPPICE_ASSIGN_OR_RETURN(Blank blank, BlankFor(ticket));
  return Privatize(row, std::move(blank), random);
}

LabelledRow EncodeText(const Terms& terms, const TextRow& text) {
  const Schema& schema = *terms.schema;
  if (terms.joined_by.empty()) return schema.EncodeTotally(text);
  TextRow asked;
  if (const auto label = text.find(schema.label()); label != text.end()) asked.insert(*label);
  LabelledRow row = schema.EncodeTotally(asked);
  if (const auto id = text.find(terms.joined_by); id != text.end()) row.id = id->second;
  return row;
}

}  // namespace coppice
