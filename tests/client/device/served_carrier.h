// Carries a device's calls to services in this process.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_SERVED_CARRIER_H_
#define COPPICE_TESTS_CLIENT_DEVICE_SERVED_CARRIER_H_

#include <mutex>
#include <string>

#include "client/device/run_session.h"

namespace coppice::testing {

// `Services` has Serve() as ScriptedServices and ScriptedRelay have it.
template <typename Services>
class ServedCarrier final : public Carrier {
 public:
  explicit ServedCarrier(Services& services) : services_(services) {}

  StatusOr<std::string> Carry(const DeviceCall& call) override {
    const std::lock_guard lock(mutex_);
    std::string response;
    const int32_t code = services_.Serve(call.method, call.request, response);
    if (code == 0) return response;
    return Status(static_cast<StatusCode>(code), "the call failed");
  }

 private:
  std::mutex mutex_;
  Services& services_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_SERVED_CARRIER_H_
