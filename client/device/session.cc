#include "client/device/session.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>

#include "client/device/direct_reports.h"
#include "common/base/part_of.h"
#include "common/base/remote_error.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/calls.h"

namespace coppice {
namespace {

constexpr int64_t kDaySeconds = 24 * 60 * 60;

// The curator has to sign this challenge, so that an old proof proves nothing. It comes from the
// device's only generator.
StatusOr<std::string> DrawChallenge(PrivateRandom& random) {
  std::string challenge;
  while (challenge.size() < kChallengeBytes) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t byte, random.UniformBelow(256));
    challenge.push_back(static_cast<char>(byte));
  }
  return challenge;
}

Status NotAsked(std::string_view what) {
  return InvalidArgumentError(StrCat("the session asked for no ", what, "; call Next() first"));
}

}  // namespace

DeviceSession::DeviceSession(const SessionParts& parts, SessionPlan plan)
    : parts_(parts),
      plan_(std::move(plan)),
      consent_(parts.policy, parts.journal),
      trust_(parts.offers, parts.journal.manifests()) {
  if (!plan_.study.empty()) outcome_.answer = NotYet();
}

Status DeviceSession::NotYet() const {
  return UnavailableError(
      StrCat("study ", plan_.study, " is not answered yet: carry the session's steps to its end"));
}

// ---- The steps

SessionStep DeviceSession::Next(const DeviceTime& now) {
  while (true) {
    if (const JournalWrite* write = parts_.journal.pending()) return WriteRecords{write};
    if (stage_ == Stage::kDone) return SessionDone();
    if (row_is_wanted()) return ReadRow{asked_[next_answer_], reader().terms()};
    if (AllTold()) {
      Advance(now);
      continue;
    }
    // No door hands anything on that did not pass here.
    if (const Status may_send = consent_.CheckOptedIn(); !may_send.ok()) {
      End(may_send);
    } else if (!DropSettled()) {
      return CarryCalls{calls_, WaitLeft(now)};
    }
  }
}

void DeviceSession::Advance(const DeviceTime& now) {
  switch (stage_) {
    case Stage::kBegin:
      return BeginAnswer();
    case Stage::kTerms:
      return AskTerms();
    case Stage::kConsent:
      return Agree();
    case Stage::kTickets:
      return AskTickets();
    case Stage::kRows:
      if (const Status prepared = PrepareRow(); !prepared.ok()) FailAnswer(prepared);
      return;
    case Stage::kAnswered:
      return FinishAnswer();
    case Stage::kWaiting:
      return FindWaiting(now);
    case Stage::kProof:
      return AskProof();
    case Stage::kReports:
      return AskReports();
    case Stage::kForget:
      stage_ = Stage::kDone;
      if (plan_.forget) error_.Update(parts_.journal.Forget(now.unix_seconds));
      return;
    case Stage::kDone:
      return;
  }
}

void DeviceSession::End(const Status& why) {
  if (stage_ < Stage::kWaiting && !plan_.study.empty()) FailAnswer(why);
  StopDelivering(why);
}

void DeviceSession::Ask(std::vector<DeviceCall> calls) {
  calls_ = std::move(calls);
  is_told_.assign(calls_.size(), false);
  told_ = 0;
}

void DeviceSession::ForgetCalls() {
  Ask({});
  sent_.clear();
  results_.clear();
  direct_reports_.reset();
  failed_call_ = OkStatus();
}

int64_t DeviceSession::WaitLeft(const DeviceTime& now) const {
  if (stage_ != Stage::kReports || !is_relayed()) return 0;
  return std::max<int64_t>(0, *parts_.relay->send_from - now.milliseconds_since_boot);
}

Status DeviceSession::CheckAsked(size_t i) const {
  return i < calls_.size() && !is_told_[i] ? OkStatus() : NotAsked("such call");
}

Status DeviceSession::RecordsDurable() {
  if (parts_.journal.pending() == nullptr) return NotAsked("records to be written");
  parts_.journal.Committed();
  return OkStatus();
}

Status DeviceSession::RecordsFailed(const Status& why) {
  if (parts_.journal.pending() == nullptr) return NotAsked("records to be written");
  parts_.journal.Failed();
  if (stage_ <= Stage::kAnswered) {
    FailAnswer(why);
  } else if (stage_ == Stage::kDone) {
    error_ = why;  // what is final is forgotten by a later session
  } else {
    StopDelivering(why);
  }
  return OkStatus();
}

