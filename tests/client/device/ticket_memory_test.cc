// What a ticket takes to answer, whatever tree a hostile curator chose for it: no more than was set
// aside before there was a ticket, or silence would tell who had it.

#include <functional>
#include <string>
#include <vector>

#include "client/device/deal.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/merkle.h"
#include "common/wire/message_writer.h"
#include "tests/client/device/fake_deal.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/taken_memory.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeDeal;
using ::coppice::testing::Numeric;
using ::coppice::testing::PeakBytesOf;

constexpr char kLeaf = 1;
constexpr char kNumericSplit = 2;
constexpr char kMissingSplit = 4;

// The columns of a tree as they are sent, one byte a kind and a feature.
struct Columns {
  std::string kinds, features, thresholds, missing_left;

  void Split(char kind) {
    kinds.push_back(kind);
    features.push_back(0);
    if (kind != kNumericSplit) return;
    thresholds.append(8, '\0');
    missing_left.push_back(0);
  }
  std::string Bytes() const {
    MessageWriter tree;
    tree.Element(1, kinds);
    if (!features.empty()) tree.Element(2, features);
    if (!thresholds.empty()) tree.Element(3, thresholds);
    if (!missing_left.empty()) tree.Element(5, missing_left);
    return tree.Finish();
  }
};

void GrowBalanced(size_t splits, char kind, Columns& columns) {
  if (splits == 0) {
    columns.kinds.push_back(kLeaf);
    return;
  }
  columns.Split(kind);
  const size_t left = (splits - 1) / 2;
  GrowBalanced(left, kind, columns);
  GrowBalanced(splits - 1 - left, kind, columns);
}

struct Shape {
  const char* name;
  std::string tree;
};

std::vector<Shape> WorstShapes() {
  std::vector<Shape> shapes;
  for (const size_t splits : {size_t{1000}, size_t{40'000}, size_t{300'000}, size_t{524'287}}) {
    Columns missing;
    GrowBalanced(splits, kMissingSplit, missing);
    shapes.push_back({"balanced, the shortest split", missing.Bytes()});
  }
  Columns numeric;
  GrowBalanced(100'000, kNumericSplit, numeric);
  shapes.push_back({"balanced, thresholds", numeric.Bytes()});
  Columns no_features;
  GrowBalanced(524'287, kMissingSplit, no_features);
  no_features.features.clear();
  shapes.push_back({"splits without their features", no_features.Bytes()});
  Columns chain;
  for (int i = 0; i < 500'000; ++i) chain.Split(kMissingSplit);
  shapes.push_back({"splits without an end", chain.Bytes()});
  Columns leaves;
  leaves.kinds.assign(1'000'000, kLeaf);
  shapes.push_back({"leaves alone", leaves.Bytes()});
  Columns many;
  many.kinds.assign(4'000'000, kLeaf);
  shapes.push_back({"more than a tree may have", many.Bytes()});
  Columns thresholds;
  thresholds.kinds = kLeaf;
  thresholds.thresholds.assign(4'000'000, '\0');
  shapes.push_back({"thresholds of no split", thresholds.Bytes()});
  Columns features;
  features.kinds = kLeaf;
  features.features.assign(1'000'000, '\0');
  shapes.push_back({"features of no split", features.Bytes()});
  return shapes;
}

// A deal whose only tree these bytes are, and the envelope that a device gets.
struct Dealt {
  Deal deal = FakeDeal();
  std::string envelope;
};
Dealt DealOf(const std::string& tree) {
  const std::vector<std::string> trees = {tree};
  Dealt dealt;
  dealt.deal.terms.schema =
      std::make_shared<const Schema>(*Schema::Create({Numeric("x", 0, 10)}, "y", {"no", "yes"}));
  dealt.deal.terms.trees = 1;
  dealt.deal.terms.forest_root = MakeMerkleTree(trees).root;
  dealt.deal.terms.mechanism = MechanismKind::kDirect;
  dealt.deal.sealing.payload_bytes = 3;
  MessageWriter offer;
  offer.Bytes(1, std::string(32, 'T'));
  offer.Bytes(2, std::string(16, 'C'));
  offer.Bytes(3, tree);
  const std::string content = offer.Finish();
  dealt.deal.relay.offer_bytes = static_cast<uint32_t>(content.size() + 4);
  dealt.envelope = testing::Envelope(content, dealt.deal.relay.offer_bytes);
  return dealt;
}

// As the session does.
void Answer(const Dealt& dealt) {
  StatusOr<DealtTicket> ticket = OpenEnvelope(dealt.deal, dealt.envelope);
  ASSERT_OK(ticket.status());
  const auto privatizer = MakePrivatizer(dealt.deal, std::move(ticket->trees));
  ASSERT_OK(privatizer.status());
  if (!privatizer->CheckTicket(ticket->ticket).ok()) return;
  OpenSslRandom random;
  auto blank = privatizer->BlankFor(ticket->ticket);
  ASSERT_OK(blank.status());
  ASSERT_OK(privatizer->Privatize({.row = {3}, .label = 1}, *std::move(blank), random).status());
}

TEST(TicketMemoryTest, TakesNoMoreThanWasSetAsideWhateverTheTree) {
  for (const Shape& shape : WorstShapes()) {
    const Dealt dealt = DealOf(shape.tree);
    const uint64_t taken = PeakBytesOf([&] { Answer(dealt); });
    EXPECT_LE(taken, MemoryToAnswer(dealt.deal))
        << shape.name << ": " << taken / shape.tree.size() << " bytes for each byte of the offer";
  }
}

}  // namespace
}  // namespace coppice
