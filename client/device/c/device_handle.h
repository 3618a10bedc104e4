// What the handle of a device stands for.

#ifndef COPPICE_CLIENT_DEVICE_C_DEVICE_HANDLE_H_
#define COPPICE_CLIENT_DEVICE_C_DEVICE_HANDLE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "client/device/c/coppice_device.h"
#include "client/device/journal_store.h"
#include "client/device/policy.h"
#include "client/device/session.h"
#include "common/privacy/openssl_random.h"

// At a fixed place: sessions refer to its parts.
struct coppice_device {
  explicit coppice_device(coppice::Policy allowed) : policy(std::move(allowed)) {}

  std::string subject;
  coppice::Policy policy;
  coppice::OfferPolicy offers;
  coppice::KnownRelay relay;
  bool knows_relay = false;  // else it visits none
  std::optional<uint64_t> max_total_nanos;
  std::function<int64_t()> clock;  // seconds since 1970
  std::unique_ptr<coppice::JournalStore> journal;
  coppice::OpenSslRandom random;
  bool has_visit = false;
  bool in_callback = false;

  coppice::DeviceTime Now() const;
};

#endif  // COPPICE_CLIENT_DEVICE_C_DEVICE_HANDLE_H_
