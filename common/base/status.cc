#include "common/base/status.h"

#include <cerrno>
#include <system_error>

namespace coppice {
namespace {

StatusCode CodeOf(int error) {
  switch (error) {
    case EINVAL:
    case ENAMETOOLONG:
    case EISDIR:
    case ENOTDIR:
      return StatusCode::kInvalidArgument;
    case ENOENT:
    case ENODEV:
    case ENXIO:
      return StatusCode::kNotFound;
    case EEXIST:
      return StatusCode::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return StatusCode::kPermissionDenied;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
      return StatusCode::kResourceExhausted;
    case EAGAIN:
    case EINTR:
    case EIO:
    case EBUSY:
      return StatusCode::kUnavailable;
    default:
      return StatusCode::kUnknown;
  }
}

}  // namespace

Status ErrnoToStatus(int error, std::string_view message) {
  return Status(CodeOf(error),
                std::string(message) + ": " + std::generic_category().message(error));
}

}  // namespace coppice
