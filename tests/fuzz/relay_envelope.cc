// What a relay deals to a device: its envelope, and the terms that the device decides by, as bytes
// without the signature that would hide them.

#include <memory>
#include <string>
#include <string_view>

#include "client/device/deal.h"
#include "common/base/status.h"
#include "common/wire/calls.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/schemas.h"

namespace coppice {
namespace {

using testing::Require;

Deal SomeDeal() {
  const Terms terms{.study = "s",
                    .schema = std::make_shared<const Schema>(
                        *Schema::Create({testing::Numeric("x", 0, 10)}, "y", {"no", "yes"})),
                    .trees = 1,
                    .epsilon = *Budget::Parse("1"),
                    .mechanism = MechanismKind::kDirect};
  return {.relay = {}, .terms = terms, .sealing = {}};
}

void OpenOne(std::string_view bytes) {
  static const Deal& deal = *new Deal(SomeDeal());
  const StatusOr<DealtTicket> dealt = OpenEnvelope(deal, bytes);
  Require(dealt.ok() || IsDataLoss(dealt.status()), "an envelope fails in another way");
  // No made-up tree hashes to the terms' root.
  if (dealt.ok()) Require(dealt->trees.empty(), "a tree that the terms do not stand for");
}

void ReadPromise(std::string_view bytes) {
  const StatusOr<RelayTerms> terms = ReadRelayTerms(bytes);
  if (terms.ok()) Require(WriteRelayTerms(*terms) == bytes, "terms are not understood in full");
}

}  // namespace
}  // namespace coppice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input = coppice::testing::AsBytes(data, size);
  coppice::OpenOne(input);
  coppice::ReadPromise(input);
  return 0;
}
