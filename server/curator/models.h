// The models of all studies, in memory and in the store.
//
// Errors   Load(): DataLoss. Get(): NotFound.
// Threads  safe to share; Save() and RemoveOf() one at a time.

#ifndef COPPICE_SERVER_CURATOR_MODELS_H_
#define COPPICE_SERVER_CURATOR_MODELS_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/data/table.h"
#include "common/tree/model.h"
#include "server/curator/estimator.h"
#include "server/curator/smooth_basis.h"
#include "server/curator/studies.h"
#include "server/curator/study.h"
#include "server/storage/store.h"

namespace coppice {

// Estimates `study` from its sums as they are now. `basis` is that of its forest and public rows;
// only kSmooth needs it.
absl::StatusOr<Model> EstimateModel(const Study& study, const Table& public_rows,
                                    const SmoothBasis* basis, const EstimatorOptions& options);

class Models {
 public:
  absl::Status Load(const Store& store);
  absl::Status Save(Store& store, ModelInfo info);
  // Forgets the models of a study; the caller removes them from the store.
  void RemoveOf(absl::string_view study);

  absl::StatusOr<ModelInfo> Get(absl::string_view id) const;
  std::vector<ModelInfo> List(absl::string_view study, const Page& page) const;

 private:
  mutable std::mutex mutex_;
  absl::btree_map<std::string, ModelInfo> models_;  // guarded by mutex_
};

}  // namespace coppice

#endif  // COPPICE_SERVER_CURATOR_MODELS_H_
