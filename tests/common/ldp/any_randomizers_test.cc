// Tests the bound by enumeration of deals and outputs on random randomizers: all different, picked
// to come near the bound, and dependent on earlier answers. Also tests what the bound needs of a
// deal: whatever dishonest devices and a network do that see only their own tickets, every deal of
// the other tickets stays equally likely.

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "common/base/text.h"
#include "common/ldp/amplification.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using Law = std::vector<std::vector<double>>;  // [row][output]
using DrawnOutputs = std::vector<size_t>;
using Deal = std::vector<size_t>;  // the device of each ticket; 0 is the victim

// Returns the randomizer of the next ticket, given the answers `earlier`.
using Randomizers = std::function<const Law&(const DrawnOutputs& earlier)>;

class Draws {
 public:
  explicit Draws(uint64_t seed) : engine_(seed) {}
  double Real() { return std::uniform_real_distribution<double>(0, 1)(engine_); }
  size_t Below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(engine_);
  }

  // Draws an e-LDP law: a vertex of the polytope of rows above a random blanket.
  Law RandomLaw(size_t rows, size_t outputs, double e) {
    std::vector<double> blanket(outputs);
    for (double& part : blanket) part = Real() < 0.3 ? 1 : Real() + 1e-3;
    const double sum = std::accumulate(blanket.begin(), blanket.end(), 0.0);
    const double wanted = Real() < 0.4 ? 2 / (e + 1) : 1 / e + (1 - 1 / e) * Real();
    for (double& part : blanket) part *= wanted / sum;
    Law law;
    for (size_t row = 0; row < rows; ++row) law.push_back(RandomRow(blanket, e));
    return law;
  }

 private:
  std::vector<double> RandomRow(const std::vector<double>& blanket, double e) {
    std::vector<size_t> order(blanket.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), engine_);
    std::vector<double> row = blanket;
    double left = 1 - std::accumulate(blanket.begin(), blanket.end(), 0.0);
    for (const size_t output : order) {
      const double more = std::min(left, (e - 1) * blanket[output]);
      row[output] += more;
      left -= more;
    }
    return row;
  }

  std::mt19937_64 engine_;
};

std::vector<Deal> AllDeals(size_t tickets) {
  Deal deal(tickets);
  std::iota(deal.begin(), deal.end(), 0);
  std::vector<Deal> deals;
  do {
    deals.push_back(deal);
  } while (std::next_permutation(deal.begin(), deal.end()));
  return deals;
}

// The exact delta for an observer of every ticket's output: the victim has row 0 or row 1, the
// others' rows are known, and each deal is equally likely.
double ExactDelta(const std::vector<Deal>& deals, const Randomizers& randomizers, size_t outputs,
                  const std::vector<size_t>& others, double epsilon) {
  const size_t tickets = deals.front().size();
  DrawnOutputs seen;
  double sum = 0;
  std::function<void(const std::vector<double>&, const std::vector<double>&)> visit =
      [&](const std::vector<double>& with_0, const std::vector<double>& with_1) {
        if (seen.size() == tickets) {
          const double p0 = std::accumulate(with_0.begin(), with_0.end(), 0.0);
          const double p1 = std::accumulate(with_1.begin(), with_1.end(), 0.0);
          sum += std::max(0.0, p0 - std::exp(epsilon) * p1);
          return;
        }
        const Law& law = randomizers(seen);
        const size_t ticket = seen.size();
        for (size_t output = 0; output < outputs; ++output) {
          std::vector<double> next_0 = with_0, next_1 = with_1;
          for (size_t i = 0; i < deals.size(); ++i) {
            const size_t device = deals[i][ticket];
            next_0[i] *= law[device == 0 ? 0 : others[device - 1]][output];
            next_1[i] *= law[device == 0 ? 1 : others[device - 1]][output];
          }
          seen.push_back(output);
          visit(next_0, next_1);
          seen.pop_back();
        }
      };
  const std::vector<double> ones(deals.size(), 1.0 / static_cast<double>(deals.size()));
  visit(ones, ones);
  return sum;
}

