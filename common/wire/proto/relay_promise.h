// Converts between the messages that a relay signs and checked values. As with manifest.h, whoever
// accepts a message has understood all of it.
//
// Errors     InvalidArgument that names the field, also for bytes that the Serialize function would
//            not write, and for more than kMaxRelayPromiseBytes.

#ifndef COPPICE_COMMON_WIRE_PROTO_RELAY_PROMISE_H_
#define COPPICE_COMMON_WIRE_PROTO_RELAY_PROMISE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/terms/relay_promise.h"

namespace coppice {

std::string SerializeRelayTerms(const RelayTerms& terms);
absl::StatusOr<RelayTerms> ParseRelayTerms(absl::string_view bytes);

std::string SerializeBatchHeader(const BatchHeader& header);
absl::StatusOr<BatchHeader> ParseBatchHeader(absl::string_view bytes);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_RELAY_PROMISE_H_
