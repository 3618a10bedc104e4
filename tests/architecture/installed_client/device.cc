// The smallest device: one leaf, one row, one report.

#include <cstdio>
#include <memory>

#include "client/device/privatizer.h"
#include "common/privacy/openssl_random.h"

int main() {
  using namespace coppice;
  const auto schema = Schema::Create({{.name = "x", .min = 0, .max = 1}}, "y", {"no", "yes"});
  Terms terms{.study = "s",
              .schema = std::make_shared<const Schema>(*schema),
              .trees = 1,
              .epsilon = *Budget::Parse("1"),
              .mechanism = MechanismKind::kOptimizedUnary};
  const auto privatizer = Privatizer::Create(terms, Fingerprint{}, AllTrees({Tree::SingleLeaf()}));
  OpenSslRandom random;
  const auto report = privatizer->Privatize({{0.5}, 1}, Ticket{}, random);
  std::printf("%zu bytes\n", report.ok() ? report->payload.size() : 0);
  return report.ok() ? 0 : 1;
}
