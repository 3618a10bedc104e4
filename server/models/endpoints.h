// Endpoints: names under which models are served, one model at a time, switched and rolled back
// while predictions go on.

#ifndef COPPICE_SERVER_MODELS_ENDPOINTS_H_
#define COPPICE_SERVER_MODELS_ENDPOINTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/mutex.h"
#include "common/base/page.h"
#include "server/models/endpoint_info.h"
#include "server/models/models.h"
#include "server/storage/store.h"

namespace coppice::models {

struct ChangeOptions {
  // The version that must be served now; 0: there is no such endpoint yet.
  std::optional<uint64_t> expected_version{};
  bool allow_schema_change = false;
  std::string owner{};  // of an endpoint that the change makes
};

// Switches the model behind each endpoint, and keeps what was served before.
//
// Every change appends a version, numbered 1, 2, 3, ...; the last is served. A rollback is a change
// too: it brings back the model of an earlier version. The newest kMaxVersions are kept. Set() with
// what is served already changes nothing, so it may be tried again.
//
// Guarantee  a change is durable, in one record, before anybody sees it. Serving() gives a
//            snapshot: a call that holds it is answered by one model from beginning to end,
//            whatever is switched meanwhile. What is served is not deleted (models.h).
// Errors     NotFound: the endpoint, the version or the model, also where another model has got a
//            deleted one's id since. FailedPrecondition: another version is served than was
//            expected; another schema; no version to go back to.
//            ResourceExhausted: too many endpoints. Open(): DataLoss. What the Store returns
//            otherwise; then nothing has changed, unless the process ends before the next change.
// Threads    safe to share. Reading waits for no disk.
class Endpoints {
 public:
  static constexpr size_t kMaxVersions = 100;
  static constexpr size_t kMaxEndpoints = 1000;

  // Loads what `store` holds, after the models. All must outlive the endpoints. `clock` returns
  // seconds since 1970 and dates versions.
  static absl::StatusOr<std::unique_ptr<Endpoints>> Open(storage::Store& store, Models& models,
                                                         std::function<int64_t()> clock);

  // Makes the endpoint if there is none.
  absl::StatusOr<EndpointInfo> Set(absl::string_view id, absl::string_view model,
                                   const ChangeOptions& options);
  // To version `to` or, if that is 0, to the one before what is served; if that was brought back
  // itself, to the one before its original, so that going back again does not return to what was
  // left.
  absl::StatusOr<EndpointInfo> RollBack(absl::string_view id, uint64_t to,
                                        const ChangeOptions& options);
  absl::Status Delete(absl::string_view id);

  absl::StatusOr<EndpointInfo> Get(absl::string_view id) const;
  // Nothing if there is no such endpoint.
  std::optional<std::string> OwnerOf(absl::string_view id) const;
  // Lists each endpoint with its last version only.
  std::vector<EndpointInfo> List(const Page& page) const;
  absl::StatusOr<std::shared_ptr<const ServedModel>> Serving(absl::string_view id) const;

 private:
  struct State {
    EndpointInfo info;
    std::shared_ptr<const ServedModel> serving;
    ModelClaim pin;  // keeps the model from being deleted
  };

  Endpoints(storage::Store& store, Models& models, std::function<int64_t()> clock)
      : store_(store), models_(models), clock_(std::move(clock)) {}

  absl::Status Load();
  // What is served now, null if there is no such endpoint. Only a change moves it.
  const State* Find(absl::string_view id) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  absl::Status CheckRoom() const;
  // Pins `model` for endpoint `id`.
  absl::StatusOr<Models::PinnedModel> Pin(absl::string_view model, absl::string_view id);
  // Stores and shows `next`, whose last version serves the pinned model.
  absl::StatusOr<EndpointInfo> Change(const State* before, EndpointInfo next,
                                      Models::PinnedModel pinned, const ChangeOptions& options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);

  storage::Store& store_;
  Models& models_;
  const std::function<int64_t()> clock_;
  Mutex change_mutex_;  // held during a change, its write to the store included
  mutable Mutex mutex_;
  absl::btree_map<std::string, State> endpoints_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::models

#endif  // COPPICE_SERVER_MODELS_ENDPOINTS_H_