// The exact delta as a share of the bound; the largest over epsilons and others' rows.
double LargestShare(const std::vector<Deal>& deals, const Randomizers& randomizers, size_t rows,
                    size_t outputs, const Budget& local) {
  const size_t tickets = deals.front().size();
  double largest = 0;
  for (const double part : {0.0, 0.2, 0.5, 0.8}) {
    const auto nanos = static_cast<uint64_t>(part * static_cast<double>(local.nanos()));
    const double bound = *DeltaBound({tickets, local, MaxTwoSidedMass(local)}, nanos);
    std::vector<size_t> others(tickets - 1, 0);
    while (true) {
      const double exact =
          ExactDelta(deals, randomizers, outputs, others, 1e-9 * static_cast<double>(nanos));
      largest = std::max(largest, exact / bound);
      size_t at = 0;
      while (at < others.size() && ++others[at] == rows) others[at++] = 0;
      if (at == others.size()) break;
    }
  }
  return largest;
}

// One law per ticket, or per ticket and the answers before it.
class Laws {
 public:
  Laws(size_t tickets, size_t outputs, bool adaptive) : outputs_(outputs), adaptive_(adaptive) {
    size_t nodes = 0;
    for (size_t i = 0, width = 1; i < tickets; ++i) {
      nodes += adaptive ? width : 1;
      width *= outputs;
    }
    laws_.resize(nodes);
  }
  size_t size() const { return laws_.size(); }
  Law& at(size_t i) { return laws_[i]; }

  const Law& operator()(const DrawnOutputs& earlier) const {
    if (!adaptive_) return laws_[earlier.size()];
    size_t first = 0, width = 1, place = 0;
    for (const size_t output : earlier) {
      first += width;
      width *= outputs_;
      place = place * outputs_ + output;
    }
    return laws_[first + place];
  }

 private:
  size_t outputs_;
  bool adaptive_;
  std::vector<Law> laws_;
};

// Replaces one law after the other by random ones, and keeps those that come nearer to the bound.
double Climb(size_t tickets, size_t rows, size_t outputs, bool adaptive, const Budget& local,
             int steps, Draws& draws) {
  const double e = std::exp(local.epsilon());
  const std::vector<Deal> deals = AllDeals(tickets);
  Laws laws(tickets, outputs, adaptive);
  for (size_t i = 0; i < laws.size(); ++i) laws.at(i) = draws.RandomLaw(rows, outputs, e);
  double best = LargestShare(deals, laws, rows, outputs, local);
  for (int step = 0; step < steps; ++step) {
    Laws tried = laws;
    tried.at(draws.Below(laws.size())) = draws.RandomLaw(rows, outputs, e);
    const double share = LargestShare(deals, tried, rows, outputs, local);
    EXPECT_LE(share, 1 + 1e-9);
    if (share <= best) continue;
    best = share;
    laws = tried;
  }
  return best;
}

TEST(AnyRandomizersTest, NoRandomizersExceedTheBoundAndSomeReachIt) {
  Draws draws(1);
  for (const char* epsilon : {"0.5", "2", "4"}) {
    const Budget local = *Budget::Parse(epsilon);
    for (const auto& [tickets, rows, outputs, steps] : std::vector<std::array<size_t, 4>>{
             {1, 3, 3, 100}, {2, 2, 2, 600}, {2, 3, 3, 600}, {3, 2, 3, 300}, {4, 2, 2, 200}}) {
      SCOPED_TRACE(StrCat(epsilon, ": ", tickets, " tickets, ", outputs, " outputs"));
      const double best =
          Climb(tickets, rows, outputs, false, local, static_cast<int>(steps), draws);
      EXPECT_GT(best, tickets < 3 ? 0.9 : 0.6);
    }
  }
}

// Stronger than needed: the curator sees each answer, in the order of tickets, before it chooses
// the next randomizer.
TEST(AnyRandomizersTest, StaysWithinTheBoundIfRandomizersDependOnEarlierAnswers) {
  Draws draws(2);
  for (const char* epsilon : {"0.5", "2", "4"}) {
    const Budget local = *Budget::Parse(epsilon);
    for (const auto& [tickets, rows, outputs, steps] :
         std::vector<std::array<size_t, 4>>{{2, 2, 2, 300}, {2, 3, 3, 200}, {3, 2, 2, 200}}) {
      SCOPED_TRACE(StrCat(epsilon, ": ", tickets, " tickets, ", outputs, " outputs"));
      EXPECT_GT(Climb(tickets, rows, outputs, true, local, static_cast<int>(steps), draws), 0.8);
    }
  }
}

Law Response(double e) { return {{e / (e + 1), 1 / (e + 1)}, {1 / (e + 1), e / (e + 1)}}; }

