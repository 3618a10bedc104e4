// The on-device journal: which studies were answered, with which bytes, at what cost, and what
// their curators promised. Its format is in docs/protocol.md#journal.

#ifndef COPPICE_CLIENT_DEVICE_JOURNAL_H_
#define COPPICE_CLIENT_DEVICE_JOURNAL_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "client/device/privatizer.h"
#include "client/device/seen_manifests.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/terms/relay_promise.h"

namespace coppice {

// A report that was sealed for the curator: what its relay is sent besides the ticket. Neither the
// relay nor, any longer, the device can read the report.
struct SealedAnswer {
  KeyId relay{};  // dealt the ticket; the answer goes to this relay alone
  EpochId epoch{};
  std::array<uint8_t, 16> claim{};  // secret: shows the relay whose ticket it is
  std::array<uint8_t, 32> encapsulated{};
  std::string ciphertext;

  friend bool operator==(const SealedAnswer&, const SealedAnswer&) = default;
};

struct JournalEntry {
  std::string subject;
  Budget epsilon;
  PrivateReport report;
  bool delivered = false;  // accepted, a duplicate, refused for good, or given up
  // Delivered, and MakeRoom() dropped its report: `report` has only the study and the fingerprint.
  bool forgotten = false;
  // The curator that the answer is for: the key that trust in it began with, by the last manifest
  // of the study that the journal saw before. Set by the journal; empty if it saw none.
  std::optional<PublicKey> curator = {};
  // Set if the answer goes through a relay: `report` has neither payload nor public values then.
  std::optional<SealedAnswer> sealed = {};
};

// Keeps answers by subject, which names whose row it is. A device has one subject, a gateway one
// for each device that it speaks for.
//
// Guarantee  What Append() acknowledged is on disk (fdatasync) and survives a crash at any point. A
//            torn last record is cut off when the file is opened; it was never acknowledged, so
//            nothing was sent. Anything else that does not check is DataLoss: the journal is the
//            memory of what was spent, so it is never guessed at, and making room removes nothing
//            but delivered reports. One process at a time holds it (a file lock), and only the one
//            that opened it: a child after fork() is refused every use.
// Errors     Open(): Unavailable (cannot be opened, or another process holds it), DataLoss
//            (corrupt), FailedPrecondition (a newer version wrote to it). Append(): AlreadyExists
//            (subject and study have an answer), InvalidArgument (some entries are sealed and some
//            are not), OutOfRange (a sum above the largest budget), ResourceExhausted (disk full),
//            Unavailable; then nothing of the call is in the journal. All: FailedPrecondition in
//            another process than Open()'s, and for writes to a file that was changed meanwhile.
// Threads    safe to share.
class Journal : public ManifestMemory {
 public:
  static StatusOr<std::unique_ptr<Journal>> Open(const std::string& path);

  // The answer that `subject` gave to `study`, if any.
  virtual StatusOr<std::optional<JournalEntry>> Find(std::string_view subject,
                                                     std::string_view study) const = 0;
  // All entries, and those that are not delivered yet, oldest first.
  virtual StatusOr<std::vector<JournalEntry>> Entries() const = 0;
  virtual StatusOr<std::vector<JournalEntry>> Undelivered() const = 0;
  // Those of one subject, and the number of those of all subjects.
  virtual StatusOr<std::vector<JournalEntry>> Undelivered(std::string_view subject) const = 0;
  virtual StatusOr<uint64_t> CountUndelivered() const = 0;
  // The sum of the epsilons that `subject` has spent; empty if none.
  virtual StatusOr<std::optional<Budget>> Spent(std::string_view subject) const = 0;

  // Appends all entries with one sync, or none.
  virtual Status Append(absl::Span<const JournalEntry> entries) = 0;
  virtual Status MarkDelivered(std::string_view study, absl::Span<const std::string> subjects) = 0;

  // The file's size, and the most that an entry adds to it.
  virtual StatusOr<uint64_t> SizeBytes() const = 0;
  static uint64_t BytesOf(const JournalEntry& entry);
  // Rewrites the file without what later records made void and, as far as needed, without the
  // reports of the oldest delivered answers, until it has at most `max_bytes`. ResourceExhausted if
  // it still has more: then answers wait for delivery, or `max_bytes` is too small to remember what
  // was spent.
  virtual Status MakeRoom(uint64_t max_bytes) = 0;

  // The owner's choice, which outlives the process. False at first.
  virtual StatusOr<bool> OptedOut() const = 0;
  // FailedPrecondition if the owner opted out.
  Status CheckOptedIn() const;
  virtual Status SetOptedOut(bool opted_out) = 0;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_JOURNAL_H_
