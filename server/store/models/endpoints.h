// Endpoints: names under which models are served, one at a time, switched and rolled back while
// predictions go on.

#ifndef COPPICE_SERVER_STORE_MODELS_ENDPOINTS_H_
#define COPPICE_SERVER_STORE_MODELS_ENDPOINTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/page.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/models/endpoint_info.h"
#include "server/store/models/models.h"
#include "server/store/store.h"

namespace coppice::models {

struct ChangeOptions {
  // The version that must be served now; 0: the endpoint must not exist yet.
  std::optional<uint64_t> expected_version{};
  bool allow_schema_change = false;
  std::string owner{};  // the owner of an endpoint that the change makes
};

// Switches the model behind each endpoint and keeps earlier versions.
//
// Every change appends a version, numbered 1, 2, 3, ...; the last is served. A rollback is a
// change, too: it restores the model of an earlier version. The newest kMaxVersions are kept. Set()
// with the model already served changes nothing, so it may be retried.
//
// Guarantee  A change is durable, in one record, before anybody sees it. Serving() returns a
//            snapshot: the call that holds it is answered by one model from beginning to end, even
//            if the endpoint is switched meanwhile. A served model cannot be deleted (models.h).
// Errors     NotFound: the endpoint, the version or the model, also if a new model has taken the
//            deleted one's id. FailedPrecondition: another version than expected is served; another
//            schema; no version to go back to. ResourceExhausted: too many endpoints. Those of
//            Models::Get(), for a change to a model that cannot be read, and of Serving(). Open():
//            DataLoss. Otherwise what the Store returns; then nothing has changed, unless the
//            process ends before the next change.
// Threads    safe to share. Only changes and Serving() may wait for the disk.
class Endpoints {
 public:
  static constexpr size_t kMaxVersions = 100;
  static constexpr size_t kMaxEndpoints = 1000;

  // Loads what `store` holds; load the models first. All must outlive the endpoints. `clock`
  // returns seconds since 1970 and dates versions.
  static StatusOr<std::unique_ptr<Endpoints>> Open(storage::Store& store, Models& models,
                                                   std::function<int64_t()> clock);

  // Makes the endpoint if it does not exist.
  StatusOr<EndpointInfo> Set(std::string_view id, std::string_view model,
                             const ChangeOptions& options);
  // Restores version `to` or, if that is 0, the version before the served one. If the served one
  // was itself restored, "before" counts from its original, so going back again does not return to
  // what was left.
  StatusOr<EndpointInfo> RollBack(std::string_view id, uint64_t to, const ChangeOptions& options);
  Status Delete(std::string_view id);

  StatusOr<EndpointInfo> Get(std::string_view id) const;
  // Nothing if there is no such endpoint.
  std::optional<std::string> OwnerOf(std::string_view id) const;
  // Lists each endpoint with its last version only.
  std::vector<EndpointInfo> List(const Page& page) const;
  StatusOr<std::shared_ptr<const ServedModel>> Serving(std::string_view id) const;
  // As Serving(); null if the model is not in memory.
  StatusOr<std::shared_ptr<const ServedModel>> ServingFromMemory(std::string_view id) const;

 private:
  struct State {
    EndpointInfo info;  // the last version is served
    ModelClaim pin;     // prevents the model's deletion

    const EndpointVersion& served() const { return info.versions.back(); }
  };

  Endpoints(storage::Store& store, Models& models, std::function<int64_t()> clock)
      : store_(store), models_(models), clock_(std::move(clock)) {}

  Status Load();
  // What is served now, or null if there is no such endpoint. Only changes modify it.
  const State* Find(std::string_view id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  Status CheckRoom() const;
  // Pins `model` for endpoint `id`.
  StatusOr<Models::PinnedModel> Pin(std::string_view model, std::string_view id);
  // FailedPrecondition if the models have different schemas. Reads both.
  Status CheckSameSchema(std::string_view id, std::string_view before, std::string_view next) const;
  StatusOr<EndpointVersion> ServedVersion(std::string_view id) const;
  // Stores and publishes `next`, whose last version serves the pinned model.
  StatusOr<EndpointInfo> Change(const State* before, EndpointInfo next, Models::PinnedModel pinned,
                                const ChangeOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);

  storage::Store& store_;
  Models& models_;
  const std::function<int64_t()> clock_;
  Mutex change_mutex_;  // held during a change, including its write to the store
  mutable Mutex mutex_;
  StringMap<State> endpoints_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::models

#endif  // COPPICE_SERVER_STORE_MODELS_ENDPOINTS_H_
