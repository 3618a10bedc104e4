// The access policy in force, which can be replaced while calls go on.

#ifndef COPPICE_SERVER_SERVING_ACCESS_ACCESS_CONTROL_H_
#define COPPICE_SERVER_SERVING_ACCESS_ACCESS_CONTROL_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/serving/access/access_policy.h"

namespace coppice::access {

// Guarantee  One policy judges a call from end to end. A rejected file changes nothing: the policy
//            before it stays.
// Threads    safe to share.
class AccessControl {
 public:
  // Reads the policy in the file `path`. InvalidArgument if it lists certificates and
  // `takes_certificates` is false, because then no client is asked for one.
  static StatusOr<std::unique_ptr<AccessControl>> Open(const std::string& path,
                                                       bool takes_certificates);

  // Reads the file again.
  Status ReloadPolicy();

  std::shared_ptr<const AccessPolicy> policy() const {
    const MutexLock lock(mutex_);
    return policy_;
  }

 private:
  AccessControl(std::string path, bool takes_certificates)
      : path_(std::move(path)), takes_certificates_(takes_certificates) {}

  const std::string path_;
  const bool takes_certificates_;
  mutable Mutex mutex_;
  std::shared_ptr<const AccessPolicy> policy_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::access

#endif  // COPPICE_SERVER_SERVING_ACCESS_ACCESS_CONTROL_H_
