// The format of a store's records.
//
// The key meta/format holds the format's number in decimal; it is the first record of a new store.
// Until the first release the format stays at 1, whatever changes. After it, every change that an
// older version must not overlook raises the number: not only what it cannot read, but also a
// record that it would ignore and that prevents something.
//
// Errors     FailedPrecondition for another format, which is not read. DataLoss if the number is
//            missing or malformed. Otherwise what the Store returns.

#ifndef COPPICE_SERVER_STORE_STORE_FORMAT_H_
#define COPPICE_SERVER_STORE_STORE_FORMAT_H_

#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "server/store/store.h"

namespace coppice::storage {

inline constexpr uint32_t kFormat = 1;
inline constexpr std::string_view kFormatKey = "meta/format";
// Present while a database server has failed over, or was restored, and nobody has confirmed that
// it lost nothing (docs/postgresql.md#failover). Its text says what happened.
inline constexpr std::string_view kFailoverKey = "meta/failover";

// True if the store has this format, false if it is empty.
StatusOr<bool> HasFormat(const Store& store);

// Gives an empty store this format.
Status OpenFormat(Store& store);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_STORE_FORMAT_H_
