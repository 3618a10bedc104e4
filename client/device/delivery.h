// What becomes of a report that a device sent.

#ifndef COPPICE_CLIENT_DEVICE_DELIVERY_H_
#define COPPICE_CLIENT_DEVICE_DELIVERY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace coppice {

enum class Delivery : uint8_t {
  kAccepted,      // by a relay: it is on the relay's disk
  kDuplicate,     // counted before: as good as accepted
  kRefused,       // for good; it is never sent again, and its epsilon stays spent
  kUnknownStudy,  // deleted, or never this curator's
};

struct DeliveryResult {
  Delivery delivery;
  std::string reason = {};  // in words, for kRefused and kUnknownStudy
};

struct Deliveries {
  uint64_t accepted = 0;
  uint64_t duplicate = 0;
  std::vector<std::string> refused;  // one reason per report
  std::vector<std::string> unknown;  // one study per report; they wait on
  uint64_t of_other_curators = 0;    // wait for theirs
  uint64_t of_relays = 0;            // wait for another relay, or for one at all
  uint64_t payload_bytes = 0;        // of all reports that a result came for

  uint64_t delivered() const { return accepted + duplicate; }
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_DELIVERY_H_
