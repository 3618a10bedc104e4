#include "client/device/journal.h"

#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "client/device/compacted_journal.h"
#include "client/device/journal_file.h"
#include "client/device/journal_format.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

// A subject and a study.
using Key = std::pair<std::string, std::string>;
Key KeyOf(std::string_view subject, std::string_view study) {
  return {std::string(subject), std::string(study)};
}

// What the journal holds, in memory: entries in order of arrival, and two ways to find them.
class Index {
 public:
  const std::vector<JournalEntry>& entries() const { return entries_; }
  uint64_t undelivered() const { return undelivered_.size(); }

  // The entries that are not delivered yet and that `wanted` accepts, oldest first.
  std::vector<JournalEntry> Undelivered(absl::FunctionRef<bool(const JournalEntry&)> wanted) const {
    std::vector<JournalEntry> found;
    for (const size_t position : undelivered_) {
      if (wanted(entries_[position])) found.push_back(entries_[position]);
    }
    return found;
  }

  const JournalEntry* Find(std::string_view subject, std::string_view study) const {
    const auto found = positions_.find(KeyOf(subject, study));
    return found == positions_.end() ? nullptr : &entries_[found->second];
  }

  std::optional<Budget> Spent(std::string_view subject) const {
    const auto found = spent_.find(subject);
    return found == spent_.end() ? std::nullopt : std::make_optional(found->second);
  }

  // AlreadyExists, or OutOfRange if a subject's sum is above the largest budget. Changes nothing.
  Status CheckNew(absl::Span<const JournalEntry> entries) const;
  // NotFound if a subject did not answer the study. Changes nothing.
  Status CheckAnswered(const DeliveredMark& mark) const;

  // Must be called after the checks above.
  void Add(absl::Span<const JournalEntry> entries);
  void Apply(const DeliveredMark& mark);

 private:
  std::vector<JournalEntry> entries_;
  absl::btree_set<size_t> undelivered_;  // by their positions
  absl::flat_hash_map<Key, size_t> positions_;
  StringMap<Budget> spent_;
};

Status Index::CheckNew(absl::Span<const JournalEntry> entries) const {
  absl::flat_hash_set<Key> seen;
  for (const JournalEntry& entry : entries) {
    const std::string& study = entry.report.study;
    const bool repeated = !seen.insert(KeyOf(entry.subject, study)).second;
    if (repeated || Find(entry.subject, study) != nullptr) {
      return AlreadyExistsError(
          StrCat("a subject has answered study ", study, " already; send that answer again"));
    }
    if (const std::optional<Budget> spent = Spent(entry.subject)) {
      COPPICE_RETURN_IF_ERROR(spent->Plus(entry.epsilon).status());
    }
  }
  return OkStatus();
}

Status Index::CheckAnswered(const DeliveredMark& mark) const {
  for (const std::string& subject : mark.subjects) {
    if (Find(subject, mark.study) == nullptr) {
      return NotFoundError(
          StrCat("a subject has no answer to study ", mark.study, " in the journal"));
    }
  }
  return OkStatus();
}

void Index::Add(absl::Span<const JournalEntry> entries) {
  const Budget largest = *Budget::FromNanos(Budget::kMaxNanos);
  for (const JournalEntry& entry : entries) {
    positions_.emplace(KeyOf(entry.subject, entry.report.study), entries_.size());
    if (!entry.delivered) undelivered_.insert(entries_.size());
    entries_.push_back(entry);
    const auto [spent, first] = spent_.try_emplace(entry.subject, entry.epsilon);
    // One batch may hold a subject's answers to several studies; a sum above the largest budget
    // counts as the largest.
    if (!first) spent->second = spent->second.Plus(entry.epsilon).value_or(largest);
  }
}

void Index::Apply(const DeliveredMark& mark) {
  for (const std::string& subject : mark.subjects) {
    const size_t position = positions_.at(KeyOf(subject, mark.study));
    entries_[position].delivered = true;
    undelivered_.erase(position);
  }
}

// A record holds sealed answers or unsealed ones, never both.
Status CheckOneWay(absl::Span<const JournalEntry> entries) {
  for (const JournalEntry& entry : entries) {
    if (entry.sealed.has_value() == entries[0].sealed.has_value()) continue;
    return InvalidArgumentError(
        "some of the answers are sealed and some are not; append them in two calls");
  }
  return OkStatus();
}

class FileJournal final : public Journal {
 public:
  FileJournal(ProcessMark mark, JournalFile file)
      : mark_(std::move(mark)), file_(std::move(file)) {}

  // Reads what the file holds, cuts off a torn end, and writes the header of a new file.
  Status Load();

  StatusOr<std::optional<JournalEntry>> Find(std::string_view subject,
                                             std::string_view study) const override {
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    const JournalEntry* entry = index_.Find(subject, study);
    return entry == nullptr ? std::nullopt : std::make_optional(*entry);
  }

