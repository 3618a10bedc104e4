// The version of what is stored, and the way from an older one to this one.
//
// Key        meta/format, the version in decimal; the first thing that is written to a new store.
// Newer      a store of a newer version is refused, unread: FailedPrecondition.
// Older      is brought up to this version step by step. A step is one atomic batch, which holds
//            the new version too: a crash at any moment leaves a store of some version, and the
//            next opening goes on from there.
// Bump       for every change that an older version must not overlook, not only for what it could
//            not read: a record that it would ignore and that keeps something from happening.
// Errors     as stated; DataLoss if the version is missing or is none; what the Store returns.

#ifndef COPPICE_SERVER_STORAGE_STORE_FORMAT_H_
#define COPPICE_SERVER_STORAGE_STORE_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/storage/store.h"

namespace coppice::storage {

inline constexpr absl::string_view kFormatKey = "meta/format";

// From one version to the next.
struct FormatStep {
  std::string what;
  // Reads the store and puts the changed records into the batch. Null: no record changes.
  absl::Status (*change)(const Store& store, StoreBatch& batch) = nullptr;
};

// The first step leads from version 1 to 2, and so on: this version is one more than steps.
absl::Span<const FormatStep> FormatSteps();
inline uint32_t FormatOf(absl::Span<const FormatStep> steps) {
  return static_cast<uint32_t>(steps.size()) + 1;
}

// The version of a store, none if the store is empty.
absl::StatusOr<std::optional<uint32_t>> ReadFormat(
    const Store& store, absl::Span<const FormatStep> steps = FormatSteps());

// Marks an empty store as one of this version, and brings an older one up to it. `begin` is told
// of each step before it is done.
absl::Status OpenFormat(Store& store,
                        absl::FunctionRef<void(uint32_t from, const FormatStep& step)> begin,
                        absl::Span<const FormatStep> steps = FormatSteps());
absl::Status OpenFormat(Store& store);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORAGE_STORE_FORMAT_H_
