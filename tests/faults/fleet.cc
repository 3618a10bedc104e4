#include "tests/faults/fleet.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "client/device/consent.h"
#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/private_random.h"
#include "common/table/table.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/packed_forest.h"
#include "common/wire/terms.h"
#include "tests/faults/cast.h"
#include "tests/support/schemas.h"

namespace coppice::testing {
namespace {

// Eight values of x, eight leaves, two classes: sixteen cells, for the twelve devices of a slot.
constexpr uint32_t kLeaves = 8;
static_assert(kDevices / kSlots <= 2 * kLeaves);

constexpr uint64_t kMinReports = 2;
constexpr std::string_view kCurator = "curator:1";

using faults::NoNoise;

std::shared_ptr<const Table> EightRows() {
  auto schema = std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, kLeaves)}, "label", {"no", "yes"}));
  auto table = std::make_shared<Table>(schema);
  for (uint32_t i = 0; i < kLeaves; ++i) table->Append(Row{i + 0.5}, i % 2);
  return table;
}

std::string SubjectOf(uint32_t device) { return StrCat("device ", device); }

// Device d of a slot has place d / kSlots, which gives its leaf and its label.
uint32_t LeafOf(uint32_t device) { return device / kSlots % kLeaves; }
uint32_t LabelOf(uint32_t device) { return device / kSlots / kLeaves; }
LabelledRow RowOf(uint32_t device) { return {{LeafOf(device) + 0.5}, LabelOf(device)}; }

StatusOr<Privatizer> PrivatizerFor(const curator::Studies::Offer& offer) {
  COPPICE_ASSIGN_OR_RETURN(Terms terms, ReadTerms(*offer.terms_bytes));
  COPPICE_ASSIGN_OR_RETURN(Forest forest, OpenForest(terms, *offer.forest));
  return Privatizer::Create(std::move(terms), offer.fingerprint, AllTrees(std::move(forest)));
}

}  // namespace

curator::StudySpec FleetStudy(const std::string& id, uint32_t slot) {
  static const std::shared_ptr<const Table> rows = EightRows();
  return {.id = id,
          .request_id = "request of " + id,
          .public_rows = rows,
          .partition = {.max_depth = 3},
          .epsilon = *Budget::FromEpsilon(1),
          .mechanism = MechanismKind::kLaplaceJoint,
          .settings = {.min_reports = kMinReports,
                       .retention_days = slot == kTokenSlot ? 0 : slot + 1,
                       .require_submission_token = slot == kTokenSlot}};
}

Fleet::Fleet(std::string folder, bool trusting)
    : folder_(std::move(folder)),
      trusting_(trusting),
      policy_{.max_epsilon = *Budget::FromEpsilon(1), .max_total_epsilon = std::nullopt} {
  for (uint32_t gateway = 0; gateway < kGateways; ++gateway) {
    journals_[gateway] = *JournalStore::Open(JournalPath(gateway));
    offers_[gateway].min_reports = kMinReports;
  }
}

std::string Fleet::JournalPath(uint32_t gateway) const {
  return StrCat(folder_, "/journal", gateway);
}

Status Fleet::RestartGateway(uint32_t gateway) {
  journals_[gateway].reset();
  COPPICE_ASSIGN_OR_RETURN(journals_[gateway], JournalStore::Open(JournalPath(gateway)));
  return OkStatus();
}

Status Fleet::Admit(uint32_t device, const std::string& study, const curator::Studies::Offer& offer,
                    const SignedManifest& manifest, int64_t now, bool always) {
  if (trusting_) return OkStatus();
  constexpr DeliveryRoute kRoute = DeliveryRoute::kDirect;
  JournalStore& journal = *journals_[GatewayOf(device)];
  const Trust trust(offers_[GatewayOf(device)], journal.journal().manifests());
  COPPICE_ASSIGN_OR_RETURN(const Terms terms, ReadTerms(*offer.terms_bytes));
  std::optional<SignedManifest> sent = manifest;
  if (!always && trust.Known(kCurator, study) == Sha256({manifest.bytes})) sent.reset();
  COPPICE_ASSIGN_OR_RETURN(const SeenManifest seen,
                           trust.Verify(kCurator, study, sent, kRoute, now));
  if (seen.manifest.fingerprint != offer.fingerprint) {
    return DataLossError("the manifest is about other terms");
  }
  COPPICE_RETURN_IF_ERROR(trust.Admit(seen, terms, kRoute, now));
  return journal.Change([&](Journal& changed) { return changed.Remember(seen); });
}

Status Fleet::Answer(uint32_t device, const curator::Studies::Offer& offer) {
  COPPICE_ASSIGN_OR_RETURN(const Privatizer privatizer, PrivatizerFor(offer));
  const Terms& terms = privatizer.terms();
  const std::string subject = SubjectOf(device);
  NoNoise random;
  PrivateReport report;
  COPPICE_RETURN_IF_ERROR(journals_[GatewayOf(device)]->Change([&](Journal& journal) -> Status {
    if (journal.Find(subject, terms.study).has_value()) return OkStatus();
    COPPICE_RETURN_IF_ERROR(
        Consent(policy_, journal).CheckMayAnswer(subject, terms, DeliveryRoute::kDirect));
    COPPICE_ASSIGN_OR_RETURN(report, privatizer.Privatize(RowOf(device), offer.tickets[0], random));
    const JournalEntry entry{.subject = subject, .epsilon = terms.epsilon, .report = report};
    return journal.Append({&entry, 1});
  }));
  if (!report.study.empty()) copies_[{device, terms.study}] = std::move(report);
  return OkStatus();
}

StatusOr<PrivateReport> Fleet::AnswerAnew(uint32_t device,
                                          const curator::Studies::Offer& offer) const {
  COPPICE_ASSIGN_OR_RETURN(const Privatizer privatizer, PrivatizerFor(offer));
  NoNoise random;
  return privatizer.Privatize(RowOf(device), offer.tickets[0], random);
}

std::optional<JournalEntry> Fleet::Find(uint32_t device, const std::string& study) const {
  std::optional<JournalEntry> entry =
      journals_[GatewayOf(device)]->journal().Find(SubjectOf(device), study);
  if (entry.has_value() && entry->delivered) entry->report = copies_.at({device, study});
  return entry;
}

std::vector<uint32_t> Fleet::Answered(uint32_t gateway, const std::string& study) const {
  std::vector<uint32_t> devices;
  for (uint32_t device = 0; device < kDevices; ++device) {
    if (GatewayOf(device) == gateway && Find(device, study).has_value()) devices.push_back(device);
  }
  return devices;
}

std::vector<uint32_t> Fleet::Undelivered(uint32_t gateway, const std::string& study) const {
  std::vector<uint32_t> devices = Answered(gateway, study);
  std::erase_if(devices, [&](uint32_t device) { return Find(device, study)->delivered; });
  return devices;
}

Status Fleet::MarkDelivered(uint32_t device, const std::string& study) {
  const std::string subject = SubjectOf(device);
  return journals_[GatewayOf(device)]->Change([&](Journal& journal) {
    return journal.MarkDelivered(study, {&subject, 1});
  });
}

size_t Fleet::CellOf(uint32_t device) { return size_t{2} * LeafOf(device) + LabelOf(device); }

}  // namespace coppice::testing
