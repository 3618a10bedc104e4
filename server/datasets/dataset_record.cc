#include "server/datasets/dataset_record.h"

#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/storage.pb.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/public_rows.h"
#include "server/datasets/row_block.h"
#include "server/store/store_record.h"

namespace coppice::central {

static_assert(static_cast<int>(DatasetState::kUploading) == v1::DATASET_STATE_UPLOADING);
static_assert(static_cast<int>(DatasetState::kReady) == v1::DATASET_STATE_READY);
static_assert(static_cast<int>(DatasetState::kDeleted) == v1::DATASET_STATE_DELETED);

DatasetState StateForOthers(const DatasetEntry& entry, int64_t now_unix_seconds) {
  constexpr int64_t kDay = 24 * 60 * 60;
  const int64_t midnight = now_unix_seconds - now_unix_seconds % kDay;
  const bool is_of_today = entry.completed_unix_seconds >= midnight;
  return entry.state == DatasetState::kReady && is_of_today ? DatasetState::kUploading
                                                            : entry.state;
}

std::string HashRequest(const DatasetSpec& spec) {
  const std::string schema = ToProto(*spec.schema).SerializeAsString();
  // The sizes keep one part from passing for the end of another.
  const std::string rest = StrCat(schema.size(), " ", spec.id, " ", spec.cap.epsilon_nanos, " ",
                                  spec.cap.delta_atto, " ", static_cast<int>(spec.cap.composition),
                                  " ", static_cast<int>(spec.cap.neighbours));
  // A request without public rows or a reserve has the hash that it had before there were any.
  const std::string reserve =
      spec.cap.has_reserve() ? StrCat(" reserve ", spec.cap.reserve_millionths, " ") : "";
  const Sha256Digest digest = Sha256({schema, rest, reserve, HashedPart(spec.public_rows)});
  return std::string(digest.begin(), digest.end());
}

uint64_t BytesOf(const Schema& schema) { return ToProto(schema).ByteSizeLong(); }

std::string EncodeDataset(const DatasetEntry& entry) {
  v1::DatasetRecord record;
  record.set_state(static_cast<v1::DatasetState>(entry.state));
  record.set_created_unix_seconds(entry.created_unix_seconds);
  record.set_completed_unix_seconds(entry.completed_unix_seconds);
  if (entry.schema != nullptr) *record.mutable_schema() = ToProto(*entry.schema);
  record.set_rows(entry.rows);
  record.set_chunks(entry.chunks);
  record.set_bytes(entry.bytes);
  record.set_request_id(entry.request_id);
  record.set_request_hash(entry.request_hash);
  record.set_purged(entry.purged);
  record.set_owner(entry.owner);
  record.set_public_rows(entry.public_rows.rows);
  record.set_public_rows_sha256(entry.public_rows.sha256);
  record.set_public_bytes(entry.public_bytes);
  record.set_reserve_rows(entry.reserve_rows);
  record.set_reserve_chunks(entry.reserve_chunks);
  return record.SerializeAsString();
}

StatusOr<DatasetEntry> DecodeDataset(std::string_view key, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const v1::DatasetRecord record,
                           storage::ParseRecord<v1::DatasetRecord>(key, bytes));
  if (record.state() < v1::DATASET_STATE_UPLOADING || record.state() > v1::DATASET_STATE_DELETED) {
    return storage::CorruptRecord(key, "has an unknown state");
  }
  // Every version wrote it; a record that was cut has none.
  if (record.request_hash().size() != std::tuple_size_v<Sha256Digest>) {
    return storage::CorruptRecord(key, "has no hash of its request");
  }
  std::shared_ptr<const Schema> schema;
  if (record.has_schema() || record.state() != v1::DATASET_STATE_DELETED) {
    StatusOr<Schema> read = ParseSchema(record.schema());
    if (!read.ok()) return storage::CorruptRecord(key, read.status().message());
    schema = std::make_shared<const Schema>(*std::move(read));
  } else if (record.chunks() != 0 || record.reserve_chunks() != 0) {
    return storage::CorruptRecord(key, "is of a deleted dataset that has rows");
  }
  if (record.reserve_rows() > record.rows()) {
    return storage::CorruptRecord(key, "has more rows in its reserve than in all");
  }
  const bool lacks_completion =
      record.state() == v1::DATASET_STATE_READY && record.completed_unix_seconds() == 0;
  return DatasetEntry{
      .state = static_cast<DatasetState>(record.state()),
      .created_unix_seconds = record.created_unix_seconds(),
      .completed_unix_seconds =
          lacks_completion ? record.created_unix_seconds() : record.completed_unix_seconds(),
      .schema = std::move(schema),
      .schema_bytes = record.schema().ByteSizeLong(),
      .rows = record.rows(),
      .chunks = record.chunks(),
      .bytes = record.bytes(),
      .request_id = record.request_id(),
      .request_hash = record.request_hash(),
      .purged = record.purged(),
      .owner = record.owner(),
      .public_rows = {.rows = record.public_rows(), .sha256 = record.public_rows_sha256()},
      .public_bytes = record.public_bytes(),
      .reserve_rows = record.reserve_rows(),
      .reserve_chunks = record.reserve_chunks()};
}

StatusOr<Table> ReadChunk(const storage::Store& store, const std::string& key,
                          const BlockFormat& format) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(key));
  if (!bytes.has_value()) return storage::CorruptRecord(key, "is missing");
  StatusOr<Table> rows = format.Parse(*bytes);
  if (!rows.ok()) return storage::CorruptRecord(key, rows.status().message());
  return rows;
}

StatusOr<PublicRowsTable> ReadPublicRows(const storage::Store& store, std::string_view id,
                                         const DatasetEntry& entry) {
  if (entry.public_rows.rows == 0) return nullptr;
  const std::string key = PublicRowsKey(id);
  COPPICE_ASSIGN_OR_RETURN(const v1::RowBlock block, storage::ReadRecord<v1::RowBlock>(store, key));
  StatusOr<Table> rows = ParseRows(block, entry.schema);
  if (!rows.ok()) return storage::CorruptRecord(key, rows.status().message());
  const auto table = std::make_shared<const Table>(*std::move(rows));
  if (PublicRowsIdOf(table.get()) == entry.public_rows) return table;
  return storage::CorruptRecord(key, "does not have the public rows that came with the dataset");
}

StoredRows::StoredRows(const storage::Store& store, std::string_view id, const DatasetEntry& entry,
                       Part part)
    : store_(store),
      id_(id),
      schema_(entry.schema),
      format_(entry.schema),
      part_(part),
      rows_(part == Part::kReserve ? entry.reserve_rows : entry.training_rows()),
      chunks_(part == Part::kReserve ? entry.reserve_chunks : entry.chunks) {}

Status StoredRows::ForEach(Take take) const {
  uint64_t rows = 0;
  for (uint64_t chunk = 0; chunk < chunks_; ++chunk) {
    COPPICE_ASSIGN_OR_RETURN(const Table block,
                             ReadChunk(store_, ChunkKey(id_, chunk, part_), format_));
    rows += block.num_rows();
    if (rows > rows_) break;  // before a reader sees more rows than it has room for
    COPPICE_RETURN_IF_ERROR(take(block));
  }
  if (rows == rows_) return OkStatus();
  return storage::CorruptRecord(DatasetKey(id_), "does not have as many rows as its chunks");
}

}  // namespace coppice::central
