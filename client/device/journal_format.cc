#include "client/device/journal_format.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"

namespace coppice {
namespace {

constexpr std::string_view kMagic = "coppice journal\n";
constexpr uint32_t kVersion = 1;

constexpr size_t kLengthBytes = 4;
constexpr size_t kHeadCheckBytes = 4;
constexpr size_t kHeadBytes = kLengthBytes + kHeadCheckBytes;
constexpr size_t kBodyCheckBytes = 8;

constexpr uint8_t kAnswers = 1;
constexpr uint8_t kDelivered = 2;
constexpr uint8_t kSeen = 3;
constexpr uint8_t kShowingAnswers = 4;
constexpr uint8_t kSeenShowing = 5;
constexpr uint8_t kForgottenAnswers = 6;
constexpr uint8_t kOptOut = 7;
constexpr uint8_t kSealedAnswers = 8;
constexpr uint8_t kSeenSealing = 9;

Status Corrupt(std::string_view what) {
  return DataLossError(StrCat("the journal is corrupt: ", what,
                              "; restore it from a copy, as it is the memory of what "
                              "was spent"));
}

template <typename Bytes>
std::string_view AsText(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename Integer>
void PutInteger(std::string& out, Integer value) {
  for (size_t i = 0; i < sizeof(Integer); ++i) {
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }
}

void PutText(std::string& out, std::string_view text) {
  PutInteger(out, static_cast<uint32_t>(text.size()));
  StrAppend(&out, text);
}

// Takes values off the front of a body; the first that is missing makes it fail for good.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  std::string_view Bytes(size_t count) {
    if (failed_ || count > left_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }

  template <typename UnsignedInteger>
  UnsignedInteger Integer() {
    const std::string_view bytes = Bytes(sizeof(UnsignedInteger));
    UnsignedInteger value = 0;
    for (size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<UnsignedInteger>(static_cast<uint8_t>(bytes[i])) << (8 * i);
    }
    return value;
  }

  std::string Text() { return std::string(Bytes(Integer<uint32_t>())); }

  bool failed() const { return failed_; }
  bool done() const { return !failed_ && left_.empty(); }

 private:
  std::string_view left_;
  bool failed_ = false;
};

template <typename Bytes>
void ReadBytes(Reader& reader, Bytes& bytes) {
  const std::string_view read = reader.Bytes(bytes.size());
  std::copy(read.begin(), read.end(), bytes.begin());
}

SealedAnswer DecodeSealed(Reader& reader) {
  SealedAnswer sealed;
  ReadBytes(reader, sealed.relay);
  ReadBytes(reader, sealed.epoch);
  ReadBytes(reader, sealed.claim);
  ReadBytes(reader, sealed.encapsulated);
  sealed.ciphertext = reader.Text();
  return sealed;
}

StatusOr<JournalEntry> DecodeAnswer(Reader& reader, uint8_t kind) {
  std::string subject = reader.Text();
  const auto epsilon = Budget::FromNanos(reader.Integer<uint64_t>());
  PrivateReport report;
  report.study = reader.Text();
  ReadBytes(reader, report.fingerprint);
  const auto ticket = Ticket::FromBytes(reader.Bytes(kTicketIdBytes + kTicketMacBytes));
  std::optional<SealedAnswer> sealed;
  if (kind == kSealedAnswers) {
    sealed = DecodeSealed(reader);
  } else {
    report.payload = reader.Text();
  }
  if (kind == kShowingAnswers) report.public_values = reader.Text();
  const uint8_t delivered = reader.Integer<uint8_t>();
  if (reader.failed() || !epsilon.ok() || !ticket.ok() || delivered > 1) {
    return Corrupt("an answer cannot be read");
  }
  report.ticket = *ticket;
  return JournalEntry{.subject = std::move(subject),
                      .epsilon = *epsilon,
                      .report = std::move(report),
                      .delivered = delivered == 1,
                      .sealed = std::move(sealed)};
}

StatusOr<JournalRecord> DecodeAnswers(Reader& reader, uint8_t kind) {
  std::vector<JournalEntry> entries;
  const uint32_t count = reader.Integer<uint32_t>();
  for (uint32_t i = 0; i < count; ++i) {
    COPPICE_ASSIGN_OR_RETURN(JournalEntry entry, DecodeAnswer(reader, kind));
    entries.push_back(std::move(entry));
  }
  return JournalRecord(std::move(entries));
}

StatusOr<JournalRecord> DecodeForgotten(Reader& reader) {
  std::vector<JournalEntry> entries;
  const uint32_t count = reader.Integer<uint32_t>();
  for (uint32_t i = 0; i < count; ++i) {
    std::string subject = reader.Text();
    const auto epsilon = Budget::FromNanos(reader.Integer<uint64_t>());
    PrivateReport report;
    report.study = reader.Text();
    ReadBytes(reader, report.fingerprint);
    if (reader.failed() || !epsilon.ok()) return Corrupt("an answer cannot be read");
    entries.push_back({.subject = std::move(subject),
                       .epsilon = *epsilon,
                       .report = std::move(report),
                       .delivered = true,
                       .forgotten = true});
  }
  return JournalRecord(std::move(entries));
}

StatusOr<JournalRecord> DecodeOptOut(Reader& reader) {
  const uint8_t opted_out = reader.Integer<uint8_t>();
  if (opted_out > 1) return Corrupt("an opting out cannot be read");
  return JournalRecord(OptOutMark{.opted_out = opted_out == 1});
}

StatusOr<JournalRecord> DecodeDelivered(Reader& reader) {
  DeliveredMark mark{.study = reader.Text(), .subjects = {}};
  const uint32_t count = reader.Integer<uint32_t>();
  for (uint32_t i = 0; i < count && !reader.failed(); ++i) mark.subjects.push_back(reader.Text());
  return JournalRecord(std::move(mark));
}

ManifestSealing DecodeSealing(Reader& reader) {
  ManifestSealing sealing;
  sealing.suite = reader.Integer<uint16_t>();
  ReadBytes(reader, sealing.key);
  sealing.min_batch = reader.Integer<uint64_t>();
  sealing.payload_bytes = reader.Integer<uint32_t>();
  return sealing;
}

StatusOr<JournalRecord> DecodeSeen(Reader& reader, uint8_t kind) {
  std::string curator = reader.Text();
  std::string study = reader.Text();
  Fingerprint fingerprint{};
  ReadBytes(reader, fingerprint);
  const auto epsilon = Budget::FromNanos(reader.Integer<uint64_t>());
  const auto mechanism = ParseMechanism(reader.Text());
  const auto expires = static_cast<int64_t>(reader.Integer<uint64_t>());
  const uint64_t min_reports = reader.Integer<uint64_t>();
  const uint64_t sequence = reader.Integer<uint64_t>();
  const auto issued = static_cast<int64_t>(reader.Integer<uint64_t>());
  const uint32_t public_features = kind == kSeen ? 0 : reader.Integer<uint32_t>();
  std::optional<ManifestSealing> sealing;
  if (kind == kSeenSealing) sealing = DecodeSealing(reader);
  if (reader.failed() || !epsilon.ok() || !mechanism.ok()) {
    return Corrupt("a manifest cannot be read");
  }
  SeenManifest seen{.curator = std::move(curator),
                    .manifest = {.study = std::move(study),
                                 .fingerprint = fingerprint,
                                 .epsilon = *epsilon,
                                 .mechanism = *mechanism,
                                 .expires_unix_seconds = expires,
                                 .min_reports = min_reports,
                                 .sequence = sequence,
                                 .issued_unix_seconds = issued,
                                 .public_features = public_features,
                                 .sealing = sealing}};
  ReadBytes(reader, seen.hash);
  ReadBytes(reader, seen.key);
  ReadBytes(reader, seen.root);
  seen.manifest.key = KeyIdOf(seen.key);
  if (!ValidateManifest(seen.manifest).ok()) return Corrupt("a manifest cannot be read");
  return JournalRecord(std::move(seen));
}

StatusOr<JournalRecord> DecodeKind(uint8_t kind, Reader& reader) {
  switch (kind) {
    case kAnswers:
    case kShowingAnswers:
    case kSealedAnswers:
      return DecodeAnswers(reader, kind);
    case kDelivered:
      return DecodeDelivered(reader);
    case kSeen:
    case kSeenShowing:
    case kSeenSealing:
      return DecodeSeen(reader, kind);
    case kForgottenAnswers:
      return DecodeForgotten(reader);
    case kOptOut:
      return DecodeOptOut(reader);
    case 0:
      return Corrupt("a record is of no kind");
    default:  // its check holds, so it is as it was written
      return FailedPreconditionError(
          StrCat("a newer version of Coppice wrote it (a record is of kind ", kind,
                 "): use that version"));
  }
}

uint8_t KindOf(absl::Span<const JournalEntry> entries) {
  const auto is_sealed = [](const JournalEntry& entry) { return entry.sealed.has_value(); };
  const auto shows_values = [](const JournalEntry& entry) {
    return !entry.report.public_values.empty();
  };
  if (absl::c_any_of(entries, is_sealed)) return kSealedAnswers;
  return absl::c_any_of(entries, shows_values) ? kShowingAnswers : kAnswers;
}

uint8_t KindOf(const Manifest& manifest) {
  if (manifest.sealing.has_value()) return kSeenSealing;
  return manifest.public_features > 0 ? kSeenShowing : kSeen;
}

void PutSealed(std::string& out, const SealedAnswer& sealed) {
  StrAppend(&out, AsText(sealed.relay), AsText(sealed.epoch), AsText(sealed.claim),
            AsText(sealed.encapsulated));
  PutText(out, sealed.ciphertext);
}

void PutSealing(std::string& out, const ManifestSealing& sealing) {
  PutInteger(out, sealing.suite);
  StrAppend(&out, AsText(sealing.key));
  PutInteger(out, sealing.min_batch);
  PutInteger(out, sealing.payload_bytes);
}

}  // namespace

std::string JournalHeader() {
  std::string header(kMagic);
  PutInteger(header, kVersion);
  return header;
}

Status CheckHeader(std::string_view bytes) {
  Reader reader(bytes);
  if (reader.Bytes(kMagic.size()) != kMagic) return DataLossError("the file is no journal");
  const uint32_t version = reader.Integer<uint32_t>();
  if (!reader.failed() && version == kVersion) return OkStatus();
  if (reader.failed() || version < kVersion) return Corrupt("its version is none");
  return FailedPreconditionError(StrCat("a newer version of Coppice made it (format ", version,
                                        ", this one reads ", kVersion, "): use that version"));
}

FrameDigest FirstFrameDigest() { return Sha256({JournalHeader()}); }

StatusOr<Frame> MakeFrame(const FrameDigest& previous, std::string_view body) {
  if (body.size() > kMaxFrameBody) {
    return InvalidArgumentError(StrCat("entries must take at most ", kMaxFrameBody,
                                       " bytes together; append fewer at once"));
  }
  std::string length;
  PutInteger(length, static_cast<uint32_t>(body.size()));
  const FrameDigest head = Sha256({AsText(previous), length});
  const FrameDigest whole = Sha256({AsText(previous), length, body});
  return Frame{.bytes = StrCat(length, AsText(head).substr(0, kHeadCheckBytes), body,
                               AsText(whole).substr(0, kBodyCheckBytes)),
               .digest = whole};
}

StatusOr<ParsedFrame> ParseFrame(const FrameDigest& previous, std::string_view bytes) {
  if (bytes.size() < kHeadBytes) return ParsedFrame{.torn = true};
  const std::string_view length = bytes.substr(0, kLengthBytes);
  const FrameDigest head = Sha256({AsText(previous), length});
  if (bytes.substr(kLengthBytes, kHeadCheckBytes) != AsText(head).substr(0, kHeadCheckBytes)) {
    return Corrupt("the head of a record does not match its check");
  }
  const size_t body_bytes = Reader(length).Integer<uint32_t>();
  const size_t size = kHeadBytes + body_bytes + kBodyCheckBytes;
  if (bytes.size() < size) return ParsedFrame{.torn = true};

  const std::string_view body = bytes.substr(kHeadBytes, body_bytes);
  const FrameDigest whole = Sha256({AsText(previous), length, body});
  const std::string_view check = bytes.substr(kHeadBytes + body_bytes, kBodyCheckBytes);
  if (check != AsText(whole).substr(0, kBodyCheckBytes)) {
    return Corrupt("a record does not match its check");
  }
  return ParsedFrame{.torn = false, .body = body, .size = size, .digest = whole};
}

std::string EncodeAnswers(absl::Span<const JournalEntry> entries) {
  const uint8_t kind = KindOf(entries);
  std::string body;
  PutInteger(body, kind);
  PutInteger(body, static_cast<uint32_t>(entries.size()));
  for (const JournalEntry& entry : entries) {
    PutText(body, entry.subject);
    PutInteger(body, entry.epsilon.nanos());
    PutText(body, entry.report.study);
    StrAppend(&body, AsText(entry.report.fingerprint), entry.report.ticket.ToBytes());
    if (entry.sealed.has_value()) {
      PutSealed(body, *entry.sealed);
    } else {
      PutText(body, entry.report.payload);
    }
    if (kind == kShowingAnswers) PutText(body, entry.report.public_values);
    PutInteger(body, static_cast<uint8_t>(entry.delivered ? 1 : 0));
  }
  return body;
}

std::string EncodeForgotten(absl::Span<const JournalEntry> entries) {
  std::string body;
  PutInteger(body, kForgottenAnswers);
  PutInteger(body, static_cast<uint32_t>(entries.size()));
  for (const JournalEntry& entry : entries) {
    PutText(body, entry.subject);
    PutInteger(body, entry.epsilon.nanos());
    PutText(body, entry.report.study);
    StrAppend(&body, AsText(entry.report.fingerprint));
  }
  return body;
}

std::string EncodeDelivered(const DeliveredMark& mark) {
  std::string body;
  PutInteger(body, kDelivered);
  PutText(body, mark.study);
  PutInteger(body, static_cast<uint32_t>(mark.subjects.size()));
  for (const std::string& subject : mark.subjects) PutText(body, subject);
  return body;
}

std::string EncodeSeen(const SeenManifest& seen) {
  const Manifest& manifest = seen.manifest;
  std::string body;
  const uint8_t kind = KindOf(manifest);
  PutInteger(body, kind);
  PutText(body, seen.curator);
  PutText(body, manifest.study);
  StrAppend(&body, AsText(manifest.fingerprint));
  PutInteger(body, manifest.epsilon.nanos());
  PutText(body, MechanismName(manifest.mechanism));
  PutInteger(body, static_cast<uint64_t>(manifest.expires_unix_seconds));
  PutInteger(body, manifest.min_reports);
  PutInteger(body, manifest.sequence);
  PutInteger(body, static_cast<uint64_t>(manifest.issued_unix_seconds));
  if (kind != kSeen) PutInteger(body, manifest.public_features);
  if (manifest.sealing.has_value()) PutSealing(body, *manifest.sealing);
  StrAppend(&body, AsText(seen.hash), AsText(seen.key), AsText(seen.root));
  return body;
}

std::string EncodeOptOut(const OptOutMark& mark) {
  std::string body;
  PutInteger(body, kOptOut);
  PutInteger(body, static_cast<uint8_t>(mark.opted_out ? 1 : 0));
  return body;
}

StatusOr<JournalRecord> DecodeBody(std::string_view body) {
  Reader reader(body);
  const uint8_t kind = reader.Integer<uint8_t>();
  COPPICE_ASSIGN_OR_RETURN(JournalRecord record, DecodeKind(kind, reader));
  if (!reader.done()) return Corrupt("a record is longer or shorter than its content");
  return record;
}

}  // namespace coppice