Status DeviceSession::TakeResponse(size_t i, std::string_view response, const DeviceTime& now) {
  COPPICE_RETURN_IF_ERROR(CheckAsked(i));
  is_told_[i] = true;
  ++told_;
  if (stage_ == Stage::kTerms) {
    TakeTerms(response, now);
  } else if (stage_ == Stage::kTickets) {
    TakeTicket(i, response, now);
  } else if (stage_ == Stage::kProof) {
    TakeProof(response, now);
  } else {
    TakeResults(i, response);
  }
  return OkStatus();
}

Status DeviceSession::CallFailed(size_t i, const Status& why) {
  COPPICE_RETURN_IF_ERROR(CheckAsked(i));
  is_told_[i] = true;
  ++told_;
  if (stage_ == Stage::kTerms) {
    FailAnswer(why);
  } else if (stage_ == Stage::kProof) {
    StopDelivering(why);
  } else {
    failed_call_.Update(why);
  }
  return OkStatus();
}

// ---- Answering

void DeviceSession::FailAnswer(const Status& why) {
  outcome_.answer = why;
  error_ = why;
  ForgetCalls();
  agreed_.reset();
  envelopes_.clear();
  blank_.reset();
  answers_.clear();
  stage_ = Stage::kWaiting;
}

void DeviceSession::BeginAnswer() {
  stage_ = Stage::kWaiting;
  if (plan_.study.empty()) return;
  for (size_t i = 0; i < plan_.subjects.size(); ++i) {
    const bool answered = parts_.journal.Find(plan_.subjects[i], plan_.study).has_value();
    if (!answered) asked_.push_back(i);
  }
  outcome_.answered_before = plan_.subjects.size() - asked_.size();
  if (asked_.empty() && !plan_.subjects.empty()) {
    outcome_.answer = OkStatus();
    return;
  }
  if (const Status opted_in = consent_.CheckOptedIn(); !opted_in.ok()) {
    stage_ = Stage::kBegin;
    return End(opted_in);
  }
  if (const Status may_fetch = consent_.CheckMayFetch(); !may_fetch.ok()) {
    // A full queue is no reason not to deliver: that is what empties it.
    outcome_.answer = may_fetch;
    return;
  }
  stage_ = Stage::kTerms;
}

OfferQuestion DeviceSession::Question() const {
  return {.server = plan_.server,
          .study = plan_.study,
          .tickets = static_cast<uint32_t>(std::max<size_t>(asked_.size(), 1)),
          .whole_forest = plan_.subjects.size() != 1,
          .known = plan_.known.get(),
          .max_offer_bytes = parts_.offers.max_offer_bytes};
}

void DeviceSession::AskTerms() {
  if (is_relayed()) {
    return Ask({{"/coppice.v1.RelayService/GetRelayTerms", WriteRelayTermsRequest(plan_.study)}});
  }
  std::vector<std::string> tokens;
  if (asked_.empty()) tokens = plan_.submission_tokens;
  for (const size_t subject : asked_) {
    if (!plan_.submission_tokens.empty()) tokens.push_back(plan_.submission_tokens[subject]);
  }
  Ask({{"/coppice.v1.StudyService/GetOffer", OfferRequest(Question(), tokens, trust_)}});
}

void DeviceSession::TakeTerms(std::string_view response, const DeviceTime& now) {
  const Status taken = is_relayed() ? TakeDeal(response, now) : TakeOffer(response, now);
  if (const auto seen = parts_.journal.manifests().OfStudy(plan_.study)) {
    NoteClock(seen->manifest.issued_unix_seconds, now);
  }
  if (!taken.ok()) return FailAnswer(taken);
  ForgetCalls();
  stage_ = Stage::kConsent;
}

Status DeviceSession::TakeOffer(std::string_view response, const DeviceTime& now) {
  COPPICE_ASSIGN_OR_RETURN(Offer offer, OpenOffer(response, Question(), trust_, now.unix_seconds));
  privatizer_ = offer.privatizer == nullptr ? plan_.known : std::move(offer.privatizer);
  tickets_ = std::move(offer.tickets);
  NoteClock(offer.manifest.manifest.issued_unix_seconds, now);
  return Remember(offer.manifest);
}

