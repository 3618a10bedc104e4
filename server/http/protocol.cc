#include "server/http/protocol.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::http {
namespace {

struct CodeNames {
  StatusCode code;
  std::string_view name;
  int http;
};
constexpr CodeNames kCodes[] = {{StatusCode::kCancelled, "canceled", 499},
                                {StatusCode::kUnknown, "unknown", 500},
                                {StatusCode::kInvalidArgument, "invalid_argument", 400},
                                {StatusCode::kDeadlineExceeded, "deadline_exceeded", 504},
                                {StatusCode::kNotFound, "not_found", 404},
                                {StatusCode::kAlreadyExists, "already_exists", 409},
                                {StatusCode::kPermissionDenied, "permission_denied", 403},
                                {StatusCode::kResourceExhausted, "resource_exhausted", 429},
                                {StatusCode::kFailedPrecondition, "failed_precondition", 400},
                                {StatusCode::kAborted, "aborted", 409},
                                {StatusCode::kOutOfRange, "out_of_range", 400},
                                {StatusCode::kUnimplemented, "unimplemented", 501},
                                {StatusCode::kInternal, "internal", 500},
                                {StatusCode::kUnavailable, "unavailable", 503},
                                {StatusCode::kDataLoss, "data_loss", 500},
                                {StatusCode::kUnauthenticated, "unauthenticated", 401}};

const CodeNames& NamesOf(StatusCode code) {
  for (const CodeNames& names : kCodes) {
    if (names.code == code) return names;
  }
  return kCodes[1];
}

struct ContentType {
  std::string_view name;
  CallKind kind;
};
constexpr ContentType kTypes[] = {{"application/json", {Encoding::kJson, false}},
                                  {"application/proto", {Encoding::kProto, false}},
                                  {"application/connect+json", {Encoding::kJson, true}},
                                  {"application/connect+proto", {Encoding::kProto, true}}};

nlohmann::ordered_json ErrorJson(const Status& status) {
  return {{"code", std::string(ConnectCodeOf(status.code()))},
          {"message", std::string(status.message())}};
}

// A message may quote the input, which need not be UTF-8; JSON must be.
std::string Dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string EnvelopeOf(uint8_t flags, std::string_view message) {
  const auto size = static_cast<uint32_t>(message.size());
  std::string bytes;
  bytes.reserve(kEnvelopeBytes + message.size());
  bytes.push_back(static_cast<char>(flags));
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift));
  bytes.append(message.data(), message.size());
  return bytes;
}

}  // namespace

std::optional<CallKind> KindOf(std::string_view content_type) {
  const std::string_view name =
      StripAsciiWhitespace(content_type.substr(0, content_type.find(';')));
  for (const ContentType& type : kTypes) {
    if (EqualsIgnoreCase(name, type.name)) return type.kind;
  }
  return std::nullopt;
}

std::string_view ContentTypeOf(CallKind kind) {
  return kTypes[(kind.is_stream ? 2 : 0) + (kind.encoding == Encoding::kProto ? 1 : 0)].name;
}

std::string_view ConnectCodeOf(StatusCode code) { return NamesOf(code).name; }

int HttpStatusOf(StatusCode code) { return NamesOf(code).http; }

std::string ErrorBody(const Status& status) { return Dump(ErrorJson(status)); }

std::string EndOfStream(const Status& status, const std::vector<Trailer>& trailers) {
  constexpr uint8_t kEnd = 2;
  nlohmann::ordered_json end = nlohmann::ordered_json::object();
  if (!status.ok()) end["error"] = ErrorJson(status);
  for (const Trailer& trailer : trailers) {
    end["metadata"][std::string(trailer.name)] = {trailer.value};
  }
  return EnvelopeOf(kEnd, Dump(end));
}

std::string Envelope(std::string_view message) { return EnvelopeOf(0, message); }

StatusOr<std::string_view> MessageIn(std::string_view envelope) {
  if (envelope.size() < kEnvelopeBytes) {
    return InvalidArgumentError(
        "a stream's request is one message after a byte of flags and 4 bytes of length; this one "
        "is shorter");
  }
  if (envelope[0] != 0) {
    return InvalidArgumentError(
        "the flags of the request's message are not 0: compression is not supported");
  }
  uint32_t size = 0;
  for (size_t i = 1; i < kEnvelopeBytes; ++i) size = size << 8 | static_cast<uint8_t>(envelope[i]);
  envelope.remove_prefix(kEnvelopeBytes);
  if (size == envelope.size()) return envelope;
  return InvalidArgumentError(
      StrCat("the request's message announces ", size, " bytes, and ", envelope.size(), " came"));
}

StatusOr<absl::Duration> ParseTimeout(std::string_view milliseconds) {
  constexpr size_t kMaxDigits = 10;
  int64_t number = 0;
  if (milliseconds.size() <= kMaxDigits && !milliseconds.empty() &&
      std::all_of(milliseconds.begin(), milliseconds.end(), IsAsciiDigit) &&
      SimpleAtoi(milliseconds, &number)) {
    return absl::Milliseconds(number);
  }
  return InvalidArgumentError(
      "the header Connect-Timeout-Ms must be milliseconds, at most 10 digits");
}

}  // namespace coppice::http
