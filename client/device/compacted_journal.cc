#include "client/device/compacted_journal.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "client/device/journal.h"
#include "client/device/journal_format.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

// A record of the new journal, unless `dropped`. Each answer is a record of its own.
struct Kept {
  std::variant<JournalEntry, SeenManifest, OptOutMark> record;
  bool dropped = false;
};

class Compaction {
 public:
  // Must be called in the order of the file.
  Status Add(JournalRecord record);
  // Must be called after the last record.
  StatusOr<std::string> Write(uint64_t max_bytes);

 private:
  Status AddMark(const DeliveredMark& mark);
  void AddAnswer(JournalEntry entry);
  void AddSeen(SeenManifest seen);
  // Drops manifests that decide neither a look-up nor an answer's curator.
  void DropOldManifests();
  void ForgetDelivered(uint64_t max_bytes);

  static std::string BodyOf(const Kept& kept);
  static uint64_t SizeOf(const Kept& kept) {
    return kept.dropped ? 0 : BodyOf(kept).size() + kFrameOverhead;
  }

  std::vector<Kept> kept_;
  absl::flat_hash_map<std::pair<std::string, std::string>, size_t> answers_;  // subject and study
  // Positions of the last manifests, and (needed_) of all that must stay.
  StringMap<size_t> of_study_;
  StringMap<size_t> of_curator_;
  absl::flat_hash_map<PublicKey, size_t> of_root_;
  absl::flat_hash_map<size_t, bool> needed_;
};

void Compaction::AddAnswer(JournalEntry entry) {
  if (const auto seen = of_study_.find(entry.report.study); seen != of_study_.end()) {
    needed_[seen->second] = true;
  }
  answers_[{entry.subject, entry.report.study}] = kept_.size();
  kept_.push_back({std::move(entry)});
}

void Compaction::AddSeen(SeenManifest seen) {
  of_study_[seen.manifest.study] = kept_.size();
  of_curator_[seen.curator] = kept_.size();
  of_root_[seen.root] = kept_.size();
  kept_.push_back({std::move(seen)});
}

Status Compaction::AddMark(const DeliveredMark& mark) {
  for (const std::string& subject : mark.subjects) {
    const auto answer = answers_.find({subject, mark.study});
    if (answer == answers_.end()) return DataLossError("a delivery of no answer");
    std::get<JournalEntry>(kept_[answer->second].record).delivered = true;
  }
  return OkStatus();
}

Status Compaction::Add(JournalRecord record) {
  if (auto* entries = std::get_if<std::vector<JournalEntry>>(&record)) {
    for (JournalEntry& entry : *entries) AddAnswer(std::move(entry));
    return OkStatus();
  }
  if (auto* seen = std::get_if<SeenManifest>(&record)) {
    AddSeen(*std::move(seen));
    return OkStatus();
  }
  if (const auto* mark = std::get_if<OptOutMark>(&record)) {
    for (Kept& kept : kept_) {
      if (std::holds_alternative<OptOutMark>(kept.record)) kept.dropped = true;
    }
    kept_.push_back({*mark});
    return OkStatus();
  }
  return AddMark(std::get<DeliveredMark>(record));
}

void Compaction::DropOldManifests() {
  for (const auto& [study, at] : of_study_) needed_[at] = true;
  for (const auto& [curator, at] : of_curator_) needed_[at] = true;
  for (const auto& [root, at] : of_root_) needed_[at] = true;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (std::holds_alternative<SeenManifest>(kept_[i].record) && !needed_.contains(i)) {
      kept_[i].dropped = true;
    }
  }
}

void Compaction::ForgetDelivered(uint64_t max_bytes) {
  uint64_t bytes = JournalHeader().size();
  for (const Kept& kept : kept_) bytes += SizeOf(kept);
  for (Kept& kept : kept_) {
    if (bytes <= max_bytes) return;
    auto* entry = std::get_if<JournalEntry>(&kept.record);
    if (entry == nullptr || !entry->delivered || entry->forgotten) continue;
    bytes -= SizeOf(kept);
    entry->forgotten = true;
    bytes += SizeOf(kept);
  }
}

std::string Compaction::BodyOf(const Kept& kept) {
  if (const auto* entry = std::get_if<JournalEntry>(&kept.record)) {
    return entry->forgotten ? EncodeForgotten({*entry}) : EncodeAnswers({*entry});
  }
  if (const auto* seen = std::get_if<SeenManifest>(&kept.record)) return EncodeSeen(*seen);
  return EncodeOptOut(std::get<OptOutMark>(kept.record));
}

StatusOr<std::string> Compaction::Write(uint64_t max_bytes) {
  DropOldManifests();
  ForgetDelivered(max_bytes);
  std::string bytes = JournalHeader();
  FrameDigest last = FirstFrameDigest();
  for (const Kept& kept : kept_) {
    if (kept.dropped) continue;
    COPPICE_ASSIGN_OR_RETURN(const Frame frame, MakeFrame(last, BodyOf(kept)));
    StrAppend(&bytes, frame.bytes);
    last = frame.digest;
  }
  return bytes;
}

}  // namespace

StatusOr<std::string> CompactedJournal(std::string_view bytes, uint64_t max_bytes) {
  COPPICE_RETURN_IF_ERROR(CheckHeader(bytes));
  bytes.remove_prefix(JournalHeader().size());
  Compaction compaction;
  FrameDigest last = FirstFrameDigest();
  while (!bytes.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const ParsedFrame frame, ParseFrame(last, bytes));
    if (frame.torn) return DataLossError("the journal is torn");
    COPPICE_ASSIGN_OR_RETURN(JournalRecord record, DecodeBody(frame.body));
    COPPICE_RETURN_IF_ERROR(compaction.Add(std::move(record)));
    last = frame.digest;
    bytes.remove_prefix(frame.size);
  }
  return compaction.Write(max_bytes);
}

}  // namespace coppice