// The enumeration must be able to find a violation: two pools under one name.
TEST(AnyRandomizersTwin, APoolThatIsRefilledExceedsTheBound) {
  const Budget local = *Budget::Parse("2");
  const Law law = Response(std::exp(2.0));
  const auto all_alike = [&](const DrawnOutputs&) -> const Law& { return law; };
  std::vector<Deal> early_and_late;
  for (const Deal& deal : AllDeals(4)) {
    if (std::max(deal[0], deal[1]) == 1) early_and_late.push_back(deal);
  }
  EXPECT_EQ(early_and_late.size(), 4);
  EXPECT_GT(LargestShare(early_and_late, all_alike, 2, 2, local), 1.05);
  EXPECT_LE(LargestShare(AllDeals(4), all_alike, 2, 2, local), 1);
}

// ---- The deal while others act on the tickets that they get.

constexpr size_t kTickets = 6;
constexpr size_t kHonest = 3;  // devices; the others are dishonest, or never come

// What the adversary knows at each moment: its moves, and the tickets of its own devices.
using Transcript = std::vector<size_t>;
struct Outcome {
  Transcript transcript;
  std::vector<int> ticket_of;  // per honest device; -1 if its report never arrives
};

// Draws the adversary's strategy while it is played, once per transcript. `picky` is an honest
// device that does not answer ticket 0.
class Adversary {
 public:
  explicit Adversary(uint64_t seed, size_t picky = kHonest) : draws_(seed), picky_(picky) {}

  Outcome Play(const std::vector<size_t>& order) {
    Outcome outcome{{}, std::vector<int>(kHonest, -1)};
    std::set<size_t> came;
    for (const size_t ticket : order) {
      const size_t move = Move(outcome.transcript);
      const size_t device = move / 2;
      outcome.transcript.push_back(100 + move);
      if (move == kStop) break;
      if (device >= kHonest || !came.insert(device).second) {
        outcome.transcript.push_back(ticket);  // a device of its own
      } else if (move % 2 == 0 && !(device == picky_ && ticket == 0)) {
        outcome.ticket_of[device] = static_cast<int>(ticket);
      }  // else the adversary withholds the report from the relay
    }
    return outcome;
  }

 private:
  static constexpr size_t kStop = 2 * kHonest + 2;

  size_t Move(const Transcript& transcript) {
    const auto [at, is_new] = strategy_.try_emplace(transcript, 0);
    if (is_new) at->second = draws_.Below(kStop + 1);
    return at->second;
  }

  Draws draws_;
  const size_t picky_;
  std::map<Transcript, size_t> strategy_;
};

// For each view (transcript, and the answered tickets), how often each deal occurs.
using DealsByView = std::map<std::pair<Transcript, std::set<int>>, std::map<std::vector<int>, int>>;

DealsByView PlayAllOrders(Adversary& adversary) {
  DealsByView views;
  std::vector<size_t> order(kTickets);
  std::iota(order.begin(), order.end(), 0);
  do {
    const Outcome outcome = adversary.Play(order);
    std::set<int> answered(outcome.ticket_of.begin(), outcome.ticket_of.end());
    answered.erase(-1);
    ++views[{outcome.transcript, answered}][outcome.ticket_of];
  } while (std::next_permutation(order.begin(), order.end()));
  return views;
}

// Views in which some deals are likelier than others, and views of more than one report.
struct Evenness {
  size_t uneven = 0;
  size_t crowds = 0;
};

Evenness EvennessOf(const DealsByView& views) {
  Evenness evenness;
  for (const auto& [view, deals] : views) {
    size_t orders = 1;  // in which this many devices may have been dealt these tickets
    for (size_t i = 2; i <= view.second.size(); ++i) orders *= i;
    const int first = deals.begin()->second;
    const bool even = deals.size() == orders &&
                      std::all_of(deals.begin(), deals.end(),
                                  [&](const auto& deal) { return deal.second == first; });
    evenness.uneven += !even;
    evenness.crowds += orders > 1;
  }
  return evenness;
}

TEST(HostileDealTest, EveryDealOfTheOtherTicketsStaysEquallyLikely) {
  size_t crowds = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Adversary adversary(seed);
    const Evenness evenness = EvennessOf(PlayAllOrders(adversary));
    EXPECT_EQ(evenness.uneven, 0u) << seed;
    crowds += evenness.crowds;
  }
  EXPECT_GT(crowds, 1000u) << "or nothing was tested";
}

TEST(HostileDealTwin, ADeviceThatRefusesATicketTellsWhoHasIt) {
  size_t uneven = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Adversary adversary(seed, /*picky=*/0);
    uneven += EvennessOf(PlayAllOrders(adversary)).uneven;
  }
  EXPECT_GT(uneven, 100u);
}

}  // namespace
}  // namespace coppice