Status DeviceSession::TakeDeal(std::string_view response, const DeviceTime& now) {
  const StatusOr<DealMessage> offer = ReadDeal(response);
  if (!offer.ok()) return SanitizeRemoteError(offer.status());
  StatusOr<Deal> deal =
      AdmitDeal(*offer, plan_.study, plan_.server, parts_.relay->policy, trust_, now.unix_seconds);
  if (!deal.ok()) return SanitizeRemoteError(deal.status());
  COPPICE_ASSIGN_OR_RETURN(Privatizer privatizer, MakePrivatizer(*deal, {}));
  COPPICE_ASSIGN_OR_RETURN(DealSealer sealer, DealSealer::Create(*deal));
  privatizer_ = std::make_shared<const Privatizer>(std::move(privatizer));
  agreed_.emplace(AgreedDeal{.deal = *std::move(deal), .sealer = std::move(sealer)});
  NoteClock(agreed_->deal.manifest->manifest.issued_unix_seconds, now);
  return Remember(*agreed_->deal.manifest);
}

Status DeviceSession::Remember(const SeenManifest& manifest) {
  return parts_.journal.manifests().Knows(manifest) ? OkStatus()
                                                    : parts_.journal.Remember(manifest);
}

void DeviceSession::NoteClock(int64_t issued_unix_seconds, const DeviceTime& now) {
  const int64_t clock = std::max<int64_t>(0, now.unix_seconds);  // so that the difference is one
  const int64_t behind = std::max<int64_t>(0, issued_unix_seconds) - clock;
  if (behind > kDaySeconds) outcome_.clock_behind_seconds = behind;
}

void DeviceSession::Agree() {
  if (const Status agreed = CheckConsent(); !agreed.ok()) return FailAnswer(agreed);
  if (plan_.subjects.empty()) {
    outcome_.answer = OkStatus();
    stage_ = Stage::kWaiting;
    return;
  }
  if (is_relayed()) {
    if (const Status prepared = PrepareForTickets(); !prepared.ok()) return FailAnswer(prepared);
  }
  stage_ = is_relayed() ? Stage::kTickets : Stage::kRows;
}

Status DeviceSession::CheckConsent() {
  const Terms& terms = privatizer_->terms();
  COPPICE_RETURN_IF_ERROR(consent_.CheckOptedIn());
  if (asked_.empty()) return parts_.policy.Allows(terms, /*spent=*/std::nullopt, plan_.route);
  std::vector<std::string> subjects;
  for (size_t i = 0; i < asked_.size(); ++i) subjects.push_back(subject(i));
  for (const std::string& subject : subjects) {
    COPPICE_RETURN_IF_ERROR(consent_.CheckMayAnswer(subject, terms, plan_.route));
  }
  uint64_t report_bytes = is_relayed() ? agreed_->sealer.ciphertext_bytes() : 0;
  for (const Ticket& ticket : tickets_) {
    COPPICE_RETURN_IF_ERROR(privatizer_->CheckTicket(ticket));
    report_bytes = std::max(report_bytes, privatizer_->MaxReportBytes(ticket));
  }
  if (plan_.review != nullptr && !plan_.review(terms)) {
    return FailedPreconditionError(
        StrCat("study ", plan_.study, " is declined by the device's own review"));
  }
  if (std::set<std::string_view>(subjects.begin(), subjects.end()).size() < subjects.size()) {
    return AlreadyExistsError(
        StrCat("a subject is asked to answer study ", plan_.study, " twice in one session"));
  }
  return consent_.MakeRoomFor(subjects, terms, plan_.route, report_bytes);
}

Status DeviceSession::PrepareForTickets() {
  envelopes_.resize(asked_.size());
  return PrepareForTicket(parts_.relay->policy, parts_.random, *agreed_);
}

void DeviceSession::AskTickets() {
  if (!failed_call_.ok() || tickets_asked_ == asked_.size()) {
    agreed_->set_aside.reset();
    Ask({});
    stage_ = Stage::kRows;
    return;
  }
  const size_t count = std::min(plan_.calls_together, asked_.size() - tickets_asked_);
  tickets_asked_ += count;
  const std::string request = WriteTakeOfferRequest(plan_.study, agreed_->deal.relay.epoch);
  Ask(std::vector<DeviceCall>(
      count, {"/coppice.v1.RelayService/TakeOffer", request, /*shows_token=*/true}));
}

