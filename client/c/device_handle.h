// What the handle of a device stands for.

#ifndef COPPICE_CLIENT_C_DEVICE_HANDLE_H_
#define COPPICE_CLIENT_C_DEVICE_HANDLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "client/c/coppice_device.h"
#include "client/journal.h"
#include "client/policy.h"
#include "client/respondent.h"
#include "client/trust.h"
#include "common/privacy/openssl_random.h"

// At a fixed place: its parts refer to each other.
struct coppice_device {
  explicit coppice_device(coppice::Policy allowed) : policy(std::move(allowed)) {}

  const coppice::Policy policy;
  std::optional<uint64_t> max_total_nanos;
  std::function<int64_t()> clock;
  std::unique_ptr<coppice::Journal> journal;
  std::unique_ptr<coppice::Trust> trust;
  std::unique_ptr<coppice::Respondent> respondent;
  coppice::OpenSslRandom random;
  bool has_visit = false;
};

#endif  // COPPICE_CLIENT_C_DEVICE_HANDLE_H_
