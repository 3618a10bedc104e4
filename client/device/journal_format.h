// The bytes of a journal: a header, then frames, each of which holds one record.
//
// The header is "coppice journal\n", then the version as 4 bytes. All integers are little-endian.
//
// A frame is the length of the body (4 bytes), the head check (4), the body, and the body check
// (8). The head check is the start of SHA-256(previous || length), the body check that of
// SHA-256(previous || length || body), whose 32 bytes are `previous` for the next frame; for the
// first it is SHA-256(header). So a frame that was changed, removed, repeated or moved does not
// check, and a length that was changed is not taken for a torn frame. A frame is torn if the bytes
// end before it does: writing stopped there.
//
// A body is its kind (1 byte), then
//
//   1  answers that wait   a count, and of each answer: subject, epsilon in nano-epsilons (8),
//                          study, fingerprint (32), ticket (32), payload, public values
//   2  delivered answers   the study, a count, the subjects
//   3  a seen manifest     the curator's address, the manifest as it was signed, the key that
//                          signed it (32) and the key that trust began with (32)
//   4  final answers       a count, and of each answer: subject, epsilon (8), study,
//                          fingerprint (32). Nothing else is left of them
//   5  the owner's choice  1 if the owner opted out, or 0 (1 byte)
//   6  encrypted answers   that wait for a relay: a count, and of each answer: subject, epsilon
//                          (8), study, fingerprint (32), ticket (32), the relay's key id (16),
//                          epoch (16), the end of the deal in seconds since 1970 (8), claim (16),
//                          ephemeral key (32), ciphertext
//
// Counts are 4 bytes; texts are 4 bytes of length and their bytes.

#ifndef COPPICE_CLIENT_DEVICE_JOURNAL_FORMAT_H_
#define COPPICE_CLIENT_DEVICE_JOURNAL_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "client/device/privatizer.h"
#include "client/device/seen_manifests.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/terms/relay_promise.h"
#include "common/terms/sha256.h"

namespace coppice {

// A report that is encrypted for the curator: what its relay is sent besides the ticket. Neither
// the relay nor, any longer, the device can read the report.
struct SealedAnswer {
  KeyId relay{};  // dealt the ticket; the answer goes to this relay alone
  EpochId epoch{};
  int64_t closes_unix_seconds = 0;  // the relay signed that it takes no report of the deal later
  std::array<uint8_t, 16> claim{};  // secret: shows the relay whose ticket it is
  std::array<uint8_t, 32> encapsulated{};
  std::string ciphertext;

  friend bool operator==(const SealedAnswer&, const SealedAnswer&) = default;
};

struct JournalEntry {
  std::string subject;
  Budget epsilon;
  PrivateReport report;
  // Final: accepted, a duplicate, refused for good, given up, or past the end of its deal. Nothing
  // but subject, epsilon, study and fingerprint is left of it then.
  bool delivered = false;
  // The curator that the answer is for: the key that trust in it began with, by the last manifest
  // of the study that the journal saw before. Set by the journal; empty if it saw none.
  std::optional<PublicKey> curator = {};
  // Set while the answer waits for a relay: `report` has neither payload nor public values.
  std::optional<SealedAnswer> sealed = {};
};

std::string JournalHeader();
// Checks that `bytes` begin with the header of this version. FailedPrecondition if a newer version
// made them, else DataLoss.
Status CheckHeader(std::string_view bytes);

// The digest that chains frames.
using FrameDigest = Sha256Digest;
FrameDigest FirstFrameDigest();

inline constexpr size_t kMaxFrameBody = size_t{1} << 30;
inline constexpr size_t kFrameOverhead = 16;  // of a frame without its body

struct Frame {
  std::string bytes;
  FrameDigest digest;
};
// InvalidArgument if `body` is longer than kMaxFrameBody.
StatusOr<Frame> MakeFrame(const FrameDigest& previous, std::string_view body);

struct ParsedFrame {
  bool torn = false;  // the rest is unset then
  std::string_view body = {};
  size_t size = 0;  // the whole frame's
  FrameDigest digest{};
};
// Reads the frame at the start of `bytes`, which must not be empty. DataLoss if it does not check.
StatusOr<ParsedFrame> ParseFrame(const FrameDigest& previous, std::string_view bytes);

// Answers of one form: all final, all encrypted, or neither.
using AnswersRecord = std::vector<JournalEntry>;
bool HaveOneForm(const JournalEntry& one, const JournalEntry& other);

struct DeliveredMark {
  std::string study;
  std::vector<std::string> subjects;

  friend bool operator==(const DeliveredMark&, const DeliveredMark&) = default;
};

// Whether the device's owner wants nothing answered from now on.
struct OwnersChoice {
  bool opted_out = false;

  friend bool operator==(const OwnersChoice&, const OwnersChoice&) = default;
};

using JournalRecord = std::variant<AnswersRecord, DeliveredMark, SeenManifest, OwnersChoice>;

// The body of a record.
std::string EncodeRecord(const JournalRecord& record);
// DataLoss unless `body` is exactly what EncodeRecord() returns; FailedPrecondition if it is of a
// kind that only a newer version can have written.
StatusOr<JournalRecord> DecodeRecord(std::string_view body);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_JOURNAL_FORMAT_H_
