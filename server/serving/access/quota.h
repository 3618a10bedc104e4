// The limits of what one owner may have and request.

#ifndef COPPICE_SERVER_SERVING_ACCESS_QUOTA_H_
#define COPPICE_SERVER_SERVING_ACCESS_QUOTA_H_

#include <cstdint>
#include <functional>
#include <string>

namespace coppice::owners {

// Units      0 means no limit.
struct Quota {
  uint64_t studies = 0;             // not counting deleted ones
  uint64_t datasets = 0;            // not counting deleted ones
  uint64_t bytes = 0;               // of all datasets: of rows, 8 per value, and of schemas
  uint64_t jobs = 0;                // queued or running, at a time
  uint64_t models = 0;              // of all studies and jobs, and to come from jobs under way
  uint64_t model_bytes = 0;         // of their records; a job under way counts with its bound
  uint64_t tickets_per_second = 0;  // of all studies, without submission tokens
};

// Returns the current quota of an owner.
using QuotaFinder = std::function<Quota(const std::string& owner)>;
inline Quota NoQuota(const std::string& /*owner*/) { return {}; }

}  // namespace coppice::owners

#endif  // COPPICE_SERVER_SERVING_ACCESS_QUOTA_H_