void DeviceSession::TakeTicket(size_t call, std::string_view response, const DeviceTime& now) {
  const int64_t send_from = now.milliseconds_since_boot + agreed_->delay_milliseconds;
  std::optional<int64_t>& not_before = parts_.relay->send_from;
  not_before = std::max(not_before.value_or(send_from), send_from);
  const StatusOr<std::string_view> envelope = ReadEnvelope(response);
  if (!envelope.ok()) return failed_call_.Update(SanitizeRemoteError(envelope.status()));
  const size_t first = tickets_asked_ - calls_.size();
  envelopes_[first + call] = std::string(*envelope);
}

Status DeviceSession::PrepareRow() {
  if (next_answer_ == asked_.size()) {
    AppendAnswers();
    return OkStatus();
  }
  if (is_relayed()) return PrepareRelayedRow();
  COPPICE_ASSIGN_OR_RETURN(blank_, privatizer_->BlankFor(tickets_[next_answer_]));
  return OkStatus();
}

Status DeviceSession::PrepareRelayedRow() {
  const std::optional<std::string> envelope = std::exchange(envelopes_[next_answer_], std::nullopt);
  StatusOr<DealtTicket> dealt = UnavailableError("no ticket came");
  if (envelope.has_value()) dealt = OpenEnvelope(agreed_->deal, *envelope);
  if (!dealt.ok()) {
    failed_call_.Update(SanitizeRemoteError(dealt.status()));
    ++next_answer_;
    return OkStatus();
  }
  ++outcome_.dealt;
  // Nothing may decline any more, and nothing of the tree is held twice.
  dealt_ = *std::move(dealt);
  COPPICE_ASSIGN_OR_RETURN(row_privatizer_,
                           MakePrivatizer(agreed_->deal, std::move(dealt_->trees)));
  if (row_privatizer_->CheckTicket(dealt_->ticket).ok()) {
    COPPICE_ASSIGN_OR_RETURN(blank_, row_privatizer_->BlankFor(dealt_->ticket));
    return OkStatus();
  }
  return KeepReport({.study = plan_.study,
                     .fingerprint = row_privatizer_->fingerprint(),
                     .ticket = dealt_->ticket});
}

Status DeviceSession::TakeRow(LabelledRow row) {
  if (!row_is_wanted()) return NotAsked("row");
  StatusOr<PrivateReport> report =
      reader().Privatize(std::move(row), *std::exchange(blank_, std::nullopt), parts_.random);
  const Status kept = report.ok() ? KeepReport(*std::move(report)) : report.status();
  if (!kept.ok()) FailAnswer(kept);
  return OkStatus();
}

Status DeviceSession::KeepReport(PrivateReport report) {
  JournalEntry& answer = answers_.emplace_back(JournalEntry{
      .subject = subject(next_answer_), .epsilon = reader().terms().epsilon, .report = {}});
  if (is_relayed()) {
    COPPICE_ASSIGN_OR_RETURN(answer.sealed, agreed_->sealer.Seal(*dealt_, report.payload));
    report.payload.clear();
  }
  answer.report = std::move(report);
  row_privatizer_.reset();
  ++next_answer_;
  return OkStatus();
}

void DeviceSession::AppendAnswers() {
  if (answers_.empty()) return FailAnswer(Status(failed_call_));
  stage_ = Stage::kAnswered;
  if (const Status staged = parts_.journal.Append(answers_); !staged.ok()) FailAnswer(staged);
}

void DeviceSession::FinishAnswer() {
  outcome_.answered_now = true;
  outcome_.answer = failed_call_;
  error_.Update(failed_call_);
  answers_.clear();
  ForgetCalls();
  stage_ = Stage::kWaiting;
}

// ---- Delivering

void DeviceSession::StopDelivering(const Status& why) {
  outcome_.delivery = why;
  error_ = why;
  ForgetCalls();
  settled_.clear();
  stage_ = Stage::kForget;
}

bool DeviceSession::StillWaits(const JournalEntry& entry) const {
  const auto kept = parts_.journal.Find(entry.subject, entry.report.study);
  return kept.has_value() && !kept->delivered;
}

