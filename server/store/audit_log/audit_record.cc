#include "server/store/audit_log/audit_record.h"

#include <openssl/rand.h>

#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "server/store/store_record.h"

namespace coppice::audit {
namespace {

void AddRecord(const std::string& key, const std::string& bytes, Sha256Stream& stream) {
  stream.Add(StrCat(key, "\n", bytes.size(), "\n"));
  stream.Add(bytes);
}

std::string DigestBytes(Sha256Stream& stream) {
  const Sha256Digest digest = stream.Finish();
  return {digest.begin(), digest.end()};
}

Status LoadOpenRecord(std::string_view key, std::string_view bytes, OpenRecords& open) {
  uint64_t number = 0;
  if (!SimpleAtoi(StripPrefix(key, kOpenPrefix), &number) || key != OpenKey(number)) {
    return storage::CorruptRecord(key, "is not a key of the audit log");
  }
  return ParseExactly(key, bytes, open[number]);
}

Status LoadBaseline(std::string_view key, std::string_view bytes, Baselines& baselines) {
  const std::string_view id = StripSuffix(StripPrefix(key, kBaselinePrefix), "/");
  if (key != BaselineKey(id)) return storage::CorruptRecord(key, "is not a key of the audit log");
  return ParseExactly(key, bytes, baselines[std::string(id)]);
}

OpenSum SumOf(const LogState& state) {
  OpenSum sum(state.salt);
  for (const auto& [number, record] : state.open) sum.Add(number, record.SerializeAsString());
  return sum;
}

// Expects state.end.open_sum to be the sum of the records as read.
Status CheckOpenRecords(const LogState& state, const v1::AuditHeadRecord& head) {
  if (head.open_sum() == state.end.open_sum.Bytes()) return OkStatus();
  return storage::CorruptRecord(
      kHeadKey, StrCat("does not match the records under ", kOpenPrefix, " and ", kSaltKey,
                       ": one was changed, added or removed"));
}

v1::AuditHead HeadOf(const v1::AuditHeadRecord& record) {
  v1::AuditHead head;
  head.set_entries(record.entries());
  head.set_hash(record.hash());
  return head;
}

// Turns an error of CheckEnd() or Follow() into one of the record at `key`.
Status InRecord(std::string_view key, const Status& status) {
  return status.ok() ? status : storage::CorruptRecord(key, StrCat(": ", status.message()));
}

class Reader {
 public:
  Reader(const storage::Store& store, absl::FunctionRef<void(const v1::AuditEntry&)> visit,
         StoredLog& log)
      : store_(store), visit_(visit), log_(log) {}

  Status Run() {
    COPPICE_RETURN_IF_ERROR(ReadSalt());
    COPPICE_RETURN_IF_ERROR(ReadSeal());
    if (!log_.problem.ok()) return OkStatus();
    COPPICE_RETURN_IF_ERROR(
        store_.Scan(kAuditPrefix, [this](std::string_view key, std::string_view bytes) {
          found_any_ = true;
          Note(key, Load(key, bytes));
          return OkStatus();
        }));
    if (!log_.problem.ok()) return OkStatus();
    if (!found_any_ && log_.state.salt.empty()) return OkStatus();
    if (log_.state.salt.size() != kSaltBytes) {
      Note(kSaltKey, storage::CorruptRecord(kSaltKey, "does not have 32 bytes"));
    } else if (!has_head_) {
      Note(kHeadKey, storage::CorruptRecord(kHeadKey, "is missing"));
    } else {
      LogEnd& end = log_.state.end;
      Note(kHeadKey, InRecord(kHeadKey, end.chain.CheckEnd(HeadOf(head_))));
      end.open_sum = SumOf(log_.state);
      Note(kHeadKey, CheckOpenRecords(log_.state, head_));
      end.ledgers_from = head_.ledgers_from();
      end.baseline_hash = BaselineHash(head_.ledgers_from(), log_.baselines);
      if (head_.baseline_hash() != end.baseline_hash) {
        Note(kHeadKey, storage::CorruptRecord(
                           kHeadKey, StrCat("does not match the records under ", kBaselinePrefix,
                                            ": one was changed, added or removed")));
      }
    }
    return OkStatus();
  }

 private:
  Status ReadSalt() {
    COPPICE_ASSIGN_OR_RETURN(std::optional<std::string> salt, store_.Get(kSaltKey));
    log_.state.salt = std::move(salt).value_or("");
    return OkStatus();
  }

