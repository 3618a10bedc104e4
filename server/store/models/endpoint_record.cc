#include "server/store/models/endpoint_record.h"

#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/proto/convert.h"
#include "server/store/store_record.h"

namespace coppice::models {

v1::Endpoint ToProto(const EndpointInfo& info) {
  v1::Endpoint proto;
  proto.set_name(MakeName(kEndpoints, info.id));
  proto.set_owner(info.owner);
  for (const EndpointVersion& version : info.versions) {
    v1::EndpointVersion& added = *proto.add_versions();
    added.set_number(version.number);
    added.set_model(MakeName(kModels, version.model));
    added.set_created_unix_seconds(version.created_unix_seconds);
    added.set_restored_version(version.restored);
  }
  return proto;
}

StatusOr<EndpointInfo> DecodeEndpoint(std::string_view key, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const v1::Endpoint proto,
                           storage::ParseRecord<v1::Endpoint>(key, bytes));
  const StatusOr<std::string> id = ParseName(kEndpoints, proto.name());
  if (!id.ok() || key != EndpointKey(*id)) {
    return storage::CorruptRecord(key, "has the endpoint of another key");
  }
  EndpointInfo info{.id = *id, .versions = {}, .owner = proto.owner()};
  uint64_t last = 0;
  for (const v1::EndpointVersion& version : proto.versions()) {
    const StatusOr<std::string> model = ParseName(kModels, version.model());
    const bool follows = last == 0 ? version.number() > 0 : version.number() == last + 1;
    if (!model.ok() || !follows || version.restored_version() >= version.number()) {
      return storage::CorruptRecord(key, "has versions that do not follow each other");
    }
    last = version.number();
    info.versions.push_back({.number = version.number(),
                             .model = *model,
                             .created_unix_seconds = version.created_unix_seconds(),
                             .restored = version.restored_version()});
  }
  if (info.versions.empty()) return storage::CorruptRecord(key, "has no version");
  return info;
}

}  // namespace coppice::models
