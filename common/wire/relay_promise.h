// Between the messages that a relay signs and checked values. As manifest.h: whoever accepts one
// has understood all of it.
//
// Errors     InvalidArgument that names the field, also for bytes that are not those that the
//            Serialize function gives, and for more than kMaxRelayPromiseBytes.

#ifndef COPPICE_COMMON_WIRE_RELAY_PROMISE_H_
#define COPPICE_COMMON_WIRE_RELAY_PROMISE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/study/relay_promise.h"

namespace coppice {

std::string SerializeRelayTerms(const RelayTerms& terms);
absl::StatusOr<RelayTerms> ParseRelayTerms(absl::string_view bytes);

std::string SerializeBatchHeader(const BatchHeader& header);
absl::StatusOr<BatchHeader> ParseBatchHeader(absl::string_view bytes);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_RELAY_PROMISE_H_
