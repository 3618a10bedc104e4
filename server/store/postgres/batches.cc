#include <openssl/rand.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/postgres/tables.h"
#include "server/store/prefix.h"

namespace coppice::storage {
namespace {

constexpr size_t kIdBytes = 16;
// A page of a B-tree fits keys of at most 2,704 bytes, including their headers.
constexpr size_t kMaxKeyBytes = 2600;
constexpr size_t kMaxValueBytes = 1'000'000'000;
// Bytes of keys and values per statement: far below the gigabyte that a parameter may have.
constexpr size_t kStatementBytes = size_t{16} << 20;

// Fails for lack of an epoch unless the caller is the owner. The lock on the owner's row makes a
// successor wait for this transaction, and a later transaction of the former owner fails.
constexpr char kInsertId[] =
    "INSERT INTO coppice.coppice_batches (id, epoch, applied) VALUES ($1,"
    "  (SELECT epoch FROM coppice.coppice_owner WHERE epoch = $2 FOR KEY SHARE), true)";
constexpr char kPrune[] =
    "DELETE FROM coppice.coppice_batches WHERE at < now() - interval '1 day' AND id <> $1"
    "  AND EXISTS (SELECT FROM coppice.coppice_owner WHERE epoch = $2)";
constexpr char kDeleteRange[] = "DELETE FROM coppice.coppice_records WHERE key >= $1 AND key < $2";
constexpr char kDeleteKeys[] = "DELETE FROM coppice.coppice_records WHERE key = ANY($1)";
constexpr char kPut[] =
    "INSERT INTO coppice.coppice_records (key, value) SELECT * FROM unnest($1, $2)"
    "  ON CONFLICT (key) DO UPDATE SET value = excluded.value";
// Waits for a running transaction that has inserted the same id. The update is a write, so this
// commit also waits for the replicas.
constexpr char kSettle[] =
    "INSERT INTO coppice.coppice_batches (id, epoch, applied) VALUES ($1,"
    "  (SELECT epoch FROM coppice.coppice_owner WHERE epoch = $2 FOR KEY SHARE), false)"
    "  ON CONFLICT (id) DO UPDATE SET at = now()";
constexpr char kReadSettled[] = "SELECT applied FROM coppice.coppice_batches WHERE id = $1";

Status CheckPut(std::string_view key, std::string_view value) {
  if (key.size() <= kMaxKeyBytes && value.size() <= kMaxValueBytes) return OkStatus();
  return InvalidArgumentError(StrCat("a record has a key of more than ", kMaxKeyBytes,
                                     " bytes or a value of more than ", kMaxValueBytes,
                                     ", which PostgreSQL does not take"));
}

void AddDeletes(const StoreBatch& batch, std::vector<Statement>& statements) {
  for (const std::string& prefix : batch.deleted_prefixes()) {
    statements.push_back(
        {.sql = kDeleteRange,
         .values = {QueryValue::Bytea(prefix), QueryValue::Bytea(*EndOfPrefix(prefix))}});
  }
  if (batch.deleted_keys().empty()) return;
  const std::vector<std::string_view> keys(batch.deleted_keys().begin(),
                                           batch.deleted_keys().end());
  statements.push_back({.sql = kDeleteKeys, .values = {QueryValue::ByteaArray(keys)}});
}

// Keeps only the last put of each key: one statement may not write a row twice.
void AddPuts(const StoreBatch& batch, std::vector<Statement>& statements) {
  std::map<std::string_view, std::string_view> puts;
  for (const auto& [key, value] : batch.puts()) puts[key] = value;
  std::vector<std::string_view> keys, values;
  size_t bytes = 0;
  const auto flush = [&] {
    if (keys.empty()) return;
    statements.push_back(
        {.sql = kPut, .values = {QueryValue::ByteaArray(keys), QueryValue::ByteaArray(values)}});
    keys.clear();
    values.clear();
    bytes = 0;
  };
  for (const auto& [key, value] : puts) {
    if (bytes + key.size() + value.size() > kStatementBytes) flush();
    keys.push_back(key);
    values.push_back(value);
    bytes += key.size() + value.size();
  }
  flush();
}

}  // namespace

StatusOr<std::string> NewBatchId() {
  unsigned char id[kIdBytes];
  if (RAND_bytes(id, kIdBytes) != 1) {
    return UnavailableError("the system random source failed");
  }
  return std::string(reinterpret_cast<const char*>(id), kIdBytes);
}

Status CheckBatch(const StoreBatch& batch) {
  for (const std::string& prefix : batch.deleted_prefixes()) {
    if (EndOfPrefix(prefix).has_value()) continue;
    return InvalidArgumentError("a prefix to delete must have a byte below 255");
  }
  for (const auto& [key, value] : batch.puts()) COPPICE_RETURN_IF_ERROR(CheckPut(key, value));
  return OkStatus();
}

TransactionResult WriteBatch(Connection& connection, const StoreBatch& batch, std::string_view id,
                             int64_t epoch) {
  std::vector<Statement> statements = {
      {.sql = kInsertId, .values = {QueryValue::Bytea(id), QueryValue::Int64(epoch)}}};
  AddDeletes(batch, statements);
  AddPuts(batch, statements);
  return connection.RunTransaction(statements);
}

Status PruneBatches(Connection& connection, std::string_view last_id, int64_t epoch) {
  return connection
      .Run({.sql = kPrune, .values = {QueryValue::Bytea(last_id), QueryValue::Int64(epoch)}})
      .status();
}

StatusOr<bool> SettleBatch(Connection& connection, std::string_view id, int64_t epoch) {
  const Statement settle{.sql = kSettle,
                         .values = {QueryValue::Bytea(id), QueryValue::Int64(epoch)}};
  COPPICE_RETURN_IF_ERROR(connection.RunTransaction({settle}).status);
  COPPICE_ASSIGN_OR_RETURN(
      const QueryResult settled,
      connection.Run({.sql = kReadSettled, .values = {QueryValue::Bytea(id)}}));
  if (settled.rows() == 1) return settled.Bool(0, 0);
  return UnavailableError("the id of a batch is gone");
}

}  // namespace coppice::storage
