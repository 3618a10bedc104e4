#include "server/http/protocol.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "server/service/calls/unary_call.h"

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

// Names a path of fields from the request. A path that cannot be a field's is not repeated.
std::string FieldName(absl::string_view path) {
  constexpr size_t kMaxBytes = 100;
  const bool is_path =
      !path.empty() && path.size() <= kMaxBytes &&
      std::all_of(path.begin(), path.end(), [](unsigned char c) {
        return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '[' || c == ']';
      });
  return is_path ? absl::StrCat("the field ", path) : "a field in it";
}

// JsonUtil's messages quote rejected values. This keeps only the field.
absl::Status JsonError(const Message& message, absl::string_view words) {
  const std::string type = message.GetDescriptor()->full_name();
  const auto refuse = [&type](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("the request is no ", type, ": ", why));
  };
  absl::string_view path;
  if (absl::ConsumePrefix(&words, "(")) {
    const size_t end = std::min(words.find(')'), words.size());
    path = words.substr(0, end);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  constexpr absl::string_view kUnknownField = ": Cannot find field.";
  if (absl::ConsumeSuffix(&words, kUnknownField)) {
    const absl::string_view name = absl::StripLeadingAsciiWhitespace(words);
    const std::string whole = path.empty() ? std::string(name) : absl::StrCat(path, ".", name);
    return refuse(absl::StrCat(FieldName(whole),
                               " is unknown; names are as in the .proto, or in "
                               "lowerCamelCase"));
  }
  if (absl::StartsWith(words, ": invalid value")) {
    return refuse(absl::StrCat(FieldName(path), " has a value of another type"));
  }
  if (absl::StrContains(words, "Root element must be a message")) {
    return refuse("JSON of a message is an object, {...}");
  }
  return refuse("it does not parse as JSON in UTF-8");
}

google::protobuf::StringPiece PieceOf(absl::string_view text) { return {text.data(), text.size()}; }

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
  const auto status = google::protobuf::util::JsonStringToMessage(PieceOf(bytes), &message);
  if (status.ok()) return absl::OkStatus();
  return JsonError(message, {status.message().data(), status.message().size()});
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
