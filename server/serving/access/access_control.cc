#include "server/serving/access/access_control.h"

#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/serving/access/policy_file.h"

namespace coppice::access {

StatusOr<std::unique_ptr<AccessControl>> AccessControl::Open(const std::string& path,
                                                             bool takes_certificates) {
  std::unique_ptr<AccessControl> control(new AccessControl(path, takes_certificates));
  COPPICE_RETURN_IF_ERROR(control->ReloadPolicy());
  return control;
}

Status AccessControl::ReloadPolicy() {
  COPPICE_ASSIGN_OR_RETURN(AccessPolicy read, ReadPolicy(path_));
  if (!takes_certificates_ && !read.certificates().empty()) {
    return InvalidArgumentError(
        StrCat(path_,
               ": certificates are asked for with --client-ca only: add it, or leave "
               "\"certificates\" out"));
  }
  auto policy = std::make_shared<const AccessPolicy>(std::move(read));
  const MutexLock lock(mutex_);
  policy_.swap(policy);
  return OkStatus();
}

}  // namespace coppice::access