  Status ReadSeal() {
    COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store_.Get(kSealKey));
    if (!bytes.has_value()) return OkStatus();
    Note(kSealKey, ParseExactly(kSealKey, *bytes, log_.seal));
    if (!log_.problem.ok()) return OkStatus();
    Note(kSealKey, InRecord(kSealKey, CheckHeadSignature(log_.seal, std::nullopt, 0)));
    StatusOr<AuditChain> chain = AuditChain::After(log_.seal);
    Note(kSealKey, InRecord(kSealKey, chain.status()));
    if (chain.ok()) log_.state.end.chain = *chain;
    return OkStatus();
  }

  Status Load(std::string_view key, std::string_view bytes) {
    if (StartsWith(key, kEntryPrefix)) return LoadEntry(key, bytes);
    if (StartsWith(key, kOpenPrefix)) return LoadOpenRecord(key, bytes, log_.state.open);
    if (StartsWith(key, kBaselinePrefix)) return LoadBaseline(key, bytes, log_.baselines);
    if (key == kSealKey) return OkStatus();
    if (key != kHeadKey) return storage::CorruptRecord(key, "is not a key of the audit log");
    has_head_ = true;
    return ParseExactly(key, bytes, head_);
  }

  Status LoadEntry(std::string_view key, std::string_view bytes) {
    if (broken_) return OkStatus();
    v1::AuditEntry entry;
    Status status = ParseExactly(key, bytes, entry);
    if (status.ok()) status = InRecord(key, log_.state.end.chain.Follow(entry));
    if (status.ok() && key != EntryKey(entry.sequence())) {
      status = storage::CorruptRecord(key, "does not match its entry");
    }
    broken_ = !status.ok();
    if (status.ok()) visit_(entry);
    return status;
  }

  // Keeps the first problem.
  void Note(std::string_view key, const Status& status) {
    if (status.ok() || !log_.problem.ok()) return;
    log_.problem = status;
    log_.problem_key = std::string(key);
  }

  const storage::Store& store_;
  const absl::FunctionRef<void(const v1::AuditEntry&)> visit_;
  StoredLog& log_;
  bool found_any_ = false;
  bool has_head_ = false;
  bool broken_ = false;
  v1::AuditHeadRecord head_;
};

}  // namespace

StatusOr<std::string> MakeSalt() {
  std::string salt(kSaltBytes, '\0');
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(salt.data()), kSaltBytes) == 1) return salt;
  return UnavailableError("the system random source failed");
}

StatusOr<StoredLog> ReadLog(const storage::Store& store,
                            absl::FunctionRef<void(const v1::AuditEntry&)> visit) {
  StoredLog log;
  COPPICE_RETURN_IF_ERROR(Reader(store, visit, log).Run());
  return log;
}

StatusOr<LogState> ReadState(const storage::Store& store) {
  LogState state;
  COPPICE_ASSIGN_OR_RETURN(std::optional<std::string> salt, store.Get(kSaltKey));
  state.salt = std::move(salt).value_or("");
  COPPICE_ASSIGN_OR_RETURN(const v1::AuditHeadRecord head,
                           storage::ReadRecord<v1::AuditHeadRecord>(store, std::string(kHeadKey)));
  COPPICE_ASSIGN_OR_RETURN(state.end.chain, AuditChain::After(HeadOf(head)));
  state.end.baseline_hash = head.baseline_hash();
  state.end.ledgers_from = head.ledgers_from();
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kOpenPrefix, [&state](std::string_view key, std::string_view bytes) {
        return LoadOpenRecord(key, bytes, state.open);
      }));
  state.end.open_sum = SumOf(state);
  COPPICE_RETURN_IF_ERROR(CheckOpenRecords(state, head));
  return state;
}

std::string BaselineHash(uint64_t ledgers_from, const Baselines& baselines) {
  Sha256Stream stream;
  stream.Add(StrCat(ledgers_from, "\n"));
  for (const auto& [dataset, record] : baselines) {
    AddRecord(BaselineKey(dataset), record.SerializeAsString(), stream);
  }
  return DigestBytes(stream);
}

std::string EncodeHead(const LogEnd& end) {
  const v1::AuditHead head = ToProto(end.chain);
  v1::AuditHeadRecord record;
  record.set_entries(head.entries());
  record.set_hash(head.hash());
  record.set_open_sum(end.open_sum.Bytes());
  record.set_baseline_hash(end.baseline_hash);
  record.set_ledgers_from(end.ledgers_from);
  return record.SerializeAsString();
}

template <typename Record>
Status ParseExactly(std::string_view key, std::string_view bytes, Record& record) {
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return storage::CorruptRecord(key, "does not parse");
  }
  record.DiscardUnknownFields();
  if (record.SerializeAsString() == bytes) return OkStatus();
  return storage::CorruptRecord(key, "has more than this version writes");
}

template Status ParseExactly(std::string_view, std::string_view, v1::AuditEntry&);

}  // namespace coppice::audit
