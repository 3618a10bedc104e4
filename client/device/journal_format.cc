#include "client/device/journal_format.h"

#include <algorithm>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/manifest.h"

namespace coppice {
namespace {

constexpr std::string_view kMagic = "coppice journal\n";
constexpr uint32_t kVersion = 1;

constexpr size_t kLengthBytes = 4;
constexpr size_t kHeadCheckBytes = 4;
constexpr size_t kHeadBytes = kLengthBytes + kHeadCheckBytes;
constexpr size_t kBodyCheckBytes = 8;

enum RecordKind : uint8_t {
  kWaitingAnswers = 1,
  kDeliveredAnswers = 2,
  kSeenManifest = 3,
  kFinalAnswers = 4,
  kOwnersChoice = 5,
  kEncryptedAnswers = 6,
};

Status CorruptJournal(std::string_view what) {
  return DataLossError(StrCat("the journal is corrupt: ", what,
                              "; restore it from a copy, as it is the memory of what was spent"));
}

template <typename Integer>
void PutInteger(std::string& out, Integer value) {
  for (size_t i = 0; i < sizeof(Integer); ++i) {
    out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
  }
}

void PutText(std::string& out, std::string_view text) {
  PutInteger(out, static_cast<uint32_t>(text.size()));
  out.append(text);
}

// Takes values off the front of a body; the first that is missing makes it fail for good.
class BodyReader {
 public:
  explicit BodyReader(std::string_view bytes) : left_(bytes) {}

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

  template <typename Array>
  void Fill(Array& array) {
    const std::string_view bytes = Bytes(array.size());
    std::copy(bytes.begin(), bytes.end(), array.begin());
  }

  bool failed() const { return failed_; }
  bool done() const { return !failed_ && left_.empty(); }

