#include "server/curator/spool/batch_receiver.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/encrypt/report_seal.h"
#include "common/terms/merkle.h"
#include "common/wire/calls.h"
#include "server/curator/keys/sealing_keys.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/spool/sealed_reports.h"
#include "server/curator/study/study_sealing.h"

namespace coppice::curator {
namespace {

Status NotTaken(const Study& study, std::string_view why) {
  return FailedPreconditionError(StrCat("study ", study.id(), " does not take this batch: ", why));
}

// Checks that the study's relay signed the header.
Status CheckSignature(const RelaySettings& relay, const BatchPart& part, Signature& signature) {
  if (part.signature.size() != signature.size()) {
    return InvalidArgumentError(
        StrCat("signature: must have ", signature.size(), " bytes, has ", part.signature.size()));
  }
  std::copy(part.signature.begin(), part.signature.end(), signature.begin());
  if (IsSignedBy(relay.relay_key, kBatchDomain, part.header, signature)) return OkStatus();
  return PermissionDeniedError(
      "signature: is not the one that the study's relay makes of this header");
}

Status CheckHeader(const Study& study, const RelaySettings& relay, const BatchHeader& header) {
  if (header.study != study.id()) {
    return InvalidArgumentError("header: is of another study than the call");
  }
  if (header.relay_key != KeyIdOf(relay.relay_key)) {
    return NotTaken(study, "its header names another relay's key");
  }
  if (header.fingerprint != study.definition().fingerprint) {
    return NotTaken(study, "it was made for other terms");
  }
  if (header.min_batch >= relay.min_batch) return OkStatus();
  return NotTaken(study, StrCat("devices were promised batches of ", header.min_batch,
                                " reports, and the study asks for ", relay.min_batch));
}

StatusOr<RelayBatch> ReadHeader(const Study& study, const BatchPart& part) {
  const std::optional<RelaySettings>& relay = study.definition().settings.relay;
  if (!relay.has_value()) {
    return NotTaken(study, "it has no relay, and takes reports from devices themselves");
  }
  COPPICE_ASSIGN_OR_RETURN(BatchHeader header, ReadBatchHeader(part.header));
  RelayBatch batch{.id = Sha256({part.header}), .header = std::move(header)};
  COPPICE_RETURN_IF_ERROR(CheckSignature(*relay, part, batch.signature));
  COPPICE_RETURN_IF_ERROR(CheckHeader(study, *relay, batch.header));
  return batch;
}

Status AfterSealing(const Study& study) {
  return NotTaken(study, "it is sealed, and no batch begins or goes on after that");
}

// Whether a batch without any stored part may begin.
Status CheckBegins(Study& study, const BatchHeader& header) {
  if (study.life().Admission() != ReportOutcome::kAccepted) return AfterSealing(study);
  const std::shared_ptr<const SealingKeys> keys = study.keys().Get();
  if (keys == nullptr || keys->Find(header.sealing_key) == nullptr) {
    return NotTaken(study, "it is sealed for a key that the study does not have");
  }
  if (study.batches().InState(BatchState::kReceiving).size() >= StudyBatches::kMaxReceiving) {
    return ResourceExhaustedError(
        StrCat(StudyBatches::kMaxReceiving, " batches of study ", study.id(),
               " have begun and not come as a whole: finish one of them first"));
  }
  if (study.batches().size() < StudyBatches::kMaxBatches) return OkStatus();
  return NotTaken(study, StrCat("it has ", StudyBatches::kMaxBatches,
                                " batches, the most that one may have: make a new study"));
}

Status Busy(const Study& study, std::string_view with) {
  return AbortedError(StrCat("study ", study.id(), ": ", with, "; send this part again"));
}

BatchProgress ProgressOf(const RelayBatch& batch) {
  return {.state = batch.state, .received = batch.received};
}

// Handles one study's batches while a part is received. Receive() and Finish() are called under
// StudyBatches::receiving().
class Receiver {
 public:
  Receiver(storage::Store& store, SpoolRoom& room, Study& study)
      : store_(store),
        room_(room),
        study_(study),
        ciphertext_bytes_(SealingOf(study.definition()).ciphertext_bytes()) {}

