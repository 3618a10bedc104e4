// Checkpoints of training jobs: what a job released so far, and what a second run must share with
// the first, so that the job goes on after a crash at no further charge.
//
// A job that begins stores its start: the seed of its coins, a digest of its rows, and the public
// rows that came with it. Then each checkpoint adds what was released since the one before. The
// job's own record names the last of them by number and hash, in the same batch, and each names the
// one before it: records of another job, another time or another store do not fit. They are stored
// beside the dataset's rows (central_keys.h), so that what seals, deletes and purges those does the
// same to them, and go in the batch that ends the job.
//
// Noise is never stored: a value is stored as it was released, and what was drawn after the last
// checkpoint is lost with the process.
//
// Errors     FailedPrecondition if the checkpoints are not there, as in a copy of a store, or if
//            another version began the job; DataLoss names the record that is damaged or is not
//            the one that the job's record names.

#ifndef COPPICE_SERVER_DATASETS_CHECKPOINTS_H_
#define COPPICE_SERVER_DATASETS_CHECKPOINTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/coins/coins.h"
#include "common/table/table.h"
#include "common/terms/sha256.h"
#include "server/datasets/job.h"
#include "server/datasets/public_rows.h"
#include "server/store/store.h"
#include "server/trainers/core/resumable_releaser.h"

namespace coppice::central {

// Digests rows, under the seed, which keeps the digest from confirming a guess at a missing row.
class KeyedRowsDigest {
 public:
  explicit KeyedRowsDigest(const CoinSeed& seed) { sha256_.Add(seed.bytes()); }

  void Add(const Table& block);
  // Call once, at the end.
  std::string Finish();

 private:
  Sha256Stream sha256_;
};

struct JobStart {
  CoinSeed seed;
  std::string rows_digest{};
  PublicRowBlock public_rows{};
};

// What a job left behind that was cut short.
struct KeptRun {
  JobStart start;
  std::vector<trainers::ReleasedValues> released{};
};

// Adds the start of a job to the batch that begins it, and returns where it goes on from there.
ResumePoint PutStart(std::string_view dataset, std::string_view job, const JobStart& start,
                     storage::StoreBatch& batch);
// Adds what was released since `last`, and returns where the job goes on from there.
ResumePoint PutCheckpoint(std::string_view dataset, std::string_view job, const ResumePoint& last,
                          absl::Span<const trainers::ReleasedValues> released,
                          storage::StoreBatch& batch);
// Removes all of it.
void DeleteCheckpoints(std::string_view dataset, std::string_view job, storage::StoreBatch& batch);

StatusOr<KeptRun> ReadKeptRun(const storage::Store& store, std::string_view dataset,
                              std::string_view job, const ResumePoint& last);

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_CHECKPOINTS_H_