 private:
  std::string_view left_;
  bool failed_ = false;
};

RecordKind KindOf(const JournalEntry& entry) {
  if (entry.delivered) return kFinalAnswers;
  return entry.sealed.has_value() ? kEncryptedAnswers : kWaitingAnswers;
}

void PutSealed(std::string& out, const SealedAnswer& sealed) {
  out.append(AsBytes(sealed.relay));
  out.append(AsBytes(sealed.epoch));
  PutInteger(out, static_cast<uint64_t>(sealed.closes_unix_seconds));
  out.append(AsBytes(sealed.claim));
  out.append(AsBytes(sealed.encapsulated));
  PutText(out, sealed.ciphertext);
}

SealedAnswer ReadSealed(BodyReader& reader) {
  SealedAnswer sealed;
  reader.Fill(sealed.relay);
  reader.Fill(sealed.epoch);
  sealed.closes_unix_seconds = static_cast<int64_t>(reader.Integer<uint64_t>());
  reader.Fill(sealed.claim);
  reader.Fill(sealed.encapsulated);
  sealed.ciphertext = reader.Text();
  return sealed;
}

// What waits of an answer: how it is sent.
void PutReport(std::string& out, const JournalEntry& entry) {
  out.append(entry.report.ticket.ToBytes());
  if (entry.sealed.has_value()) return PutSealed(out, *entry.sealed);
  PutText(out, entry.report.payload);
  PutText(out, entry.report.public_values);
}

bool ReadReport(BodyReader& reader, RecordKind kind, JournalEntry& entry) {
  const auto ticket = Ticket::FromBytes(reader.Bytes(kTicketIdBytes + kTicketMacBytes));
  if (!ticket.ok()) return false;
  entry.report.ticket = *ticket;
  if (kind == kEncryptedAnswers) {
    entry.sealed = ReadSealed(reader);
  } else {
    entry.report.payload = reader.Text();
    entry.report.public_values = reader.Text();
  }
  return !reader.failed();
}

void PutAnswers(std::string& out, const AnswersRecord& entries) {
  const RecordKind kind = entries.empty() ? kWaitingAnswers : KindOf(entries[0]);
  PutInteger(out, static_cast<uint8_t>(kind));
  PutInteger(out, static_cast<uint32_t>(entries.size()));
  for (const JournalEntry& entry : entries) {
    PutText(out, entry.subject);
    PutInteger(out, entry.epsilon.nanos());
    PutText(out, entry.report.study);
    out.append(AsBytes(entry.report.fingerprint));
    if (kind != kFinalAnswers) PutReport(out, entry);
  }
}

StatusOr<JournalEntry> ReadAnswer(BodyReader& reader, RecordKind kind) {
  std::string subject = reader.Text();
  const auto epsilon = Budget::FromNanos(reader.Integer<uint64_t>());
  PrivateReport report;
  report.study = reader.Text();
  reader.Fill(report.fingerprint);
  if (reader.failed() || !epsilon.ok()) return CorruptJournal("an answer cannot be read");
  JournalEntry entry{.subject = std::move(subject),
                     .epsilon = *epsilon,
                     .report = std::move(report),
                     .delivered = kind == kFinalAnswers};
  if (!entry.delivered && !ReadReport(reader, kind, entry)) {
    return CorruptJournal("an answer cannot be read");
  }
  return entry;
}

StatusOr<JournalRecord> ReadAnswers(BodyReader& reader, RecordKind kind) {
  AnswersRecord entries;
  const uint32_t count = reader.Integer<uint32_t>();
  for (uint32_t i = 0; i < count; ++i) {
    COPPICE_ASSIGN_OR_RETURN(JournalEntry entry, ReadAnswer(reader, kind));
    entries.push_back(std::move(entry));
  }
  return JournalRecord(std::move(entries));
}

void PutDelivered(std::string& out, const DeliveredMark& mark) {
  PutInteger(out, static_cast<uint8_t>(kDeliveredAnswers));
  PutText(out, mark.study);
  PutInteger(out, static_cast<uint32_t>(mark.subjects.size()));
  for (const std::string& subject : mark.subjects) PutText(out, subject);
}

StatusOr<JournalRecord> ReadDelivered(BodyReader& reader) {
  DeliveredMark mark{.study = reader.Text(), .subjects = {}};
  const uint32_t count = reader.Integer<uint32_t>();
  for (uint32_t i = 0; i < count && !reader.failed(); ++i) mark.subjects.push_back(reader.Text());
  return JournalRecord(std::move(mark));
}

void PutSeen(std::string& out, const SeenManifest& seen) {
  PutInteger(out, static_cast<uint8_t>(kSeenManifest));
  PutText(out, seen.curator);
  PutText(out, seen.bytes);
  out.append(AsBytes(seen.key));
  out.append(AsBytes(seen.root));
}

StatusOr<JournalRecord> ReadSeen(BodyReader& reader) {
  std::string curator = reader.Text();
  std::string bytes = reader.Text();
  PublicKey key{}, root{};
  reader.Fill(key);
  reader.Fill(root);
  StatusOr<Manifest> manifest = ReadManifest(bytes);
  if (reader.failed() || !manifest.ok()) return CorruptJournal("a manifest cannot be read");
  return JournalRecord(SeenManifest{.curator = std::move(curator),
                                    .bytes = std::move(bytes),
                                    .manifest = *std::move(manifest),
                                    .key = key,
                                    .root = root});
}

void PutChoice(std::string& out, const OwnersChoice& choice) {
  PutInteger(out, static_cast<uint8_t>(kOwnersChoice));
  PutInteger(out, static_cast<uint8_t>(choice.opted_out ? 1 : 0));
}

StatusOr<JournalRecord> ReadChoice(BodyReader& reader) {
  const uint8_t opted_out = reader.Integer<uint8_t>();
  if (opted_out > 1) return CorruptJournal("the owner's choice cannot be read");
  return JournalRecord(OwnersChoice{.opted_out = opted_out == 1});
}

StatusOr<JournalRecord> ReadRecord(uint8_t kind, BodyReader& reader) {
  switch (kind) {
    case kWaitingAnswers:
    case kFinalAnswers:
    case kEncryptedAnswers:
      return ReadAnswers(reader, static_cast<RecordKind>(kind));
    case kDeliveredAnswers:
      return ReadDelivered(reader);
    case kSeenManifest:
      return ReadSeen(reader);
    case kOwnersChoice:
      return ReadChoice(reader);
    case 0:
      return CorruptJournal("a record is of no kind");
    default:  // its check holds, so it is as it was written
      return FailedPreconditionError(
          StrCat("a newer version of Coppice wrote it (a record is of kind ", kind,
                 "): use that version"));
  }
}

}  // namespace

std::string JournalHeader() {
  std::string header(kMagic);
  PutInteger(header, kVersion);
  return header;
}

Status CheckHeader(std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic.substr(0, bytes.size())) {
    return DataLossError("the file is no journal");
  }
  BodyReader reader(bytes);
  reader.Bytes(kMagic.size());
  const uint32_t version = reader.Integer<uint32_t>();
  if (reader.failed())
    return CorruptJournal(StrCat("only ", bytes.size(), " bytes are left of it"));
  if (version == kVersion) return OkStatus();
  if (version < kVersion) return CorruptJournal("it has no version");
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
  const FrameDigest head = Sha256({AsBytes(previous), length});
  const FrameDigest whole = Sha256({AsBytes(previous), length, body});
  return Frame{.bytes = StrCat(length, AsBytes(head).substr(0, kHeadCheckBytes), body,
                               AsBytes(whole).substr(0, kBodyCheckBytes)),
               .digest = whole};
}

