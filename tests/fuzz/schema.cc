// Schema JSON.

#include "common/table/schema_file.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)coppice::ParseSchema(coppice::testing::AsBytes(data, size));
  return 0;
}