  // Returns the batch, with this part added if it is the next one.
  StatusOr<RelayBatch> Receive(RelayBatch batch, const BatchPart& part, int64_t now) {
    if (study_.life().Admission() == ReportOutcome::kUnknownStudy) return NoStudy();
    std::optional<RelayBatch> known = study_.batches().OfEpoch(batch.header.epoch);
    if (known.has_value() && known->id != batch.id) {
      return NotTaken(study_,
                      "its deal has another batch already, and the relay signed both: the relay is "
                      "at fault");
    }
    std::optional<SpoolRoom::Place> place;  // held until the batch is stored
    if (!known.has_value()) {
      COPPICE_RETURN_IF_ERROR(CheckBegins(study_, batch.header));
      COPPICE_ASSIGN_OR_RETURN(SpoolRoom::Place taken, room_.Take(study_, batch.header));
      place.emplace(std::move(taken));
      batch.created_unix_seconds = std::max<int64_t>(0, now);
      known = std::move(batch);
      known->last_ticket = "";
    }
    if (known->is_dropped()) return AfterSealing(study_);
    if (known->state != BatchState::kReceiving) return *known;
    if (!part.tickets.empty() && part.first_report == known->received) {
      COPPICE_RETURN_IF_ERROR(StorePart(*known, part));
    }
    return *std::move(known);
  }

  // Whether the disk holds what the relay signed. The root comes from disk and not from the
  // received parts, because the stored reports are what is judged. Slow, so no lock is held.
  StatusOr<bool> IsWhole(const RelayBatch& batch) const {
    MerkleRootStream root;
    uint64_t found = 0;
    const auto visit = [&](uint64_t, const SealedReports& reports) {
      for (size_t i = 0; i < reports.size(); ++i) {
        root.Add({reports.ticket(i), reports.encapsulation(i), reports.ciphertext(i)});
      }
      found += reports.size();
      return OkStatus();
    };
    COPPICE_RETURN_IF_ERROR(Visit(batch, visit));
    return found == batch.received && root.Root() == batch.header.root;
  }

  StatusOr<RelayBatch> Finish(const RelayBatch& batch, bool is_whole) {
    if (study_.life().Admission() == ReportOutcome::kUnknownStudy) return NoStudy();
    std::optional<RelayBatch> next = study_.batches().OfEpoch(batch.header.epoch);
    // Meanwhile the study may have been sealed, or another call may have finished the batch.
    if (!next.has_value() || next->is_dropped()) return AfterSealing(study_);
    if (next->state != BatchState::kReceiving) return *std::move(next);
    next->state = is_whole ? BatchState::kStored : BatchState::kBroken;
    storage::StoreBatch writes;
    if (!is_whole) writes.DeletePrefix(BatchSpoolPrefix(study_.id(), batch.id));
    COPPICE_RETURN_IF_ERROR(Store(std::move(writes), *next));
    return *std::move(next);
  }

 private:
  static Status CheckSize(const RelayBatch& batch, const SealedReports& reports) {
    const uint64_t room = batch.header.reports - batch.received;
    const uint64_t most = std::min(kMaxReportsPerPart, room);
    if (reports.size() > most) {
      return InvalidArgumentError(StrCat("tickets: must be of at most ", most,
                                         " reports here, are of ", reports.size(),
                                         "; a part has at most ", kMaxReportsPerPart));
    }
    const uint64_t least = LeastReportsOfPart(batch.header.reports, reports.bytes_each());
    if (reports.size() >= std::min(least, room)) return OkStatus();
    return InvalidArgumentError(
        StrCat("tickets: must be of at least ", least, " reports, are of ", reports.size(),
               "; only the last part of a batch may be smaller: send ", most, " at once"));
  }

  Status NoStudy() const { return NotFoundError(StrCat("there is no study ", study_.id())); }

  Status StorePart(RelayBatch& batch, const BatchPart& part) {
    const SealedReports reports{.tickets = part.tickets,
                                .encapsulated = part.encapsulated,
                                .ciphertexts = part.ciphertexts,
                                .ciphertext_bytes = ciphertext_bytes_};
    COPPICE_RETURN_IF_ERROR(CheckSize(batch, reports));
    COPPICE_RETURN_IF_ERROR(FindLastTicket(batch));
    COPPICE_RETURN_IF_ERROR(CheckSealedReports(reports, *batch.last_ticket));
    RelayBatch next = batch;
    next.received += reports.size();
    next.last_ticket = std::string(reports.ticket(reports.size() - 1));
    storage::StoreBatch writes;
    writes.Put(SpoolKey(study_.id(), batch.id, batch.received), EncodeSpool(reports));
    COPPICE_RETURN_IF_ERROR(Store(std::move(writes), next));
    batch = std::move(next);
    return OkStatus();
  }

