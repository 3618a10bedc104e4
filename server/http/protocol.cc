#include "server/http/protocol.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/wire/proto/json_message.h"
#include "server/serving/calls/unary_call.h"

namespace coppice::http {
namespace {

using google::protobuf::Message;

struct CodeNames {
  absl::StatusCode code;
  absl::string_view name;
  int http;
};
constexpr CodeNames kCodes[] = {{absl::StatusCode::kCancelled, "canceled", 499},
                                {absl::StatusCode::kUnknown, "unknown", 500},
                                {absl::StatusCode::kInvalidArgument, "invalid_argument", 400},
                                {absl::StatusCode::kDeadlineExceeded, "deadline_exceeded", 504},
                                {absl::StatusCode::kNotFound, "not_found", 404},
                                {absl::StatusCode::kAlreadyExists, "already_exists", 409},
                                {absl::StatusCode::kPermissionDenied, "permission_denied", 403},
                                {absl::StatusCode::kResourceExhausted, "resource_exhausted", 429},
                                {absl::StatusCode::kFailedPrecondition, "failed_precondition", 400},
                                {absl::StatusCode::kAborted, "aborted", 409},
                                {absl::StatusCode::kOutOfRange, "out_of_range", 400},
                                {absl::StatusCode::kUnimplemented, "unimplemented", 501},
                                {absl::StatusCode::kInternal, "internal", 500},
                                {absl::StatusCode::kUnavailable, "unavailable", 503},
                                {absl::StatusCode::kDataLoss, "data_loss", 500},
                                {absl::StatusCode::kUnauthenticated, "unauthenticated", 401}};

const CodeNames& NamesOf(absl::StatusCode code) {
  for (const CodeNames& names : kCodes) {
    if (names.code == code) return names;
  }
  return kCodes[1];
}

struct ContentType {
  absl::string_view name;
  CallKind kind;
};
constexpr ContentType kTypes[] = {{"application/json", {Encoding::kJson, false}},
                                  {"application/proto", {Encoding::kProto, false}},
                                  {"application/connect+json", {Encoding::kJson, true}},
                                  {"application/connect+proto", {Encoding::kProto, true}}};

nlohmann::ordered_json ErrorJson(const absl::Status& status) {
  return {{"code", std::string(ConnectCodeOf(status.code()))},
          {"message", std::string(status.message())}};
}

// A message may quote the input, which need not be UTF-8; JSON must be.
std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string EnvelopeOf(uint8_t flags, absl::string_view message) {
  const auto size = static_cast<uint32_t>(message.size());
  std::string bytes;
  bytes.reserve(kEnvelopeBytes + message.size());
  bytes.push_back(static_cast<char>(flags));
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift));
  bytes.append(message.data(), message.size());
  return bytes;
}

}  // namespace

std::optional<CallKind> KindOf(absl::string_view content_type) {
  const absl::string_view name =
      absl::StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  for (const ContentType& type : kTypes) {
    if (absl::EqualsIgnoreCase(name, type.name)) return type.kind;
  }
  return std::nullopt;
}

absl::string_view ContentTypeOf(CallKind kind) {
  return kTypes[(kind.is_stream ? 2 : 0) + (kind.encoding == Encoding::kProto ? 1 : 0)].name;
}

absl::string_view ConnectCodeOf(absl::StatusCode code) { return NamesOf(code).name; }

int HttpStatusOf(absl::StatusCode code) { return NamesOf(code).http; }

std::string ErrorBody(const absl::Status& status) { return Dump(ErrorJson(status)); }

std::string EndOfStream(const absl::Status& status, const std::vector<Trailer>& trailers) {
  constexpr uint8_t kEnd = 2;
  nlohmann::ordered_json end = nlohmann::ordered_json::object();
  if (!status.ok()) end["error"] = ErrorJson(status);
  for (const Trailer& trailer : trailers) {
    end["metadata"][std::string(trailer.name)] = {trailer.value};
  }
  return EnvelopeOf(kEnd, Dump(end));
}

std::string Envelope(absl::string_view message) { return EnvelopeOf(0, message); }

absl::StatusOr<absl::string_view> MessageIn(absl::string_view envelope) {
  if (envelope.size() < kEnvelopeBytes) {
    return absl::InvalidArgumentError(
        "the request of a stream is one message behind a byte of flags and 4 of length; it is "
        "shorter");
  }
  if (envelope[0] != 0) {
    return absl::InvalidArgumentError(
        "the flags of the request's message are not 0: compression is not taken");
  }
  uint32_t size = 0;
  for (size_t i = 1; i < kEnvelopeBytes; ++i) size = size << 8 | static_cast<uint8_t>(envelope[i]);
  envelope.remove_prefix(kEnvelopeBytes);
  if (size == envelope.size()) return envelope;
  return absl::InvalidArgumentError(
      absl::StrCat("the request's message says ", size, " bytes, and ", envelope.size(), " came"));
}

absl::StatusOr<absl::Duration> ParseTimeout(absl::string_view milliseconds) {
  constexpr size_t kMaxDigits = 10;
  int64_t number = 0;
  if (milliseconds.size() <= kMaxDigits && !milliseconds.empty() &&
      std::all_of(milliseconds.begin(), milliseconds.end(), absl::ascii_isdigit) &&
      absl::SimpleAtoi(milliseconds, &number)) {
    return absl::Milliseconds(number);
  }
  return absl::InvalidArgumentError(
      "the header Connect-Timeout-Ms wants milliseconds, of at most 10 digits");
}

absl::Status ParseMessage(Encoding encoding, absl::string_view bytes, Message& message) {
  if (encoding == Encoding::kProto) {
    const bool parsed = message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
    return parsed ? absl::OkStatus() : service::UnreadableRequest(message);
  }
  const absl::Status status = ParseJsonMessage(bytes, message);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      "the request is no ", message.GetDescriptor()->full_name(), ": ", status.message()));
}

absl::StatusOr<std::string> SerializeMessage(Encoding encoding, const Message& message) {
  std::string bytes;
  if (encoding == Encoding::kProto) {
    if (message.SerializeToString(&bytes)) return bytes;
    return absl::InternalError("the answer is too large for a message");
  }
  const auto status = google::protobuf::util::MessageToJsonString(message, &bytes);
  if (status.ok()) return bytes;
  return absl::InternalError("the answer cannot be written as JSON");
}

absl::StatusOr<std::string> SerializePieces(Encoding encoding, const service::MessagePieces& pieces,
                                            const Message& type) {
  std::string bytes;
  for (const service::MessagePiece& piece : pieces) {
    bytes.append(piece.shared != nullptr ? *piece.shared : piece.own);
  }
  if (encoding == Encoding::kProto) return bytes;
  const std::unique_ptr<Message> message(type.New());
  if (!message->ParseFromString(bytes)) return absl::InternalError("the answer does not parse");
  return SerializeMessage(encoding, *message);
}

}  // namespace coppice::http
