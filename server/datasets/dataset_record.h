// The stored record of a dataset, without its rows and its ledger, and how it is read back.
//
// Errors     DataLoss names the key.

#ifndef COPPICE_SERVER_DATASETS_DATASET_RECORD_H_
#define COPPICE_SERVER_DATASETS_DATASET_RECORD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/schema/schema.h"
#include "common/table/row_blocks.h"
#include "common/table/table.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/dataset.h"
#include "server/datasets/stored_block.h"
#include "server/store/store.h"

namespace coppice::central {

struct DatasetEntry {
  DatasetState state = DatasetState::kUploading;
  int64_t created_unix_seconds = 0;
  // When it became ready; 0 if it never was. Versions that did not note it left 0, which is read as
  // the creation.
  int64_t completed_unix_seconds = 0;
  std::shared_ptr<const Schema> schema;  // null: deleted, and its schema with it
  uint64_t schema_bytes = 0;             // of its message, which stands for its size in memory
  uint64_t rows = 0;                     // of both parts
  uint64_t chunks = 0;                   // of the rows that training reads
  uint64_t bytes = 0;
  std::string request_id{};
  std::string request_hash{};
  bool purged = false;  // deleted, and purged from the files too
  std::string owner{};  // the creator; empty: made without a policy, or by a version without owners
  PublicRowsId public_rows{};
  uint64_t public_bytes = 0;  // of their record
  uint64_t reserve_rows = 0;
  uint64_t reserve_chunks = 0;

  uint64_t training_rows() const { return rows - reserve_rows; }
};

// The state as DatasetInfo has it for others than the owner.
DatasetState StateForOthers(const DatasetEntry& entry, int64_t now_unix_seconds);

// SHA-256 of everything that `spec` asks for, including its id but not its request id.
std::string HashRequest(const DatasetSpec& spec);

// As DatasetEntry has it.
uint64_t BytesOf(const Schema& schema);
// What counts against its owner's quota.
inline uint64_t BytesOf(const DatasetEntry& entry) {
  return entry.bytes + entry.schema_bytes + entry.public_bytes;
}

std::string EncodeDataset(const DatasetEntry& entry);
StatusOr<DatasetEntry> DecodeDataset(std::string_view key, std::string_view bytes);

// Reads the chunk that has this key, and checks it against the schema.
StatusOr<Table> ReadChunk(const storage::Store& store, const std::string& key,
                          const BlockFormat& format);

// Returns the public rows of a dataset, checked against its schema and the digest in its entry;
// null: it has none.
StatusOr<PublicRowsTable> ReadPublicRows(const storage::Store& store, std::string_view id,
                                         const DatasetEntry& entry);

// The rows of one part of a dataset, the reserve or those that training reads. The dataset takes no
// more and stays while this lives. A pass reads the store chunk by chunk and has one in memory.
//
// Errors     ForEach(): DataLoss names the chunk that is missing, damaged or too much.
// Threads    safe to share.
class StoredRows final : public RowBlocks {
 public:
  // The store must outlive it.
  StoredRows(const storage::Store& store, std::string_view id, const DatasetEntry& entry,
             Part part);

  const std::shared_ptr<const Schema>& shared_schema() const override { return schema_; }
  size_t num_rows() const override { return rows_; }
  Status ForEach(Take take) const override;

 private:
  const storage::Store& store_;
  const std::string id_;
  const std::shared_ptr<const Schema> schema_;
  const BlockFormat format_;
  const Part part_;
  const uint64_t rows_, chunks_;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_DATASET_RECORD_H_
