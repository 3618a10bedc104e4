// Tells which answers belong to a curator; asks it once per key, however many answers wait.

#ifndef COPPICE_CLIENT_DEVICE_CURATOR_CHECK_H_
#define COPPICE_CLIENT_DEVICE_CURATOR_CHECK_H_

#include <functional>
#include <map>
#include <utility>

#include "client/device/journal.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/terms/signature.h"

namespace coppice {

// Errors     Those of `check`, except FailedPrecondition, which means no. Errors are not
//            remembered.
// Threads    one at a time.
class CuratorCheck {
 public:
  // `check` is CuratorLink::CheckIs() of the curator at hand.
  explicit CuratorCheck(std::function<Status(const PublicKey& root)> check)
      : check_(std::move(check)) {}

  // Returns whether the answer is for the curator at hand. False if no curator is known for it, and
  // for an answer through a relay: its ticket would tell the curator whose it is.
  StatusOr<bool> Owns(const JournalEntry& entry) {
    if (!entry.curator.has_value() || entry.sealed.has_value()) return false;
    const auto known = known_.find(*entry.curator);
    if (known != known_.end()) return known->second;
    const Status is = check_(*entry.curator);
    if (!is.ok() && !IsFailedPrecondition(is)) return is;
    return known_[*entry.curator] = is.ok();
  }

 private:
  std::function<Status(const PublicKey&)> check_;
  std::map<PublicKey, bool> known_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_CURATOR_CHECK_H_
