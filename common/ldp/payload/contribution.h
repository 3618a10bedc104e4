// One report as the curator adds it up: the device's payload, and the public column that the ticket
// fixed.

#ifndef COPPICE_COMMON_LDP_PAYLOAD_CONTRIBUTION_H_
#define COPPICE_COMMON_LDP_PAYLOAD_CONTRIBUTION_H_

#include <cstdint>
#include <string_view>

namespace coppice {

struct Contribution {
  std::string_view payload;
  uint32_t column = 0;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_PAYLOAD_CONTRIBUTION_H_
