// The format of a store's records, and the upgrade from older formats.
//
// The key meta/format holds the format's number in decimal; it is the first record of a new store.
// An older store is upgraded step by step. A step is one atomic batch that includes the new number,
// so a crash at any moment leaves a store of one format, and the next opening continues from there.
//
// Add a step for every change that an older version must not overlook: not only for what it cannot
// read, but also for a record that it would ignore and that prevents something.
//
// Errors     FailedPrecondition for a newer format, which is not read. DataLoss if the number is
//            missing or malformed. Otherwise what the Store returns.

#ifndef COPPICE_SERVER_STORE_STORE_FORMAT_H_
#define COPPICE_SERVER_STORE_STORE_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/store/store.h"

namespace coppice::storage {

inline constexpr std::string_view kFormatKey = "meta/format";
// Present while a database server has failed over, or was restored, and nobody has confirmed that
// it lost nothing (docs/postgresql.md#failover). Its text says what happened.
inline constexpr std::string_view kFailoverKey = "meta/failover";

// A step from one format to the next.
struct FormatStep {
  std::string what;  // for the log
  // Reads the store and puts the changed records into the batch. Null: no record changes.
  Status (*change)(const Store& store, StoreBatch& batch) = nullptr;
};

// The first step leads from format 1 to 2, and so on: this version's format is their number plus 1.
absl::Span<const FormatStep> FormatSteps();
inline uint32_t FormatOf(absl::Span<const FormatStep> steps) {
  return static_cast<uint32_t>(steps.size()) + 1;
}

// Returns the format of a store; none if the store is empty.
StatusOr<std::optional<uint32_t>> ReadFormat(const Store& store,
                                             absl::Span<const FormatStep> steps = FormatSteps());

// Gives an empty store this format, or upgrades an older store to it. Calls `begin` before each
// step.
Status OpenFormat(Store& store,
                  absl::FunctionRef<void(uint32_t from, const FormatStep& step)> begin,
                  absl::Span<const FormatStep> steps = FormatSteps());
Status OpenFormat(Store& store);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_STORE_FORMAT_H_
