// An offer to a device: the terms' bytes, and a tree with its path to their root. Input: the length
// of the terms (two bytes), the terms, then the tree.

#include "common/wire/terms.h"

#include <string>
#include <string_view>

#include "common/wire/proto/convert.h"
#include "tests/fuzz/fuzz_input.h"

using coppice::testing::Require;
using coppice::testing::TakeByte;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = coppice::testing::AsBytes(data, size);
  const size_t length = TakeByte(input) + 256u * TakeByte(input);
  const std::string_view bytes = input.substr(0, length);
  input.remove_prefix(bytes.size());
  const auto terms = coppice::ReadTerms(bytes);
  if (!terms.ok()) return 0;
  Require(coppice::ValidateTerms(*terms).ok(), "terms that do not validate were parsed");
  const std::string again = coppice::SerializeTerms(*terms);
  Require(coppice::SerializeTerms(*coppice::ReadTerms(again)) == again, "terms changed on the way");

  coppice::v1::Tree proto;
  if (!proto.ParseFromArray(input.data(), static_cast<int>(input.size()))) return 0;
  const auto tree = coppice::ParseTree(proto, *terms->schema);
  if (!tree.ok()) return 0;
  Require(*coppice::ParseTree(coppice::ToProto(*tree), *terms->schema) == *tree,
          "a tree changed on the way");
  return 0;
}
