// Calls of the Connect protocol, written and read without the code under test, except the names of
// codes and content types.

#ifndef COPPICE_TESTS_SERVER_DAEMON_HTTP_CALLS_H_
#define COPPICE_TESTS_SERVER_DAEMON_HTTP_CALLS_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/http/protocol.h"
#include "tests/support/http_client.h"

namespace coppice::testing {

inline grpc::StatusCode CodeOfName(const std::string& name) {
  for (int code = 1; code <= 16; ++code) {
    if (http::ConnectCodeOf(static_cast<StatusCode>(code)) == name) {
      return static_cast<grpc::StatusCode>(code);
    }
  }
  ADD_FAILURE() << name << " is no code";
  return grpc::StatusCode::UNKNOWN;
}

inline grpc::Status StatusOfError(const nlohmann::json& error) {
  return {CodeOfName(error.value("code", "")), error.value("message", "")};
}

struct HttpMethod {
  const google::protobuf::MethodDescriptor* descriptor = nullptr;  // null if there is none

  static HttpMethod Find(const std::string& path) {
    const std::string name = StrReplaceAll(path.substr(1), {{"/", "."}});
    return {google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(name)};
  }

  bool is_stream() const { return descriptor != nullptr && descriptor->server_streaming(); }
  std::string ContentType(http::Encoding encoding) const {
    return StrCat("application/", is_stream() ? "connect+" : "",
                  encoding == http::Encoding::kJson ? "json" : "proto");
  }
  std::string Request(http::Encoding encoding, const std::string& message) const {
    std::string bytes = message;
    if (encoding == http::Encoding::kJson && descriptor != nullptr) {
      bytes = ToJson(*descriptor->input_type(), message);
    }
    if (!is_stream()) return bytes;
    std::string envelope(1, 0);
    for (int shift = 24; shift >= 0; shift -= 8) {
      envelope.push_back(static_cast<char>(bytes.size() >> shift));
    }
    return envelope + bytes;
  }
  // Puts the message, or a stream's last one, into `answer`, which may be null.
  grpc::Status StatusOf(http::Encoding encoding, const HttpResponse& response,
                        std::string* answer) const {
    if (response.status == 0) return {grpc::StatusCode::UNAVAILABLE, "the connection was closed"};
    const nlohmann::json error = nlohmann::json::parse(response.body, nullptr, false);
    if (response.status != 200) return StatusOfError(error);
    if (!is_stream()) {
      if (answer != nullptr) *answer = FromBody(encoding, response.body);
      return grpc::Status::OK;
    }
    for (size_t at = 0; at + 5 <= response.body.size();) {
      size_t size = 0;
      for (size_t i = 1; i < 5; ++i) size = size << 8 | static_cast<uint8_t>(response.body[at + i]);
      const std::string part = response.body.substr(at + 5, size);
      if (response.body[at] == 2) {
        const nlohmann::json end = nlohmann::json::parse(part);
        return end.contains("error") ? StatusOfError(end["error"]) : grpc::Status::OK;
      }
      if (answer != nullptr) *answer = FromBody(encoding, part);
      at += 5 + size;
    }
    return {grpc::StatusCode::INTERNAL, "the stream has no end"};
  }

 private:
  static std::unique_ptr<google::protobuf::Message> New(const google::protobuf::Descriptor& type) {
    return std::unique_ptr<google::protobuf::Message>(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
  }
  static std::string ToJson(const google::protobuf::Descriptor& type, const std::string& bytes) {
    const auto message = New(type);
    EXPECT_TRUE(message->ParseFromString(bytes));
    std::string json;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(*message, &json).ok());
    return json;
  }
  std::string FromBody(http::Encoding encoding, const std::string& body) const {
    if (encoding == http::Encoding::kProto) return body;
    const auto message = New(*descriptor->output_type());
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(body, message.get()).ok()) << body;
    return message->SerializeAsString();
  }
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DAEMON_HTTP_CALLS_H_
