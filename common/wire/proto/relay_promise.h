// Converts between the messages that a relay signs and checked values. As with manifest.h, whoever
// accepts a message has understood all of it.
//
// Errors     InvalidArgument that names the field, also for bytes that the Serialize function would
//            not write, and for more than kMaxRelayPromiseBytes.

#ifndef COPPICE_COMMON_WIRE_PROTO_RELAY_PROMISE_H_
#define COPPICE_COMMON_WIRE_PROTO_RELAY_PROMISE_H_

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/terms/relay_promise.h"

namespace coppice {

std::string SerializeRelayTerms(const RelayTerms& terms);
StatusOr<RelayTerms> ParseRelayTerms(std::string_view bytes);

std::string SerializeBatchHeader(const BatchHeader& header);
StatusOr<BatchHeader> ParseBatchHeader(std::string_view bytes);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_RELAY_PROMISE_H_
