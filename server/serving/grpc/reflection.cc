#include "server/serving/grpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>

#include <optional>
#include <set>
#include <utility>

#include "common/base/status.h"
#include "common/wire/fields.h"
#include "server/process/request_bytes.h"
#include "server/serving/access/method_table.h"
#include "server/serving/grpc/status_conversion.h"

namespace coppice::rpc {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::ByteBuffer;
using grpc::CallbackServerContext;

// The messages of reflection.proto, as far as they are used. Each question is a text.
struct ReflectionRequest {
  std::string_view file_by_filename{};
  std::string_view file_containing_symbol{};
  std::string_view list_services{};  // points nowhere if it is not asked
};
template <typename Fields>
void ListFields(Fields& fields, ReflectionRequest& request) {
  fields.Of("grpc.reflection.v1alpha.ServerReflectionRequest");
  fields.Text(3, "file_by_filename", request.file_by_filename);
  fields.Text(4, "file_containing_symbol", request.file_containing_symbol);
  fields.Text(7, "list_services", request.list_services);
}

struct ServiceNameMessage {
  std::string name{};
};
template <typename Fields>
void ListFields(Fields& fields, ServiceNameMessage& service) {
  fields.Of("grpc.reflection.v1alpha.ServiceResponse");
  fields.Text(1, "name", service.name);
}

struct ServiceNamesMessage {
  std::vector<ServiceNameMessage> service{};
};
template <typename Fields>
void ListFields(Fields& fields, ServiceNamesMessage& services) {
  fields.Of("grpc.reflection.v1alpha.ListServiceResponse");
  fields.Each(1, "service", {.most = 1000}, services.service);
}

struct FilesMessage {
  std::vector<std::string> file_descriptor_proto{};
};
template <typename Fields>
void ListFields(Fields& fields, FilesMessage& files) {
  fields.Of("grpc.reflection.v1alpha.FileDescriptorResponse");
  fields.Each(1, "file_descriptor_proto", {.most = 1000}, files.file_descriptor_proto);
}

struct ReflectionError {
  int32_t error_code = 0;
  std::string error_message{};
};
template <typename Fields>
void ListFields(Fields& fields, ReflectionError& error) {
  fields.Of("grpc.reflection.v1alpha.ErrorResponse");
  fields.Number(1, "error_code", error.error_code);
  fields.Text(2, "error_message", error.error_message);
}

struct ReflectionResponse {
  std::string original_request{};
  std::optional<FilesMessage> file_descriptor_response{};
  std::optional<ServiceNamesMessage> list_services_response{};
  std::optional<ReflectionError> error_response{};
};
template <typename Fields>
void ListFields(Fields& fields, ReflectionResponse& response) {
  fields.Of("grpc.reflection.v1alpha.ServerReflectionResponse");
  fields.Bytes(2, "original_request", response.original_request);
  fields.Message(4, "file_descriptor_response", response.file_descriptor_response);
  fields.Message(6, "list_services_response", response.list_services_response);
  fields.Message(7, "error_response", response.error_response);
}

namespace {

constexpr char kReflectionName[] = "grpc.reflection.v1alpha.ServerReflection";
constexpr char kReflectionPath[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

// A file, after the files that it needs.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
             FilesMessage& files) {
  if (!added.insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), added, files);
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  files.file_descriptor_proto.push_back(proto.SerializeAsString());
}

void AnswerWithFile(const FileDescriptor* file, ReflectionResponse& response) {
  if (file == nullptr) {
    response.error_response = ReflectionError{.error_code = grpc::StatusCode::NOT_FOUND,
                                              .error_message = "there is no such file or symbol"};
    return;
  }
  std::set<const FileDescriptor*> added;
  AddFile(*file, added, response.file_descriptor_response.emplace());
}

// Answers one request after another until the client has no more.
class ReflectionStream final : public grpc::ServerBidiReactor<ByteBuffer, ByteBuffer> {
 public:
  explicit ReflectionStream(const ReflectionService& service) : service_(service) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    const StatusOr<std::string> bytes = TakeRequestBytes(request_, service_.most_request_bytes());
    if (!bytes.ok()) return Finish(ToGrpcStatus(bytes.status()));
    response_ = ToByteBuffer(service_.Answer(*bytes));
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  const ReflectionService& service_;
  ByteBuffer request_;
  ByteBuffer response_;
};

}  // namespace

ReflectionService::ReflectionService(std::vector<std::string> services)
    : services_(std::move(services)),
      most_request_bytes_(access::MaxRequestBytesOf(kReflectionPath)) {
  AddMethod(new grpc::internal::RpcServiceMethod(
      kReflectionPath, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(
      0, new grpc::internal::CallbackBidiHandler<ByteBuffer, ByteBuffer>(
             [this](CallbackServerContext*) { return new ReflectionStream(*this); }));
}

std::string ReflectionService::Answer(std::string_view request) const {
  ReflectionResponse response{.original_request = std::string(request)};
  const StatusOr<ReflectionRequest> read = ReadFields<ReflectionRequest>(request);
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  if (!read.ok()) {
    response.original_request.clear();
    response.error_response = ReflectionError{.error_code = grpc::StatusCode::INVALID_ARGUMENT,
                                              .error_message = "the request does not parse"};
  } else if (read->list_services.data() != nullptr) {
    ServiceNamesMessage& names = response.list_services_response.emplace();
    for (const std::string& service : services_) names.service.push_back({service});
    names.service.push_back({kReflectionName});
  } else if (!read->file_by_filename.empty()) {
    AnswerWithFile(pool.FindFileByName(std::string(read->file_by_filename)), response);
  } else if (!read->file_containing_symbol.empty()) {
    AnswerWithFile(pool.FindFileContainingSymbol(std::string(read->file_containing_symbol)),
                   response);
  } else {
    response.error_response =
        ReflectionError{.error_code = grpc::StatusCode::UNIMPLEMENTED,
                        .error_message = "only services, files and symbols are asked for"};
  }
  return WriteFields(std::move(response));
}

}  // namespace coppice::rpc