  StatusOr<std::vector<JournalEntry>> Entries() const override {
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    return index_.entries();
  }

  StatusOr<std::vector<JournalEntry>> Undelivered() const override {
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    return index_.Undelivered([](const JournalEntry&) { return true; });
  }

  StatusOr<std::vector<JournalEntry>> Undelivered(std::string_view subject) const override {
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    return index_.Undelivered([&](const JournalEntry& entry) { return entry.subject == subject; });
  }

  StatusOr<uint64_t> CountUndelivered() const override {
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    return index_.undelivered();
  }

  StatusOr<std::optional<Budget>> Spent(std::string_view subject) const override {
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    return index_.Spent(subject);
  }

  std::optional<SeenManifest> OfStudy(std::string_view study) const override {
    if (!mark_.IsMine()) return std::nullopt;  // Remember() makes Admit() fail then
    absl::MutexLock lock(&mutex_);
    return seen_.OfStudy(study);
  }

  std::optional<PublicKey> RootOf(std::string_view curator) const override {
    if (!mark_.IsMine()) return std::nullopt;  // Remember() makes Admit() fail then
    absl::MutexLock lock(&mutex_);
    return seen_.RootOf(curator);
  }

  std::optional<PublicKey> LastKeyOf(const PublicKey& root) const override {
    if (!mark_.IsMine()) return std::nullopt;  // Remember() makes Admit() fail then
    absl::MutexLock lock(&mutex_);
    return seen_.LastKeyOf(root);
  }

  Status Remember(const SeenManifest& seen) override {
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    COPPICE_RETURN_IF_ERROR(WriteFrame(EncodeSeen(seen)));
    seen_.Add(seen);
    return OkStatus();
  }

  Status Append(absl::Span<const JournalEntry> entries) override {
    if (entries.empty()) return OkStatus();
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    COPPICE_RETURN_IF_ERROR(CheckOneWay(entries));
    absl::MutexLock lock(&mutex_);
    COPPICE_RETURN_IF_ERROR(index_.CheckNew(entries));
    COPPICE_RETURN_IF_ERROR(WriteFrame(EncodeAnswers(entries)));
    AddAnswers(entries);
    return OkStatus();
  }

  StatusOr<uint64_t> SizeBytes() const override {
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    return file_.size();
  }

  Status MakeRoom(uint64_t max_bytes) override;

  StatusOr<bool> OptedOut() const override {
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    return opted_out_;
  }

  Status SetOptedOut(bool opted_out) override {
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    if (opted_out == opted_out_) return OkStatus();
    COPPICE_RETURN_IF_ERROR(WriteFrame(EncodeOptOut({opted_out})));
    opted_out_ = opted_out;
    return OkStatus();
  }

  Status MarkDelivered(std::string_view study, absl::Span<const std::string> subjects) override {
    if (subjects.empty()) return OkStatus();
    const DeliveredMark mark{std::string(study), {subjects.begin(), subjects.end()}};
    COPPICE_RETURN_IF_ERROR(CheckOwner());
    absl::MutexLock lock(&mutex_);
    COPPICE_RETURN_IF_ERROR(index_.CheckAnswered(mark));
    COPPICE_RETURN_IF_ERROR(WriteFrame(EncodeDelivered(mark)));
    index_.Apply(mark);
    return OkStatus();
  }