  Status FindLastTicket(RelayBatch& batch) {
    if (batch.last_ticket.has_value()) return OkStatus();
    std::string last;
    const auto visit = [&](uint64_t, const SealedReports& reports) {
      last = std::string(reports.ticket(reports.size() - 1));
      return OkStatus();
    };
    COPPICE_RETURN_IF_ERROR(Visit(batch, visit));
    batch.last_ticket = std::move(last);
    study_.batches().Set(batch);  // so that rejected parts do not read it all again
    return OkStatus();
  }

  Status Visit(
      const RelayBatch& batch,
      absl::FunctionRef<Status(uint64_t first_report, const SealedReports& reports)> visit) const {
    return OfStore(VisitSpool(store_, study_.id(), batch.id, ciphertext_bytes_, visit));
  }

  Status Store(storage::StoreBatch writes, const RelayBatch& next) {
    writes.Put(BatchKey(study_.id(), next.id), EncodeBatch(next));
    COPPICE_RETURN_IF_ERROR(OfStore(store_.Apply(writes)));
    study_.batches().Set(next);
    return OkStatus();
  }

  storage::Store& store_;
  SpoolRoom& room_;
  Study& study_;
  const size_t ciphertext_bytes_;
};

StatusOr<RelayBatch> Check(Receiver& receiver, StudyBatches& batches, const RelayBatch& batch) {
  COPPICE_ASSIGN_OR_RETURN(const bool is_whole, receiver.IsWhole(batch));
  const MutexLock lock(batches.receiving());
  return receiver.Finish(batch, is_whole);
}

}  // namespace

Status OfStore(const Status& status) {
  if (status.ok() || IsUnavailable(status) || IsResourceExhausted(status) || IsNotFound(status)) {
    return status;
  }
  return UnavailableError(
      StrCat("the curator's store failed: send the same part again later; ", status.message()));
}

uint64_t LeastReportsOfPart(uint64_t reports_of_batch, uint64_t bytes_each) {
  const uint64_t by_bytes = (kMinPartBytes + bytes_each - 1) / bytes_each;
  // A study's minimal batch holds at least four such parts; only tests have smaller batches.
  return std::min({kMinReportsPerPart, by_bytes, reports_of_batch / 4});
}

StatusOr<BatchProgress> ReceivePart(storage::Store& store, SpoolRoom& room, Study& study,
                                    const BatchPart& part, int64_t now_unix_seconds) {
  COPPICE_ASSIGN_OR_RETURN(RelayBatch batch, ReadHeader(study, part));
  Receiver receiver(store, room, study);
  StudyBatches& batches = study.batches();
  if (!batches.receiving().TryLock()) {
    return Busy(study, "another part of a batch is being taken in");
  }
  const StatusOr<RelayBatch> received = receiver.Receive(std::move(batch), part, now_unix_seconds);
  batches.receiving().Unlock();
  COPPICE_RETURN_IF_ERROR(received.status());
  const bool has_come =
      received->state == BatchState::kReceiving && received->received == received->header.reports;
  if (!has_come) return ProgressOf(*received);
  if (!batches.BeginCheck(received->header.epoch)) {
    return Busy(study, "all of this batch has come, and its root is being found");
  }
  const StatusOr<RelayBatch> finished = Check(receiver, batches, *received);
  batches.EndCheck(received->header.epoch);
  COPPICE_RETURN_IF_ERROR(finished.status());
  return ProgressOf(*finished);
}

void DropReceiving(const Study& study, storage::StoreBatch& batch) {
  for (const RelayBatch& dropped : study.batches().InState(BatchState::kReceiving)) {
    batch.Put(BatchKey(study.id(), dropped.id), EncodeBatch(Dropped(dropped)));
    batch.DeletePrefix(BatchSpoolPrefix(study.id(), dropped.id));
  }
}

void DropStored(const Study& study, absl::Span<const RelayBatch> stored,
                storage::StoreBatch& batch) {
  for (const RelayBatch& dropped : stored) batch.Delete(BatchKey(study.id(), dropped.id));
}

}  // namespace coppice::curator