// Counts those that go to another.
bool DeviceSession::IsForHere(const JournalEntry& entry) {
  Deliveries& counts = outcome_.deliveries;
  if (!is_relayed()) {
    if (entry.sealed.has_value()) ++counts.of_relays;
    return !entry.sealed.has_value();
  }
  if (entry.sealed.has_value() && entry.sealed->relay == KeyIdOf(parts_.relay->policy.relay_key)) {
    return true;
  }
  ++(entry.sealed.has_value() ? counts.of_relays : counts.of_other_curators);
  return false;
}

void DeviceSession::FindWaiting(const DeviceTime& now) {
  stage_ = Stage::kForget;
  if (plan_.deliver == SessionPlan::Deliver::kNothing) return;
  const std::set<std::string_view> subjects(plan_.subjects.begin(), plan_.subjects.end());
  for (JournalEntry& entry : parts_.journal.Undelivered()) {
    const bool is_meant =
        plan_.deliver == SessionPlan::Deliver::kEverybody || subjects.count(entry.subject) > 0;
    const bool is_of_study =
        plan_.deliver_study.empty() || entry.report.study == plan_.deliver_study;
    if (is_meant && is_of_study && IsForHere(entry)) waiting_.push_back(std::move(entry));
  }
  if (waiting_.empty()) return;
  if (const Status may_send = consent_.CheckOptedIn(); !may_send.ok()) {
    return StopDelivering(may_send);
  }
  stage_ = is_relayed() ? Stage::kReports : Stage::kProof;
  if (!is_relayed() || parts_.relay->send_from.has_value()) return;
  // What an earlier process left waits for a delay of its own: else the network would see by the
  // time whose answer a restart had held back.
  const StatusOr<int64_t> delay = DrawSendDelay(parts_.relay->policy, parts_.random);
  if (!delay.ok()) return StopDelivering(delay.status());
  parts_.relay->send_from = now.milliseconds_since_boot + *delay;
}

void DeviceSession::AskProof() {
  StatusOr<std::string> challenge = DrawChallenge(parts_.random);
  if (!challenge.ok()) return StopDelivering(challenge.status());
  challenge_ = *std::move(challenge);
  Ask({{"/coppice.v1.StudyService/GetCuratorKeys", ProofRequest(challenge_)}});
}

StatusOr<bool> DeviceSession::IsForCurator(const JournalEntry& entry, const CuratorProof& proof,
                                           const DeviceTime& now) {
  if (!entry.curator.has_value()) return false;
  const auto known = is_led_to_.find(*entry.curator);
  if (known != is_led_to_.end()) return known->second;
  const Status led =
      trust_.CheckLedTo(proof.key, proof.endorsements, *entry.curator, now.unix_seconds);
  if (!led.ok() && !IsFailedPrecondition(led)) return led;
  return is_led_to_[*entry.curator] = led.ok();
}

void DeviceSession::TakeProof(std::string_view response, const DeviceTime& now) {
  ForgetCalls();
  stage_ = Stage::kReports;
  const StatusOr<CuratorProof> proof = OpenProof(response, std::exchange(challenge_, ""));
  if (IsFailedPrecondition(proof.status())) {
    // The other end is not the curator that the answers are for.
    outcome_.deliveries.of_other_curators += waiting_.size();
    waiting_.clear();
    error_ = SanitizeRemoteError(proof.status());
    return;
  }
  if (!proof.ok()) return StopDelivering(SanitizeRemoteError(proof.status()));
  curator_key_ = proof->direct;
  std::vector<JournalEntry> owned;
  for (JournalEntry& entry : waiting_) {
    const StatusOr<bool> is_for_curator = IsForCurator(entry, *proof, now);
    if (!is_for_curator.ok()) return StopDelivering(SanitizeRemoteError(is_for_curator.status()));
    if (*is_for_curator) {
      owned.push_back(std::move(entry));
    } else {
      ++outcome_.deliveries.of_other_curators;
    }
  }
  waiting_ = std::move(owned);
}

