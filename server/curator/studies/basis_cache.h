// The smooth estimator's bases of the studies that models were built of lately.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_BASIS_CACHE_H_
#define COPPICE_SERVER_CURATOR_STUDIES_BASIS_CACHE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "common/base/status_macros.h"
#include "common/data/table.h"
#include "server/curator/estimation/smooth_basis.h"
#include "server/curator/study/study.h"

namespace coppice::curator {

// Makes a study's basis for its first model and keeps it, since it does not depend on reports.
//
// Errors   those of SmoothBasis::Create().
// Threads  one at a time.
class BasisCache {
 public:
  absl::StatusOr<std::shared_ptr<const SmoothBasis>> Get(const Study& study, const Table& rows) {
    if (const auto known = bases_.find(study.id()); known != bases_.end()) return known->second;
    COPPICE_ASSIGN_OR_RETURN(SmoothBasis made,
                             SmoothBasis::Create(*study.definition().model_forest, rows));
    if (bases_.size() >= kMaxBases) bases_.erase(bases_.begin());
    const auto basis = std::make_shared<const SmoothBasis>(std::move(made));
    bases_[study.id()] = basis;
    return basis;
  }

  void Forget(const std::string& study) { bases_.erase(study); }

 private:
  static constexpr size_t kMaxBases = 16;  // each takes up to some 30 megabytes

  absl::btree_map<std::string, std::shared_ptr<const SmoothBasis>> bases_;  // by study
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_BASIS_CACHE_H_
