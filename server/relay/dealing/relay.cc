#include "server/relay/dealing/relay.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "server/relay/dealing/relayed_study.h"

namespace coppice::relay {
namespace {

Status CheckRelayOptions(const RelayOptions& options) {
  if (options.studies.empty()) return InvalidArgumentError("name at least one study");
  for (const std::string& study : options.studies) {
    if (!IsValidId(study)) {
      return InvalidArgumentError(StrCat("study \"", study, "\": an id is 1 to 63 of a-z 0-9 - _"));
    }
    if (std::count(options.studies.begin(), options.studies.end(), study) > 1) {
      return InvalidArgumentError(StrCat("study ", study, " is named twice"));
    }
  }
  if (options.tickets < 1 || options.tickets > kMaxEpochTickets) {
    return InvalidArgumentError(
        StrCat("a pool must have 1 to ", kMaxEpochTickets, " tickets, not ", options.tickets));
  }
  if (options.min_batch > options.tickets) {
    return InvalidArgumentError(StrCat("a pool of ", options.tickets,
                                       " tickets never makes a batch of ", options.min_batch,
                                       ": give it more"));
  }
  if (options.deal_for < absl::Seconds(1) || options.collect_for < options.deal_for) {
    return InvalidArgumentError(
        "tickets must be dealt for a second or more, and reports collected for at least as long");
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<DiskFile>> LockFolder(const std::string& folder) {
  const std::string path = StrCat(folder, "/lock");
  StatusOr<std::unique_ptr<DiskFile>> file = RealDisk().CreateFile(path);
  if (IsAlreadyExists(file.status())) file = RealDisk().OpenFile(path);
  COPPICE_RETURN_IF_ERROR(file.status());
  COPPICE_RETURN_IF_ERROR((*file)->Lock());
  return file;
}

// Warns of studies that are no longer served but may have reports that nobody sends.
void WarnOfOthers(const RelayOptions& options, const RelaySeams& seams) {
  const std::string studies = StrCat(options.data_dir, "/studies");
  const StatusOr<std::vector<std::string>> names = RealDisk().List(studies);
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    if (absl::c_linear_search(options.studies, name)) continue;
    const auto epochs = seams.disk->List(StrCat(studies, "/", name, "/epochs"));
    if (!epochs.ok() || epochs->empty()) continue;
    seams.log({.severity = RelayEvent::Severity::kWarning,
               .study = name,
               .text = "the data directory holds reports of this study, which is not served: they "
                       "are sent only if it is (--study)"});
  }
}

}  // namespace

StatusOr<std::unique_ptr<Relay>> Relay::Open(const RelayOptions& options, const SigningKey& key,
                                             std::shared_ptr<CuratorCalls> curator,
                                             const RelaySeams& seams) {
  COPPICE_RETURN_IF_ERROR(CheckRelayOptions(options));
  std::unique_ptr<Relay> relay(new Relay(key, std::move(curator)));
  COPPICE_ASSIGN_OR_RETURN(relay->lock_, LockFolder(options.data_dir));
  for (const std::string& study : options.studies) {
    COPPICE_ASSIGN_OR_RETURN(
        relay->studies_.emplace_back(),
        RelayedStudy::Open(options, study, relay->key_, *relay->curator_, seams));
  }
  WarnOfOthers(options, seams);
  if (seams.threads) {
    for (const auto& study : relay->studies_) study->Start();
  }
  return relay;
}

Relay::Relay(const SigningKey& key, std::shared_ptr<CuratorCalls> curator)
    : key_(key), curator_(std::move(curator)) {}

Relay::~Relay() { Drain(); }

StatusOr<RelayedStudy*> Relay::Find(std::string_view name) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, name));
  for (const auto& study : studies_) {
    if (study->id() == id) return study.get();
  }
  return NotFoundError(StrCat("this relay has no study ", id));
}

StatusOr<std::shared_ptr<const std::string>> Relay::Terms(std::string_view study) const {
  COPPICE_ASSIGN_OR_RETURN(const RelayedStudy* found, Find(study));
  return found->Terms();
}

StatusOr<std::string> Relay::TakeOffer(std::string_view study, std::string_view epoch,
                                       Admit admit) {
  COPPICE_ASSIGN_OR_RETURN(RelayedStudy * found, Find(study));
  return found->TakeOffer(epoch, admit);
}

void Relay::Submit(std::string_view epoch, SealedReport report, SubmitDone done) {
  for (const auto& study : studies_) {
    if (study->Submit(epoch, report, done)) return;
  }
  ++unknown_epochs_;
  done(SubmitOutcome::kUnknown);
}

std::vector<StudyTotals> Relay::totals() const {
  std::vector<StudyTotals> totals;
  for (const auto& study : studies_) totals.push_back(study->totals());
  return totals;
}

Status Relay::Ready() const {
  for (const auto& study : studies_) COPPICE_RETURN_IF_ERROR(study->Ready());
  return OkStatus();
}

void Relay::Drain() {
  // Must come first, so that no study logs its cancelled call as a curator that is gone.
  for (const auto& study : studies_) study->BeginDrain();
  curator_->Cancel();
  for (const auto& study : studies_) study->Drain();
}

absl::Time Relay::Step() {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& study : studies_) next = std::min(next, study->Step());
  return next;
}

}  // namespace coppice::relay
