// A dataset as its callers see it: what it is asked to be, and what it is.

#ifndef COPPICE_SERVER_CENTRAL_DATASET_H_
#define COPPICE_SERVER_CENTRAL_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "common/schema/schema.h"
#include "server/ledger/account.h"
#include "server/ledger/accounting.h"

namespace coppice::central {

// The numbers are those of the wire.
enum class DatasetState : uint8_t { kUploading = 1, kReady = 2, kDeleted = 3 };

struct DatasetSpec {
  std::string id;          // empty: the curator makes one
  std::string request_id;  // chosen by the caller; repeating it returns the dataset it made
  std::shared_ptr<const Schema> schema;
  ledger::BudgetCap cap;
  std::string owner{};  // empty: admins alone see it
};

struct DatasetInfo {
  std::string id;
  DatasetState state = DatasetState::kUploading;
  int64_t created_unix_seconds = 0;
  std::shared_ptr<const Schema> schema;
  uint64_t rows = 0;
  ledger::Account account;  // with the entries of its ledger that were asked for
  std::string owner{};
};

// Lets a dataset be trained on, and keeps it from being deleted while this lives.
struct DatasetUse {
  std::shared_ptr<const Schema> schema;
  ledger::BudgetCap cap;
  std::shared_ptr<const void> pin;
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_CENTRAL_DATASET_H_
