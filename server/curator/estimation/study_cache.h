// What models of a study are estimated with and no report changes, kept by study id. It is made for
// a study's first model; a full cache drops the value of the study that was used least recently.
//
// Errors   those of `make`.
// Threads  one at a time.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_STUDY_CACHE_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_STUDY_CACHE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice::curator {

template <typename Value>
class StudyCache {
 public:
  // `make()` returns a StatusOr<Value>.
  template <typename Make>
  StatusOr<std::shared_ptr<const Value>> Get(const std::string& study, Make make) {
    ++uses_;
    if (const auto known = values_.find(study); known != values_.end()) {
      known->second.last_use = uses_;
      return known->second.value;
    }
    COPPICE_ASSIGN_OR_RETURN(Value made, make());
    if (values_.size() >= kMaxValues) {
      values_.erase(std::min_element(
          values_.begin(), values_.end(),
          [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; }));
    }
    const auto value = std::make_shared<const Value>(std::move(made));
    values_[study] = {.value = value, .last_use = uses_};
    return value;
  }
  void Forget(const std::string& study) { values_.erase(study); }

  static constexpr size_t kMaxValues = 16;  // each takes up to about 30 megabytes

 private:
  struct CachedValue {
    std::shared_ptr<const Value> value;
    uint64_t last_use = 0;  // the number of that call
  };

  StringMap<CachedValue> values_;
  uint64_t uses_ = 0;  // calls of Get()
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_STUDY_CACHE_H_
