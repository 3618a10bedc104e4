#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/daemon/maintenance/maintenance.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/dataset_record.h"
#include "server/store/models/endpoint_record.h"
#include "server/store/store_record.h"

namespace coppice::maintenance {
namespace {

// Collects the resources of each kind that match and have no owner, with their new records.
class Assignment {
 public:
  Assignment(const storage::Store& store, const owners::Patterns& resources)
      : store_(store), resources_(resources) {}

  // `assign` returns the record with its new owner, or "" if it already has one.
  template <typename Assign>
  Status AddKind(std::string_view kind, std::string_view prefix, Assign assign) {
    return store_.Scan(prefix, [&](std::string_view key, std::string_view bytes) {
      const std::string name = MakeName(kind, StripSuffix(StripPrefix(key, prefix), "/"));
      if (!resources_.Match(name)) return OkStatus();
      COPPICE_ASSIGN_OR_RETURN(std::string assigned, assign(key, bytes));
      if (assigned.empty()) return OkStatus();
      batch_.Put(std::string(key), std::move(assigned));
      names_.push_back(name);
      return OkStatus();
    });
  }

  const storage::StoreBatch& batch() const { return batch_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  const storage::Store& store_;
  const owners::Patterns& resources_;
  storage::StoreBatch batch_;
  std::vector<std::string> names_;
};

}  // namespace

StatusOr<std::vector<std::string>> AssignOwner(storage::Store& store, const std::string& owner,
                                               const owners::Patterns& resources) {
  if (owner.empty()) return InvalidArgumentError("--owner needs the name of a policy entry");
  using Bytes = StatusOr<std::string>;
  Assignment assignment(store, resources);
  COPPICE_RETURN_IF_ERROR(assignment.AddKind(
      kStudies, curator::kStudyPrefix, [&](std::string_view key, std::string_view bytes) -> Bytes {
        COPPICE_ASSIGN_OR_RETURN(v1::StudyRecord record,
                                 storage::ParseRecord<v1::StudyRecord>(key, bytes));
        if (!record.owner().empty()) return "";
        record.set_owner(owner);
        return record.SerializeAsString();
      }));
  COPPICE_RETURN_IF_ERROR(assignment.AddKind(
      kDatasets, central::kDatasetPrefix,
      [&](std::string_view key, std::string_view bytes) -> Bytes {
        COPPICE_ASSIGN_OR_RETURN(central::DatasetEntry entry, central::DecodeDataset(key, bytes));
        if (!entry.owner.empty()) return "";
        entry.owner = owner;
        return central::EncodeDataset(entry);
      }));
  COPPICE_RETURN_IF_ERROR(assignment.AddKind(
      kEndpoints, models::kEndpointPrefix,
      [&](std::string_view key, std::string_view bytes) -> Bytes {
        COPPICE_ASSIGN_OR_RETURN(models::EndpointInfo info, models::DecodeEndpoint(key, bytes));
        if (!info.owner.empty()) return "";
        info.owner = owner;
        return models::ToProto(info).SerializeAsString();
      }));
  if (!assignment.names().empty()) COPPICE_RETURN_IF_ERROR(store.Apply(assignment.batch()));
  return assignment.names();
}

}  // namespace coppice::maintenance
