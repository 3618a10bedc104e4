#include "server/curator/spool/batch_spool.h"

#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/curator/study/study_sealing.h"

namespace coppice::curator {

StatusOr<BatchProgress> BatchSpool::Receive(const std::shared_ptr<Study>& study,
                                            const BatchPart& part, int64_t now_unix_seconds) {
  COPPICE_ASSIGN_OR_RETURN(const BatchProgress progress,
                           ReceivePart(store_, room_, *study, part, now_unix_seconds));
  if (progress.state == BatchState::kStored) opener_.Add(study);
  return progress;
}

void BatchSpool::Resume(absl::Span<const std::shared_ptr<Study>> studies) {
  for (const std::shared_ptr<Study>& study : studies) opener_.Add(study);
}

Status BatchSpool::Seal(Study& study, absl::FunctionRef<Status(storage::StoreBatch)> change) {
  const MutexLock lock(study.batches().receiving());
  return intake_.RunOnCommitter([&]() -> Status {
    storage::StoreBatch batch;
    DropReceiving(study, batch);
    COPPICE_RETURN_IF_ERROR(change(std::move(batch)));
    for (const RelayBatch& dropped : study.batches().InState(BatchState::kReceiving)) {
      study.batches().Set(Dropped(dropped));
    }
    return OkStatus();
  });
}

Status BatchSpool::Retire(Study& study, absl::FunctionRef<Status(storage::StoreBatch)> change) {
  const MutexLock lock(study.batches().receiving());
  return intake_.RunOnCommitter([&]() -> Status {
    storage::StoreBatch batch;
    const std::vector<RelayBatch> dropped = study.batches().InState(BatchState::kStored);
    DropStored(study, dropped, batch);
    COPPICE_RETURN_IF_ERROR(change(std::move(batch)));
    study.batches().Forget(dropped);
    return OkStatus();
  });
}

Status BatchSpool::Delete(Study& study, absl::FunctionRef<Status()> change) {
  const MutexLock lock(study.batches().receiving());
  return intake_.RunOnCommitter(change);
}

Status BatchSpool::EraseKeysOnceCounted(Study& study) {
  const bool is_open = study.life().Admission() == ReportOutcome::kAccepted;
  const std::shared_ptr<const SealingKeys> keys = study.keys().Get();
  if (is_open || keys == nullptr || keys->erased() || study.batches().waiting() > 0) {
    return OkStatus();
  }
  if (!opener_.HasForgottenKeysOf(study)) return OkStatus();
  return intake_.RunOnCommitter([&] {
    const bool is_there = study.life().AdmissionOfStored() == ReportOutcome::kAccepted;
    return is_there ? EraseSealingKeys(store_, study) : OkStatus();
  });
}

}  // namespace coppice::curator
