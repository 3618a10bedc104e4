// The access policy's JSON.

#include "server/serving/access/policy_file.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)coppice::access::ParsePolicy(coppice::testing::AsBytes(data, size));
  return 0;
}
