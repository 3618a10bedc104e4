#include <algorithm>
#include <filesystem>
#include <string_view>

#include "client/device/run_session.h"
#include "client/device/session.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "tests/faults/relay/world_impl.h"

namespace coppice::relay_faults {
namespace {

constexpr uint32_t kCrowdLeaves = 8;  // after the devices' leaves
constexpr size_t kAgain = 40;
constexpr size_t kOthers = 3;

using faults::NoNoise;

// Time stands still but for waits, which are over at once.
class StandingClock final : public DeviceClock {
 public:
  explicit StandingClock(int64_t unix_seconds) : now_{.unix_seconds = unix_seconds} {}

  DeviceTime Now() override { return now_; }
  Status WaitUntil(int64_t milliseconds_since_boot) override {
    now_.milliseconds_since_boot = milliseconds_since_boot;
    return OkStatus();
  }

 private:
  DeviceTime now_;
};

template <typename Message>
Message Parsed(const std::string& bytes) {
  Message message;
  message.ParseFromString(bytes);
  return message;
}

template <typename Message>
StatusOr<std::string> Serialized(const StatusOr<Message>& message) {
  if (!message.ok()) return message.status();
  return message->SerializeAsString();
}

class DeviceCarrier final : public Carrier {
 public:
  DeviceCarrier(World& world, uint32_t device) : world_(world), device_(device) {}

  StatusOr<std::string> Carry(const DeviceCall& call) override {
    const std::string_view method(call.method);
    if (EndsWith(method, "/GetRelayTerms")) return Serialized(world_.DeviceAsksTerms());
    if (EndsWith(method, "/TakeOffer")) {
      return Serialized(world_.DeviceTakes(Parsed<v1::TakeOfferRequest>(call.request)));
    }
    return Serialized(
        world_.DeviceSubmits(device_, Parsed<v1::SubmitSealedReportRequest>(call.request)));
  }

