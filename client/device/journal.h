// The on-device journal: which studies were answered, with which bytes, at what cost, and what
// their curators promised. It does no input or output: it is opened from bytes, and says what to
// write. JournalStore keeps it in a file. Its format is in docs/protocol.md#journal.

#ifndef COPPICE_CLIENT_DEVICE_JOURNAL_H_
#define COPPICE_CLIENT_DEVICE_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "client/device/journal_format.h"
#include "client/device/seen_manifests.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"

namespace coppice {

// What the storage must do for a change to take effect.
struct JournalWrite {
  enum class Kind : uint8_t {
    kAppend,   // after the bytes that are stored
    kReplace,  // in the place of all bytes that are stored, whole or not at all
  };
  Kind kind = Kind::kAppend;
  std::string bytes;
};

// Keeps answers by subject, which names whose row it is. A device has one subject, a gateway one
// for each device that it speaks for.
//
// A change stages one write and is seen by nobody before Committed(). So what the journal says is
// always on the disk, and after a write that failed the journal is as before.
//
// Guarantee  The bytes are the memory of what was spent: a torn last record, which was never
//            acknowledged, is left out, and anything else that does not check is DataLoss, never
//            guessed at. Forget() leaves nothing of an answer that is final by which its ticket
//            could be found: journals that differ in tickets alone are then the same bytes.
// Errors     Open(): DataLoss (corrupt, or cut off within the first record), FailedPrecondition (a
//            newer version wrote it). Changes: FailedPrecondition while a write is pending;
//            InvalidArgument if the record would be too long. After an error nothing is staged.
// Threads    not safe to share.
class Journal {
 public:
  // The bytes of a journal that remembers nothing: what to store, whole or not at all, where there
  // is no journal yet. Every journal begins with them or with its owner's choice, so that one that
  // is shorter has lost something.
  static std::string NewBytes();
  // Bytes after the first SizeBytes() of `bytes` are a torn record: cut them off the storage.
  static StatusOr<std::unique_ptr<Journal>> Open(std::string_view bytes);

  // ---- What was committed

  // The answer that `subject` gave to `study`, if any.
  std::optional<JournalEntry> Find(std::string_view subject, std::string_view study) const;
  // All answers, and those that wait for delivery, oldest first.
  const std::vector<JournalEntry>& Entries() const { return state_.entries; }
  std::vector<JournalEntry> Undelivered() const;
  std::vector<JournalEntry> Undelivered(std::string_view subject) const;
  uint64_t CountUndelivered() const { return state_.waiting.size(); }
  // The sum of the epsilons that `subject` has spent; empty if none.
  std::optional<Budget> Spent(std::string_view subject) const;

  const SeenManifests& manifests() const { return state_.manifests; }

  bool OptedOut() const { return state_.opted_out; }
  // FailedPrecondition if the owner opted out.
  Status CheckOptedIn() const;

  // How many bytes are stored, and the most that an entry adds to them.
  uint64_t SizeBytes() const { return state_.size; }
  static uint64_t BytesOf(const JournalEntry& entry);

  // ---- Changes; one that changes nothing stages no write

  // AlreadyExists: a subject and study have an answer. InvalidArgument: some entries are sealed and
  // some are not. OutOfRange: a sum above the largest budget.
  Status Append(absl::Span<const JournalEntry> entries);
  // Makes the answers final. NotFound: a subject did not answer the study.
  Status MarkDelivered(std::string_view study, absl::Span<const std::string> subjects);
  Status Remember(const SeenManifest& seen);
  // The owner's choice, which outlives the process. False at first.
  Status SetOptedOut(bool opted_out);

  // Writes anew what is stored, without what is left in it of answers that are final. Those whose
  // deal ended before `now` become final: nobody takes them any more. Call it at the end of each
  // visit, and when the journal is opened. `now` is in seconds since 1970.
  Status Forget(int64_t now);
  // Writes anew what is stored, without what later records made void, if it has more than
  // `max_bytes`. ResourceExhausted if it still had more: then answers wait for delivery, or
  // `max_bytes` is too small to remember what was spent.
  Status MakeRoom(uint64_t max_bytes);

  // ---- Writing

  // The write that the last change waits for, until one of the two below; null if there is none.
  const JournalWrite* pending() const;
  // The write is on the disk: the change takes effect.
  void Committed();
  // It failed and left the storage as it was: the change never was.
  void Failed();

  ~Journal();

 private:
  // Compares a subject and a study with another pair, of strings or of views.
  struct PairLess {
    using is_transparent = void;
    using Views = std::pair<std::string_view, std::string_view>;
    bool operator()(const Views& one, const Views& other) const { return one < other; }
  };
  // All that the stored bytes say.
  struct State {
    std::vector<JournalEntry> entries;  // in order of arrival
    std::map<std::pair<std::string, std::string>, size_t, PairLess> positions;  // in `entries`
    std::set<size_t> waiting;                                                   // the same
    std::map<std::string, Budget, std::less<>> spent;                           // by subject
    SeenManifests manifests;
    std::vector<size_t> manifest_places;  // how many entries came before each manifest
    bool opted_out = false;
    // Whether records that are stored hold more of an answer than is left of a final one.
    bool holds_final_reports = false;
    uint64_t size = 0;
    FrameDigest last{};  // of the last record
  };
  struct Staged;

  Journal();

  const JournalEntry* Lookup(std::string_view subject, std::string_view study) const;
  Status CheckIdle() const;
  Status CheckUnanswered(absl::Span<const JournalEntry> entries) const;
  Status CheckSums(absl::Span<const JournalEntry> entries) const;
  Status CheckAnswered(const DeliveredMark& mark) const;
  // Checks a record that was stored, and applies it.
  Status Replay(JournalRecord record);
  // Must be called with what was checked.
  void Apply(JournalRecord record);
  void ApplyAnswers(std::vector<JournalEntry> entries);
  void ApplyDelivered(const DeliveredMark& mark);

  Status StageRecord(JournalRecord record);
  Status StageReplacement(std::string bytes);
  // The bytes of a journal that says the same, where the answers at these places are final besides.
  StatusOr<std::string> Rewritten(const std::set<size_t>& ended) const;
  std::set<size_t> NeededManifests() const;

  State state_;
  std::unique_ptr<Staged> staged_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_JOURNAL_H_