 private:
  Status StartFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Adds them with their curators, which follow from the frames before.
  void AddAnswers(absl::Span<const JournalEntry> entries) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status Replay(std::string_view body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Replays all frames of `bytes`; returns how many bytes they take, without a torn one.
  StatusOr<size_t> ReplayAll(std::string_view bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Status WriteFrame(std::string_view body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Called before the mutex is touched, as another thread may have held it at a fork().
  Status CheckOwner() const;

  const ProcessMark mark_;
  mutable absl::Mutex mutex_;
  JournalFile file_ ABSL_GUARDED_BY(mutex_);
  FrameDigest last_ ABSL_GUARDED_BY(mutex_) = FirstFrameDigest();
  Index index_ ABSL_GUARDED_BY(mutex_);
  SeenManifests seen_ ABSL_GUARDED_BY(mutex_);
  bool opted_out_ ABSL_GUARDED_BY(mutex_) = false;
};

Status FileJournal::CheckOwner() const {
  if (mark_.IsMine()) return OkStatus();
  return FailedPreconditionError(
      "the journal was opened before a fork(), and this is the child: open the journal in the "
      "process that answers");
}

Status FileJournal::StartFile() {
  COPPICE_RETURN_IF_ERROR(file_.Truncate(0));
  COPPICE_RETURN_IF_ERROR(file_.Append(JournalHeader()));
  return file_.SyncDirectory();
}

void FileJournal::AddAnswers(absl::Span<const JournalEntry> entries) {
  std::vector<JournalEntry> added(entries.begin(), entries.end());
  StringMap<std::optional<PublicKey>> curators;
  for (JournalEntry& entry : added) {
    const auto [curator, first] = curators.try_emplace(entry.report.study);
    if (first) {
      if (const std::optional<SeenManifest> seen = seen_.OfStudy(entry.report.study)) {
        curator->second = seen->root;
      }
    }
    entry.curator = curator->second;
  }
  index_.Add(added);
}

Status FileJournal::Replay(std::string_view body) {
  COPPICE_ASSIGN_OR_RETURN(const JournalRecord record, DecodeBody(body));
  if (const auto* entries = std::get_if<std::vector<JournalEntry>>(&record)) {
    COPPICE_RETURN_IF_ERROR(index_.CheckNew(*entries));
    AddAnswers(*entries);
    return OkStatus();
  }
  if (const auto* seen = std::get_if<SeenManifest>(&record)) {
    seen_.Add(*seen);
    return OkStatus();
  }
  if (const auto* owner = std::get_if<OptOutMark>(&record)) {
    opted_out_ = owner->opted_out;
    return OkStatus();
  }
  const DeliveredMark& mark = std::get<DeliveredMark>(record);
  COPPICE_RETURN_IF_ERROR(index_.CheckAnswered(mark));
  index_.Apply(mark);
  return OkStatus();
}

Status FileJournal::Load() {
  absl::MutexLock lock(&mutex_);
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, file_.ReadAll());
  const std::string header = JournalHeader();
  if (bytes.size() < header.size() && header.compare(0, bytes.size(), bytes) == 0) {
    return StartFile();  // New, or torn while it was made: nothing was acknowledged.
  }
  COPPICE_RETURN_IF_ERROR(CheckHeader(bytes));
  // The process that made it may have stopped before its name was durable.
  if (bytes.size() == header.size()) COPPICE_RETURN_IF_ERROR(file_.SyncDirectory());
  COPPICE_ASSIGN_OR_RETURN(const size_t whole, ReplayAll(bytes));
  return whole < bytes.size() ? file_.Truncate(whole) : OkStatus();
}

StatusOr<size_t> FileJournal::ReplayAll(std::string_view bytes) {
  size_t at = JournalHeader().size();
  while (at < bytes.size()) {
    COPPICE_ASSIGN_OR_RETURN(const ParsedFrame frame, ParseFrame(last_, bytes.substr(at)));
    if (frame.torn) return at;
    if (const Status replayed = Replay(frame.body); !replayed.ok()) {
      if (IsFailedPrecondition(replayed)) return replayed;  // a newer version wrote it
      return DataLossError(StrCat("the journal is corrupt: ", replayed.message()));
    }
    last_ = frame.digest;
    at += frame.size;
  }
  return at;
}

Status FileJournal::MakeRoom(uint64_t max_bytes) {
  COPPICE_RETURN_IF_ERROR(CheckOwner());
  absl::MutexLock lock(&mutex_);
  if (file_.size() > max_bytes) {
    COPPICE_ASSIGN_OR_RETURN(const std::string bytes, file_.ReadAll());
    COPPICE_ASSIGN_OR_RETURN(const std::string compacted, CompactedJournal(bytes, max_bytes));
    if (compacted.size() < bytes.size()) {
      COPPICE_RETURN_IF_ERROR(file_.Replace(compacted));
      last_ = FirstFrameDigest();
      index_ = Index();
      seen_ = SeenManifests();
      COPPICE_RETURN_IF_ERROR(ReplayAll(compacted).status());
    }
  }
  if (file_.size() <= max_bytes) return OkStatus();
  return ResourceExhaustedError(
      StrCat("the journal has ", file_.size(), " bytes where ", max_bytes,
             " are allowed, and all of them are needed: deliver the answers that wait, or "
             "allow more"));
}

Status FileJournal::WriteFrame(std::string_view body) {
  COPPICE_ASSIGN_OR_RETURN(const Frame frame, MakeFrame(last_, body));
  COPPICE_RETURN_IF_ERROR(file_.Append(frame.bytes));
  last_ = frame.digest;
  return OkStatus();
}

}  // namespace

uint64_t Journal::BytesOf(const JournalEntry& entry) {
  return EncodeAnswers({entry}).size() + kFrameOverhead;
}

Status Journal::CheckOptedIn() const {
  COPPICE_ASSIGN_OR_RETURN(const bool opted_out, OptedOut());
  if (!opted_out) return OkStatus();
  return FailedPreconditionError(
      "this device's owner has opted out, says the journal; nothing is fetched, answered or "
      "sent");
}

StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(JournalFile file, JournalFile::Open(path));
  COPPICE_ASSIGN_OR_RETURN(ProcessMark mark, ProcessMark::Make());
  auto journal = std::make_unique<FileJournal>(std::move(mark), std::move(file));
  if (const Status loaded = journal->Load(); !loaded.ok()) {
    return Status(loaded.code(), StrCat(path, ": ", loaded.message()));
  }
  return journal;
}

}  // namespace coppice
