// Requests of any method of the table, made by its name alone.

#ifndef COPPICE_TESTS_SERVER_SERVING_ACCESS_NAMED_REQUESTS_H_
#define COPPICE_TESTS_SERVER_SERVING_ACCESS_NAMED_REQUESTS_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.h"
#include "server/serving/access/method_table.h"

namespace coppice::testing {

// Null for a method whose messages are not linked in, such as those of health.
inline std::unique_ptr<google::protobuf::Message> RequestFor(const access::Method& method) {
  const std::string path = StrReplaceAll(method.path.substr(1), {{"/", "."}});
  const auto* const found =
      google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(path);
  if (found == nullptr) return nullptr;
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(found->input_type())
          ->New());
}

// Sets a text such as "name" or "spec.dataset".
inline void SetField(google::protobuf::Message& request, std::string_view path,
                     const std::string& value) {
  google::protobuf::Message* message = &request;
  const std::vector<std::string> parts = StrSplit(path, '.');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    message = message->GetReflection()->MutableMessage(
        message, message->GetDescriptor()->FindFieldByName(parts[i]));
  }
  message->GetReflection()->SetString(
      message, message->GetDescriptor()->FindFieldByName(parts.back()), value);
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_SERVING_ACCESS_NAMED_REQUESTS_H_
