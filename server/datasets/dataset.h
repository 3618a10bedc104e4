// A dataset as its callers see it: what a caller asks for, and what exists.

#ifndef COPPICE_SERVER_DATASETS_DATASET_H_
#define COPPICE_SERVER_DATASETS_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "common/schema/schema.h"
#include "server/datasets/ledger/account.h"
#include "server/datasets/ledger/accounting.h"
#include "server/datasets/public_rows.h"
#include "server/store/models/ids.h"

namespace coppice::central {

// These numbers are the wire's.
enum class DatasetState : uint8_t { kUploading = 1, kReady = 2, kDeleted = 3 };

struct DatasetSpec {
  std::string id;          // empty: the curator makes one
  std::string request_id;  // chosen by the caller; repeating it returns the dataset it made
  std::shared_ptr<const Schema> schema;
  ledger::BudgetCap cap;
  std::string owner{};  // empty: only admins see the dataset
  // What the owner may have; 0: no limit.
  uint64_t most_datasets = 0;
  uint64_t most_bytes = 0;
  models::DrawnIdCheck may_draw{};
  bool accept_leak = false;  // take a schema that is marked as read from private rows
  PublicRowBlock public_rows{};
};

struct DatasetInfo {
  std::string id;
  DatasetState state = DatasetState::kUploading;
  // As who does not own it may know it: a dataset that became ready today (UTC) is still
  // kUploading, since the time from its creation until then tells how many rows were uploaded. A
  // deletion shows at once, when it begins.
  DatasetState state_for_others = DatasetState::kUploading;
  int64_t created_unix_seconds = 0;
  std::shared_ptr<const Schema> schema;  // null: the dataset was deleted
  uint64_t rows = 0;                     // of both parts
  uint64_t reserve_rows = 0;             // of these, in the reserve
  ledger::Account account;               // with the requested entries of its ledger
  std::string owner{};
  PublicRowsId public_rows{};
};

// Allows training on a dataset, and prevents its deletion while this lives.
struct DatasetUse {
  std::shared_ptr<const Schema> schema;
  ledger::BudgetCap cap;
  std::shared_ptr<const void> pin;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_DATASET_H_
