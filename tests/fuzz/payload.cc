// A report's payload: for any mechanism and domain, what Check() accepts is added, and what it
// refuses changes nothing. Input: mechanism, leaves, classes, epsilon, column, then the payload.

#include <algorithm>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "tests/fuzz/fuzz_input.h"

using coppice::testing::Require;
using coppice::testing::TakeByte;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = coppice::testing::AsBytes(data, size);
  const auto kinds = coppice::AllMechanismKinds();
  const coppice::MechanismKind kind = kinds[TakeByte(input) % kinds.size()];
  const coppice::Domain domain{.leaves = 1u + TakeByte(input) % 64,
                               .classes = 2u + TakeByte(input) % 3};
  const auto epsilon =
      coppice::Budget::FromNanos((1 + uint64_t{TakeByte(input)} % 80) * 100'000'000);
  const uint8_t column = TakeByte(input);
  const auto mechanism = coppice::MakeLocalMechanism(kind, *epsilon, domain);
  if (!mechanism.ok()) return 0;  // it does not take this many classes

  std::vector<int64_t> sums((*mechanism)->sum_size(), 7);
  const std::vector<int64_t> before = sums;
  const bool accepted = (*mechanism)->Check(input).ok();
  const coppice::Status added =
      (*mechanism)->Add(input, column % (*mechanism)->columns(), absl::MakeSpan(sums));
  Require(added.ok() == accepted, "Add() and Check() differ");
  Require(accepted || sums == before, "a refused payload was added");
  return 0;
}
