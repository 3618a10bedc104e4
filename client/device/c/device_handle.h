// What the handle of a device stands for.

#ifndef COPPICE_CLIENT_DEVICE_C_DEVICE_HANDLE_H_
#define COPPICE_CLIENT_DEVICE_C_DEVICE_HANDLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "client/device/c/coppice_device.h"
#include "client/device/journal.h"
#include "client/device/policy.h"
#include "client/device/relay/relayed_respondent.h"
#include "client/device/respondent.h"
#include "client/device/trust.h"
#include "common/privacy/openssl_random.h"

// At a fixed place: its parts refer to each other.
struct coppice_device {
  coppice_device(coppice::Policy allowed, const coppice::RelayPolicy& relay)
      : policy(std::move(allowed)), relay_policy(relay) {}

  const coppice::Policy policy;
  const coppice::RelayPolicy relay_policy;
  std::optional<uint64_t> max_total_nanos;
  std::function<int64_t()> clock;
  std::unique_ptr<coppice::Journal> journal;
  std::unique_ptr<coppice::Trust> trust;
  std::unique_ptr<coppice::Respondent> respondent;
  std::unique_ptr<coppice::RelayedRespondent> relayed;  // null: it visits no relay
  coppice::OpenSslRandom random;
  bool has_visit = false;
  bool in_callback = false;
};

#endif  // COPPICE_CLIENT_DEVICE_C_DEVICE_HANDLE_H_
