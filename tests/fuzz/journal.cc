// A device's journal: the frames after the header, and a single body without the check sum that
// would hide it.

#include <string_view>

#include "client/device/journal_format.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = coppice::testing::AsBytes(data, size);
  (void)coppice::DecodeBody(input);
  coppice::FrameDigest digest = coppice::FirstFrameDigest();
  while (!input.empty()) {
    const auto frame = coppice::ParseFrame(digest, input);
    if (!frame.ok() || frame->torn) break;
    coppice::testing::Require(frame->size > 0, "a frame without an end");
    (void)coppice::DecodeBody(frame->body);
    digest = frame->digest;
    input.remove_prefix(frame->size);
  }
  return 0;
}