void DeviceSession::AskReports() {
  CountResults();
  if (!settled_.empty()) {
    const auto study = settled_.extract(settled_.begin());
    const Status staged = parts_.journal.MarkDelivered(study.key(), study.mapped());
    if (!staged.ok()) StopDelivering(staged);
    return;
  }
  if (!failed_call_.ok()) return StopDelivering(Status(failed_call_));
  ForgetCalls();
  const auto next = waiting_.begin() + static_cast<ptrdiff_t>(next_waiting_);
  waiting_.erase(std::remove_if(next, waiting_.end(),
                                [this](const JournalEntry& entry) { return !StillWaits(entry); }),
                 waiting_.end());
  if (next_waiting_ == waiting_.size()) {
    stage_ = Stage::kForget;
  } else if (is_relayed()) {
    AskRelayedReports();
  } else if (const Status asked = AskDirectReports(); !asked.ok()) {
    StopDelivering(asked);
  }
}

StatusOr<uint32_t> DeviceSession::ReportBytesOf(std::string_view study) const {
  const std::optional<SeenManifest> seen = parts_.journal.manifests().OfStudy(study);
  if (seen.has_value() && seen->manifest.direct.has_value()) {
    return seen->manifest.direct->report_bytes;
  }
  return DataLossError(StrCat("the journal has an answer to study ", study,
                              " and not the manifest by which it is sealed"));
}

Status DeviceSession::AskDirectReports() {
  const auto rest = PartOf(absl::MakeConstSpan(waiting_), next_waiting_);
  COPPICE_ASSIGN_OR_RETURN(const uint32_t report_bytes, ReportBytesOf(rest[0].report.study));
  std::vector<const PrivateReport*> reports;
  for (const JournalEntry& entry : rest) reports.push_back(&entry.report);
  reports.resize(ReportsPerCall(reports, report_bytes, plan_.batch));
  COPPICE_ASSIGN_OR_RETURN(direct_reports_,
                           DirectReports::Seal(curator_key_, report_bytes, reports));
  const auto entries = PartOf(rest, 0, reports.size());
  sent_.assign(entries.begin(), entries.end());
  results_.assign(sent_.size(), std::nullopt);
  next_waiting_ += sent_.size();
  Ask({{"/coppice.v1.ReportService/SubmitReports", direct_reports_->request()}});
  return OkStatus();
}

void DeviceSession::AskRelayedReports() {
  const auto rest = PartOf(absl::MakeConstSpan(waiting_), next_waiting_);
  const auto entries = PartOf(rest, 0, plan_.calls_together);
  std::vector<DeviceCall> calls;
  for (const JournalEntry& entry : entries) {
    calls.push_back({"/coppice.v1.RelayService/SubmitSealedReport", SealedReportRequest(entry)});
  }
  sent_.assign(entries.begin(), entries.end());
  results_.assign(sent_.size(), std::nullopt);
  next_waiting_ += sent_.size();
  Ask(std::move(calls));
}

bool DeviceSession::DropSettled() {
  const bool all_wait = std::all_of(
      sent_.begin(), sent_.end(), [this](const JournalEntry& entry) { return StillWaits(entry); });
  if (all_wait || told_ > 0) return false;
  next_waiting_ -= sent_.size();
  ForgetCalls();
  return true;
}

void DeviceSession::TakeResults(size_t call, std::string_view response) {
  Status taken;
  if (is_relayed()) {
    StatusOr<DeliveryResult> result = ReadSealedResult(response);
    taken = result.status();
    if (result.ok()) results_[call] = *std::move(result);
  } else {
    StatusOr<std::vector<DeliveryResult>> results = direct_reports_->Open(response);
    taken = results.status();
    if (results.ok()) std::move(results->begin(), results->end(), results_.begin());
  }
  if (!taken.ok()) failed_call_.Update(SanitizeRemoteError(taken));
}

void DeviceSession::CountResults() {
  Deliveries& counts = outcome_.deliveries;
  for (size_t i = 0; i < sent_.size(); ++i) {
    if (!results_[i].has_value()) continue;
    const JournalEntry& entry = sent_[i];
    counts.payload_bytes += entry.report.payload.size();
    switch (results_[i]->delivery) {
      case Delivery::kAccepted:
        ++counts.accepted;
        break;
      case Delivery::kDuplicate:
        ++counts.duplicate;
        break;
      case Delivery::kRefused:
        counts.refused.push_back(results_[i]->reason);
        break;
      case Delivery::kUnknownStudy:
        counts.unknown.push_back(entry.report.study);
        if (!plan_.stop_unknown) continue;
        break;
    }
    settled_[entry.report.study].push_back(entry.subject);
  }
  sent_.clear();
  results_.clear();
}

}  // namespace coppice
