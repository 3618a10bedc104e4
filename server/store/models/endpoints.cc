#include "server/store/models/endpoints.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "server/store/models/endpoint_record.h"
#include "server/store/store_record.h"

namespace coppice::models {
namespace {

Status NoEndpoint(std::string_view id) {
  return NotFoundError(StrCat("there is no endpoint ", id));
}

// The version that first served the model of `version`, as far as rollbacks record it.
uint64_t OriginOf(const EndpointVersion& version) {
  return version.restored > 0 ? version.restored : version.number;
}

Status CheckExpected(std::string_view id, uint64_t served, const ChangeOptions& options) {
  if (options.expected_version.value_or(served) == served) return OkStatus();
  return FailedPreconditionError(
      StrCat("expected_version: endpoint ", id,
             served == 0 ? std::string(" does not exist") : StrCat(" serves version ", served),
             ", not ", *options.expected_version, "; check it, and decide again"));
}

// The version that a rollback to `to` restores; 0 means one step back.
StatusOr<EndpointVersion> VersionToRestore(const EndpointInfo& info, uint64_t to) {
  const std::vector<EndpointVersion>& versions = info.versions;
  if (to == 0) {
    const uint64_t origin = OriginOf(versions.back());
    const auto before = std::find_if(versions.rbegin(), versions.rend(),
                                     [&](const auto& v) { return v.number < origin; });
    if (before != versions.rend()) return *before;
    return FailedPreconditionError(
        StrCat("endpoint ", info.id, " has no version before ", origin, " to go back to"));
  }
  const auto found =
      std::find_if(versions.begin(), versions.end(), [&](const auto& v) { return v.number == to; });
  if (found != versions.end()) return *found;
  return NotFoundError(StrCat("endpoint ", info.id, " keeps versions ", versions.front().number,
                              " to ", versions.back().number, ", not ", to));
}

void Append(EndpointInfo& info, EndpointVersion version) {
  version.number = info.versions.empty() ? 1 : info.versions.back().number + 1;
  info.versions.push_back(std::move(version));
  if (info.versions.size() > Endpoints::kMaxVersions) info.versions.erase(info.versions.begin());
}

}  // namespace

StatusOr<std::unique_ptr<Endpoints>> Endpoints::Open(storage::Store& store, Models& models,
                                                     std::function<int64_t()> clock) {
  std::unique_ptr<Endpoints> endpoints(new Endpoints(store, models, std::move(clock)));
  COPPICE_RETURN_IF_ERROR(endpoints->Load());
  return endpoints;
}

Status Endpoints::Load() {
  return store_.Scan(kEndpointPrefix, [&](std::string_view key, std::string_view bytes) {
    COPPICE_ASSIGN_OR_RETURN(EndpointInfo info, DecodeEndpoint(key, bytes));
    StatusOr<Models::PinnedModel> pinned = Pin(info.versions.back().model, info.id);
    if (!pinned.ok()) return storage::CorruptRecord(key, "serves a model that is not there");
    const MutexLock lock(mutex_);
    State& state = endpoints_[info.id];
    state = {.info = std::move(info), .pin = std::move(pinned->claim)};
    return OkStatus();
  });
}

const Endpoints::State* Endpoints::Find(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = endpoints_.find(id);
  return it == endpoints_.end() ? nullptr : &it->second;
}

StatusOr<EndpointInfo> Endpoints::Set(std::string_view id, std::string_view model,
                                      const ChangeOptions& options) {
  const MutexLock change(change_mutex_);
  const State* const before = Find(id);
  // This call may be a retry of one whose answer was lost.
  if (before != nullptr && before->served().model == model) {
    const uint64_t served = before->served().number;
    const uint64_t expected = options.expected_version.value_or(served);
    if (expected == served || expected + 1 == served) return before->info;
  }
  COPPICE_RETURN_IF_ERROR(
      CheckExpected(id, before == nullptr ? 0 : before->served().number, options));
  COPPICE_ASSIGN_OR_RETURN(Models::PinnedModel pinned, Pin(model, id));
  EndpointInfo next =
      before == nullptr
          ? EndpointInfo{.id = std::string(id), .versions = {}, .owner = options.owner}
          : before->info;
  Append(next, {.model = std::string(model), .created_unix_seconds = clock_()});
  return Change(before, std::move(next), std::move(pinned), options);
}

StatusOr<EndpointInfo> Endpoints::RollBack(std::string_view id, uint64_t to,
                                           const ChangeOptions& options) {
  const MutexLock change(change_mutex_);
  const State* const before = Find(id);
  if (before == nullptr) return NoEndpoint(id);
  COPPICE_RETURN_IF_ERROR(CheckExpected(id, before->served().number, options));
  EndpointInfo next = before->info;
  COPPICE_ASSIGN_OR_RETURN(const EndpointVersion restored, VersionToRestore(next, to));
  COPPICE_ASSIGN_OR_RETURN(Models::PinnedModel pinned, Pin(restored.model, id));
  if (pinned.model.created_unix_seconds > restored.created_unix_seconds) {
    return NotFoundError(StrCat("the model of version ", restored.number, " was deleted; ",
                                restored.model,
                                " has been replaced by a newer one of the same name. If you want "
                                "that one, set it explicitly"));
  }
  Append(
      next,
      {.model = restored.model, .created_unix_seconds = clock_(), .restored = OriginOf(restored)});
  return Change(before, std::move(next), std::move(pinned), options);
}

StatusOr<Models::PinnedModel> Endpoints::Pin(std::string_view model, std::string_view id) {
  return models_.Pin(model, MakeName(kEndpoints, id));
}

StatusOr<EndpointInfo> Endpoints::Change(const State* before, EndpointInfo next,
                                         Models::PinnedModel pinned, const ChangeOptions& options) {
  const std::string& model = next.versions.back().model;
  if (before != nullptr && !options.allow_schema_change) {
    COPPICE_RETURN_IF_ERROR(CheckSameSchema(next.id, before->served().model, model));
  } else {
    COPPICE_RETURN_IF_ERROR(models_.Get(model).status());  // it can be served
  }
  if (before == nullptr) COPPICE_RETURN_IF_ERROR(CheckRoom());
  storage::StoreBatch batch;
  batch.Put(EndpointKey(next.id), ToProto(next).SerializeAsString());
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  const MutexLock lock(mutex_);
  endpoints_[next.id] = {.info = next, .pin = std::move(pinned.claim)};
  return next;
}

Status Endpoints::CheckSameSchema(std::string_view id, std::string_view before,
                                  std::string_view next) const {
  COPPICE_ASSIGN_OR_RETURN(const ModelInfo now, models_.Get(before));
  COPPICE_ASSIGN_OR_RETURN(const ModelInfo then, models_.Get(next));
  if (now.model->schema().IsSameButForUnsaidUnits(then.model->schema())) return OkStatus();
  return FailedPreconditionError(
      StrCat("model ", next, " has another schema than model ", before, ", which endpoint ", id,
             " serves; if its callers are prepared for that, set allow_schema_change"));
}

Status Endpoints::CheckRoom() const {
  const MutexLock lock(mutex_);
  if (endpoints_.size() < kMaxEndpoints) return OkStatus();
  return ResourceExhaustedError(
      StrCat("there are ", kMaxEndpoints, " endpoints already; delete one"));
}

Status Endpoints::Delete(std::string_view id) {
  const MutexLock change(change_mutex_);
  if (Find(id) == nullptr) return NoEndpoint(id);
  storage::StoreBatch batch;
  batch.DeletePrefix(EndpointKey(id));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  const MutexLock lock(mutex_);
  endpoints_.erase(endpoints_.find(id));
  return OkStatus();
}

StatusOr<EndpointInfo> Endpoints::Get(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = endpoints_.find(id);
  if (it == endpoints_.end()) return NoEndpoint(id);
  return it->second.info;
}

std::optional<std::string> Endpoints::OwnerOf(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = endpoints_.find(id);
  if (it == endpoints_.end()) return std::nullopt;
  return it->second.info.owner;
}

std::vector<EndpointInfo> Endpoints::List(const Page& page) const {
  std::vector<EndpointInfo> infos;
  const MutexLock lock(mutex_);
  for (auto it = endpoints_.upper_bound(page.after);
       it != endpoints_.end() && infos.size() < PageSize(page); ++it) {
    const EndpointInfo& info = it->second.info;
    infos.push_back({.id = it->first, .versions = {info.versions.back()}, .owner = info.owner});
  }
  return infos;
}

StatusOr<EndpointVersion> Endpoints::ServedVersion(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = endpoints_.find(id);
  if (it == endpoints_.end()) return NoEndpoint(id);
  return it->second.served();
}

StatusOr<std::shared_ptr<const ServedModel>> Endpoints::Serving(std::string_view id) const {
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const EndpointVersion served, ServedVersion(id));
    StatusOr<ModelInfo> model = models_.Get(served.model);
    if (model.ok()) {
      return std::make_shared<const ServedModel>(
          ServedModel{.model = *std::move(model), .version = served.number});
    }
    // The endpoint may have been switched, and the model then deleted.
    COPPICE_ASSIGN_OR_RETURN(const EndpointVersion now, ServedVersion(id));
    if (now.number == served.number) return model.status();
  }
}

StatusOr<std::shared_ptr<const ServedModel>> Endpoints::ServingFromMemory(
    std::string_view id) const {
  COPPICE_ASSIGN_OR_RETURN(const EndpointVersion served, ServedVersion(id));
  std::optional<ModelInfo> model = models_.GetFromMemory(served.model);
  if (!model.has_value()) return nullptr;
  return std::make_shared<const ServedModel>(
      ServedModel{.model = *std::move(model), .version = served.number});
}

}  // namespace coppice::models
