// A device's journal: a whole one, the frames after the header, and a single body without the check
// sum that would hide it.

#include "client/device/journal.h"

#include <string_view>

#include "client/device/journal_format.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = coppice::testing::AsBytes(data, size);
  if (const auto journal = coppice::Journal::Open(input); journal.ok()) {
    coppice::testing::Require((*journal)->SizeBytes() <= size, "more bytes than there are");
    coppice::testing::Require((*journal)->Forget(INT64_MAX).ok(), "it cannot be written anew");
  }
  (void)coppice::DecodeRecord(input);
  coppice::FrameDigest digest = coppice::FirstFrameDigest();
  while (!input.empty()) {
    const auto frame = coppice::ParseFrame(digest, input);
    if (!frame.ok() || frame->torn) break;
    coppice::testing::Require(frame->size > 0, "a frame without an end");
    (void)coppice::DecodeRecord(frame->body);
    digest = frame->digest;
    input.remove_prefix(frame->size);
  }
  return 0;
}
