// The bytes of a journal file: a header, then frames. No file is touched here.
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
// A body is its kind (1 byte), then for kind 1 (answers): a count and each answer's subject,
// epsilon in nano-epsilons (8), study, fingerprint (32), ticket (32), payload, delivered (1); for
// kind 2 (delivered): the study, a count, the subjects; for kind 3 (seen manifest): the curator,
// the manifest's study, fingerprint (32), epsilon in nano-epsilons (8), mechanism's name, expiry
// (8), least reports (8), sequence (8), time of issue (8), the SHA-256 of its bytes (32), the key
// that signed it (32) and the one that trust began with (32). Where features are public, answers
// are of kind 4, with the public values (a text) after the payload, and seen manifests of kind 5,
// with the number of public features (4) after the time of issue. Kind 6 (forgotten answers) is a
// count and each answer's subject, epsilon (8), study and fingerprint (32): it was delivered, and
// its report made room for others. Kind 7 (opting out) is 1 or 0 (1 byte). Kind 8 (sealed answers)
// is a count and each answer's subject, epsilon (8), study, fingerprint (32), ticket (32), the
// relay's key id (16), epoch (16), claim (16), ephemeral key (32), ciphertext, delivered (1). Where
// reports are sealed, seen manifests are of kind 9: as kind 5, with the suite (2), the sealing key
// (32), the smallest batch (8) and the payload's bytes (4) after the number of public features.
// Counts are 4 bytes; texts are 4 bytes of length and their bytes.

#ifndef COPPICE_CLIENT_DEVICE_JOURNAL_FORMAT_H_
#define COPPICE_CLIENT_DEVICE_JOURNAL_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "client/device/journal.h"
#include "common/base/status.h"
#include "common/terms/sha256.h"

namespace coppice {

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

struct DeliveredMark {
  std::string study;
  std::vector<std::string> subjects;

  friend bool operator==(const DeliveredMark&, const DeliveredMark&) = default;
};
// Whether the device's owner wants nothing answered from now on.
struct OptOutMark {
  bool opted_out = false;

  friend bool operator==(const OptOutMark&, const OptOutMark&) = default;
};
using JournalRecord =
    std::variant<std::vector<JournalEntry>, DeliveredMark, SeenManifest, OptOutMark>;

// Encodes answers whose reports are kept: all of them sealed, or none.
std::string EncodeAnswers(absl::Span<const JournalEntry> entries);
// Encodes forgotten answers.
std::string EncodeForgotten(absl::Span<const JournalEntry> entries);
std::string EncodeDelivered(const DeliveredMark& mark);
std::string EncodeSeen(const SeenManifest& seen);
std::string EncodeOptOut(const OptOutMark& mark);
// DataLoss unless `body` is exactly what one of the five above returns; FailedPrecondition if it
// is of a kind that only a newer version can have written.
StatusOr<JournalRecord> DecodeBody(std::string_view body);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_JOURNAL_FORMAT_H_
