#include "server/service/calls/handler_registry.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace coppice::service {
namespace {

// The method that takes requests of this type. A program that registers a handler for none, or for
// a type that two methods share, is wrong from its first line on.
const google::protobuf::MethodDescriptor& MethodOf(const google::protobuf::Descriptor& request) {
  const google::protobuf::MethodDescriptor* found = nullptr;
  for (int i = 0; i < request.file()->service_count(); ++i) {
    const google::protobuf::ServiceDescriptor& service = *request.file()->service(i);
    for (int j = 0; j < service.method_count(); ++j) {
      if (service.method(j)->input_type() != &request) continue;
      if (found != nullptr) std::abort();
      found = service.method(j);
    }
  }
  if (found == nullptr) std::abort();
  return *found;
}

}  // namespace

void HandlerRegistry::AddHandler(const AnyMessage& request, AnyHandler handler) {
  const google::protobuf::MethodDescriptor& method = MethodOf(*request.GetDescriptor());
  methods_.push_back(
      {.path = absl::StrCat("/", method.service()->full_name(), "/", method.name()),
       .descriptor = &method,
       .request = &request,
       .response = google::protobuf::MessageFactory::generated_factory()->GetPrototype(
           method.output_type()),
       .handler = std::move(handler)});
}

}  // namespace coppice::service
