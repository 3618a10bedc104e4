#include "tests/faults/curator_process.h"

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/store/rocksdb/rocksdb_store.h"

namespace coppice::testing {

Status CuratorProcess::StartWith(const std::string& data, const curator::SigningKeys& keys) {
  End();
  COPPICE_ASSIGN_OR_RETURN(disk_store_, storage::OpenRocksDbStore(data, disk_.env()));
  twin_ = std::make_unique<TwinStore>(*disk_store_, options_.bug);
  gate_ = std::make_unique<GatedStore>(*twin_);
  models_.emplace();
  const curator::StudiesLimits limits{.answer_beside_commits = options_.answer_beside_commits};
  COPPICE_ASSIGN_OR_RETURN(studies_,
                           curator::Studies::Open(*gate_, *models_, clock_, keys, limits));
  const Status loaded = models_->Load(*gate_);
  if (!loaded.ok()) studies_.reset();
  return loaded;
}

Status CuratorProcess::Start(const std::string& data, const KeyHistory& keys) {
  size_t key = keys.size() - 1;
  Status started = StartWith(data, keys.GivenFor(key));
  while (IsFailedPrecondition(started) && key > 0) {
    started = StartWith(data, keys.GivenFor(--key));
  }
  while (started.ok() && key + 1 < keys.size()) {
    started = StartWith(data, keys.GivenFor(++key));
  }
  return started;
}

void CuratorProcess::End() {
  if (gate_ != nullptr) gate_->Hold(false);
  studies_.reset();
  models_.reset();
  gate_.reset();
  twin_.reset();
  disk_store_.reset();
  disk_.AwaitIdle();
}

}  // namespace coppice::testing