 private:
  World& world_;
  const uint32_t device_;
};

std::string SubjectOf(uint32_t device) { return StrCat("device ", device); }

v1::RelayedOffer OpenedEnvelope(const std::string& envelope) {
  size_t bytes = 0;
  for (size_t i = 0; i < 4; ++i) bytes = bytes << 8 | static_cast<uint8_t>(envelope[i]);
  v1::RelayedOffer offer;
  offer.ParseFromString(envelope.substr(4, bytes));
  return offer;
}

size_t CellOf(const Tree& tree, double x, uint32_t label) {
  return size_t{2} * tree.FindLeaf(Row{x}) + label;
}

}  // namespace

std::string World::JournalOf(uint32_t gateway) const {
  return StrCat(folder_, "/journal", gateway);
}

void World::OpenGateway(uint32_t gateway) {
  gateways_[gateway].reset();
  if (bug_ == Bug::kForgetfulGateway) std::filesystem::remove(JournalOf(gateway));
  auto journal = JournalStore::Open(JournalOf(gateway));
  if (!journal.ok()) return Expect(journal.status(), "a journal");
  gateways_[gateway] = *std::move(journal);
}

StatusOr<v1::GetRelayTermsResponse> World::DeviceAsksTerms() {
  const StatusOr<v1::GetRelayTermsResponse> answer = relay_->Terms();
  if (answer.ok()) NoteDeal();
  return answer;
}

StatusOr<v1::TakeOfferResponse> World::DeviceTakes(const v1::TakeOfferRequest& request) {
  const std::optional<bool> lost = std::exchange(lose_call_, std::nullopt);
  if (lost == false) return UnavailableError("the request is lost");
  COPPICE_ASSIGN_OR_RETURN(std::string envelope, relay_->TakeOffer(request.epoch()));
  book_.Dealt(request.epoch(), OpenedEnvelope(envelope).ticket());
  if (lost == true) return UnavailableError("the answer is lost");
  v1::TakeOfferResponse response;
  response.set_envelope(std::move(envelope));
  return response;
}

StatusOr<v1::SubmitSealedReportResponse> World::DeviceSubmits(
    uint32_t device, const v1::SubmitSealedReportRequest& request) {
  const Report report = {.ticket = request.ticket(),
                         .bytes = request.encapsulated() + request.ciphertext()};
  book_.Knows(report.bytes, CellOf(forest_->front(), device + 0.5, device % 2));
  book_.DeviceSends(device, report.bytes);
  const std::optional<bool> lost = std::exchange(lose_call_, std::nullopt);
  if (lost == false) return UnavailableError("the request is lost");
  const RelayProcess::Outcome outcome =
      Submit({{.epoch = request.epoch(), .claim = request.claim(), .report = report}},
             /*has_claim=*/true)[0];
  if (!outcome.ok() || lost == true) return UnavailableError("the answer is lost");
  v1::SubmitSealedReportResponse response;
  response.set_outcome(*outcome);
  return response;
}

void World::Visit(uint32_t device, SessionPlan plan) {
  static const Policy& policy = *new Policy{.max_epsilon = *Budget::FromEpsilon(1)};
  const OfferPolicy offers{.curator_key = curator_key_};
  KnownRelay relay{.policy = {.relay_key = RelayKey().public_key(), .max_send_delay_seconds = 0}};
  NoNoise random;
  JournalStore& journal = *gateways_[device % kGateways];
  plan.server = "relay:1";
  plan.route = DeliveryRoute::kThroughRelay;
  plan.subjects = {SubjectOf(device)};
  DeviceSession session({policy, offers, journal.journal(), random, &relay}, std::move(plan));
  DeviceCarrier carrier(*this, device);
  StandingClock clock(now_);
  Expect(RunSession(session, {.journal = journal, .carrier = carrier, .clock = clock},
                    [device](size_t, const Terms&) {
                      return LabelledRow{.row = {device + 0.5}, .label = device % 2};
                    }),
         "a journal");
  // Relay and curator send a device no bad bytes here, so these errors are violations.
  for (const Status& done : {session.outcome().answer, session.outcome().delivery}) {
    if (IsDataLoss(done) || IsInternal(done)) Expect(done, "a device");
  }
}

void World::Answer(uint32_t device) {
  SessionPlan plan;
  plan.study = std::string(kStudy);
  plan.deliver = SessionPlan::Deliver::kNothing;
  Visit(device, std::move(plan));
}

// A torn answer was never acknowledged, and so never sent.
void World::AnswerTorn(uint32_t device, uint32_t quarters) {
  const std::string path = JournalOf(device % kGateways);
  const uint64_t before = std::filesystem::file_size(path);
  Answer(device);
  const uint64_t after = std::filesystem::file_size(path);
  gateways_[device % kGateways].reset();
  if (after > before) std::filesystem::resize_file(path, before + (after - before) * quarters / 4);
  OpenGateway(device % kGateways);
}

void World::Deliver(uint32_t device) { Visit(device, SessionPlan()); }

std::vector<RelayProcess::Outcome> World::Submit(const std::vector<Sealed>& reports,
                                                 bool has_claim) {
  NoteTime();
  if (relay_->up() && !relay_->is_dead() && has_claim) {
    for (const Sealed& sealed : reports) book_.ReachesRelay(sealed.epoch, sealed.report);
  }
  std::vector<RelayProcess::Outcome> outcomes = relay_->Submit(reports);
  for (size_t i = 0; i < reports.size(); ++i) {
    if (!outcomes[i].ok()) continue;
    if (*outcomes[i] == v1::SUBMIT_OUTCOME_STORED) ++tally_.stored;
    book_.Answered(reports[i].epoch, reports[i].report, has_claim, *outcomes[i]);
  }
  return outcomes;
}

std::optional<CrowdDeal> World::JoinDeal() {
  const StatusOr<v1::GetRelayTermsResponse> answer = relay_->Terms();
  if (!answer.ok()) return std::nullopt;
  NoteDeal();
  v1::RelayTerms terms;
  terms.ParseFromString(answer->relay_terms());
  const auto manifest = ReadManifest(answer->manifest().manifest());
  if (!manifest.ok()) return std::nullopt;
  const seal::ReportSealing sealing{.aead = static_cast<seal::Aead>(manifest->sealing->suite),
                                    .fingerprint = manifest->fingerprint,
                                    .payload_bytes = manifest->sealing->payload_bytes};
  auto sealer = seal::ReportSealer::Create(sealing, manifest->sealing->key);
  if (!sealer.ok()) return std::nullopt;
  const Tree& tree = forest_->front();
  const double x = kDevices + static_cast<uint8_t>(terms.epoch()[1]) % kCrowdLeaves + 0.5;
  NoNoise random;
  const auto mechanism = MakeMechanism(*terms_, tree.num_leaves());
  return CrowdDeal{.epoch = terms.epoch(),
                   .sealer = *std::move(sealer),
                   .ciphertext_bytes = sealing.ciphertext_bytes(),
                   .cell = CellOf(tree, x, 1),
                   .payload = *(*mechanism)
                                   ->Randomize({.leaf = tree.FindLeaf(Row{x}), .label = 1},
                                               /*column=*/0, random)};
}

Report World::SealFor(CrowdDeal& deal, const std::string& ticket) {
  const auto sealed = deal.sealer.Seal(*Ticket::FromBytes(ticket), deal.payload);
  Report report = {
      .ticket = ticket,
      .bytes = StrCat(std::string(sealed->encapsulated.begin(), sealed->encapsulated.end()),
                      sealed->ciphertext)};
  book_.Knows(report.bytes, deal.cell);
  return report;
}

std::optional<Sealed> World::TakeTicket(CrowdDeal& deal, bool is_junk) {
  const StatusOr<std::string> envelope = relay_->TakeOffer(deal.epoch);
  if (!envelope.ok()) return std::nullopt;
  const v1::RelayedOffer offer = OpenedEnvelope(*envelope);
  book_.Dealt(deal.epoch, offer.ticket());
  Sealed sealed{.epoch = deal.epoch, .claim = offer.claim(), .report = {}};
  if (is_junk) {
    sealed.report = {.ticket = offer.ticket(), .bytes = std::string(32 + deal.ciphertext_bytes, 0)};
    for (char& byte : sealed.report.bytes) byte = static_cast<char>(random_());
    book_.Knows(sealed.report.bytes, std::nullopt);
  } else {
    sealed.report = SealFor(deal, offer.ticket());
  }
  return sealed;
}

void World::CrowdTakes(uint32_t count, bool is_junk) {
  std::optional<CrowdDeal> deal = JoinDeal();
  for (uint32_t i = 0; deal.has_value() && i < count; ++i) {
    std::optional<Sealed> sealed = TakeTicket(*deal, is_junk);
    if (!sealed.has_value()) return;
    crowd_.push_back({.sealed = *std::move(sealed)});
  }
}

void World::SubmitOfCrowd(const std::vector<CrowdMember*>& members) {
  std::vector<Sealed> reports;
  for (const CrowdMember* member : members) reports.push_back(member->sealed);
  const std::vector<RelayProcess::Outcome> outcomes = Submit(reports, /*has_claim=*/true);
  for (size_t i = 0; i < members.size(); ++i) members[i]->is_done |= outcomes[i].ok();
}

void World::CrowdSends(bool half) {
  std::vector<CrowdMember*> members;
  bool sends = true;
  for (CrowdMember& member : crowd_) {
    if (member.is_done) continue;
    if (sends) members.push_back(&member);
    if (half) sends = !sends;
  }
  SubmitOfCrowd(members);
}

void World::CrowdSendsAgain() {
  std::vector<CrowdMember*> members;
  for (size_t i = 0; i < std::min(kAgain, crowd_.size()); ++i) {
    members.push_back(&crowd_[Below(static_cast<uint32_t>(crowd_.size()))]);
  }
  for (CrowdMember* member : members) SubmitOfCrowd({member});
}

void World::CrowdSendsOther() {
  std::optional<CrowdDeal> deal = JoinDeal();
  if (!deal.has_value()) return;
  size_t left = kOthers;
  for (const CrowdMember& member : crowd_) {
    if (member.sealed.epoch != deal->epoch || !member.is_done || left == 0) continue;
    Sealed other = member.sealed;
    other.report = SealFor(*deal, member.sealed.report.ticket);
    Submit({other}, /*has_claim=*/true);
    --left;
  }
}

void World::SendWithoutClaim() {
  std::optional<CrowdDeal> deal = JoinDeal();
  if (!deal.has_value()) return;
  size_t left = kOthers;
  for (const CrowdMember& member : crowd_) {
    if (member.sealed.epoch != deal->epoch || left == 0) continue;
    Sealed other = member.sealed;
    other.claim = std::string(other.claim.size(), 'x');
    other.report = SealFor(*deal, member.sealed.report.ticket);
    Submit({other}, /*has_claim=*/false);
    --left;
  }
}

}  // namespace coppice::relay_faults