StatusOr<ParsedFrame> ParseFrame(const FrameDigest& previous, std::string_view bytes) {
  if (bytes.size() < kHeadBytes) return ParsedFrame{.torn = true};
  const std::string_view length = bytes.substr(0, kLengthBytes);
  const FrameDigest head = Sha256({AsBytes(previous), length});
  if (bytes.substr(kLengthBytes, kHeadCheckBytes) != AsBytes(head).substr(0, kHeadCheckBytes)) {
    return CorruptJournal("the head of a record does not match its check");
  }
  const size_t body_bytes = BodyReader(length).Integer<uint32_t>();
  if (body_bytes > kMaxFrameBody) return CorruptJournal("a record is longer than any");
  const size_t size = kHeadBytes + body_bytes + kBodyCheckBytes;
  if (bytes.size() < size) return ParsedFrame{.torn = true};

  const std::string_view body = bytes.substr(kHeadBytes, body_bytes);
  const FrameDigest whole = Sha256({AsBytes(previous), length, body});
  const std::string_view check = bytes.substr(kHeadBytes + body_bytes, kBodyCheckBytes);
  if (check != AsBytes(whole).substr(0, kBodyCheckBytes)) {
    return CorruptJournal("a record does not match its check");
  }
  return ParsedFrame{.torn = false, .body = body, .size = size, .digest = whole};
}

bool HaveOneForm(const JournalEntry& one, const JournalEntry& other) {
  return KindOf(one) == KindOf(other);
}

std::string EncodeRecord(const JournalRecord& record) {
  std::string body;
  if (const auto* entries = std::get_if<AnswersRecord>(&record)) {
    PutAnswers(body, *entries);
  } else if (const auto* mark = std::get_if<DeliveredMark>(&record)) {
    PutDelivered(body, *mark);
  } else if (const auto* seen = std::get_if<SeenManifest>(&record)) {
    PutSeen(body, *seen);
  } else {
    PutChoice(body, std::get<OwnersChoice>(record));
  }
  return body;
}

StatusOr<JournalRecord> DecodeRecord(std::string_view body) {
  BodyReader reader(body);
  const uint8_t kind = reader.Integer<uint8_t>();
  COPPICE_ASSIGN_OR_RETURN(JournalRecord record, ReadRecord(kind, reader));
  if (!reader.done()) return CorruptJournal("a record is longer or shorter than its content");
  return record;
}

}  // namespace coppice
