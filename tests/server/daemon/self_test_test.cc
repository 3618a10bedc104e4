// Each part of the self-test passes what is sound and finds what is planted.

#include "server/daemon/operation/self_test.h"

#include <memory>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::MemoryStore;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The real source, passed through what a test plants.
class PlantedRandom final : public PrivateRandom {
 public:
  std::function<uint64_t(uint64_t)> word = [](uint64_t drawn) { return drawn; };
  std::function<uint64_t(uint64_t numerator, uint64_t denominator)> chance =
      [](uint64_t numerator, uint64_t) { return numerator; };
  std::function<SignedSteps(SignedSteps)> steps = [](SignedSteps drawn) { return drawn; };

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    const StatusOr<uint64_t> drawn = real_.UniformBelow(bound);
    if (!drawn.ok()) return drawn;
    return word(*drawn) % bound;
  }
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    return real_.Bernoulli(chance(numerator, denominator), denominator);
  }
  StatusOr<uint64_t> Binomial(uint64_t trials, uint32_t numerator) override {
    return real_.Binomial(trials, numerator);
  }
  Status Geometric(const GeometricTable& table, absl::Span<SignedSteps> out) override {
    const Status status = real_.Geometric(table, out);
    for (SignedSteps& draw : out) draw = steps(draw);
    return status;
  }

 private:
  OpenSslRandom real_;
};

Status TestSourceThat(std::function<uint64_t(uint64_t)> word) {
  PlantedRandom random;
  random.word = std::move(word);
  return TestRandomSource(random);
}

TEST(RandomSourceTest, TheRealSourcePassesEveryTime) {
  OpenSslRandom random;
  for (int i = 0; i < 1000; ++i) ASSERT_OK(TestRandomSource(random));
}

TEST(RandomSourceTest, DetectsAConstantSource) {
  EXPECT_THAT(TestSourceThat([](uint64_t) { return 0x9e3779b9; }),
              StatusIs(StatusCode::kUnavailable, HasSubstr("repeats itself")));
}

TEST(RandomSourceTest, DetectsASourceThatRepeatsItself) {
  std::vector<uint64_t> seen;
  size_t at = 0;
  EXPECT_THAT(TestSourceThat([&](uint64_t drawn) {
                if (seen.size() < 1024) seen.push_back(drawn);
                return seen[at++ % 1024];
              }),
              StatusIs(StatusCode::kUnavailable, HasSubstr("repeats itself")));
}

TEST(RandomSourceTest, DetectsASourceWithTooManyOneBits) {
  size_t at = 0;
  EXPECT_THAT(TestSourceThat([&](uint64_t drawn) { return ++at % 8 == 0 ? 0xffffffff : drawn; }),
              StatusIs(StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(TestSourceThat([&](uint64_t drawn) { return drawn & ~uint64_t{0x80000}; }),
              StatusIs(StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(TestSourceThat([&](uint64_t drawn) { return drawn | uint64_t{0x5}; }),
              StatusIs(StatusCode::kUnavailable, HasSubstr("ones or zeros")));
}

TEST(RandomSourceTest, DetectsASourceWithCorrelatedBits) {
  // Doubling each bit keeps ones and zeros equally frequent.
  EXPECT_THAT(TestSourceThat([](uint64_t drawn) {
                uint64_t doubled = 0;
                for (int i = 0; i < 16; ++i) doubled |= (drawn >> i & 1) * 3 << (2 * i);
                return doubled;
              }),
              StatusIs(StatusCode::kUnavailable, HasSubstr("depend on each other")));
}

TEST(RandomSourceTest, DetectsASourceThatFavoursAByte) {
  // 0x69 has as many ones as zeros, and its changes lean too little to show.
  size_t at = 0;
  EXPECT_THAT(TestSourceThat([&](uint64_t drawn) {
                return ++at % 16 == 0 ? (drawn & 0xffffff00) | 0x69 : drawn;
              }),
              StatusIs(StatusCode::kUnavailable, HasSubstr("favours a byte")));
}

TEST(SamplerTest, TheRealSamplersPassEveryTime) {
  OpenSslRandom random;
  for (int i = 0; i < 50; ++i) ASSERT_OK(TestSamplers(random));
}

TEST(SamplerTest, DetectsASamplerOfAnotherDistribution) {
  PlantedRandom biased;
  uint64_t calls = 0;
  biased.chance = [&](uint64_t numerator, uint64_t) { return ++calls % 8 == 0 ? 0 : numerator; };
  EXPECT_THAT(TestSamplers(biased),
              StatusIs(StatusCode::kUnavailable, HasSubstr("does not have its law")));
}

TEST(SamplerTest, DetectsWrongGeometricSteps) {
  PlantedRandom cut;
  cut.steps = [](SignedSteps draw) { return StepsOf(draw) >= 3 ? SignedSteps{2 << 1} : draw; };
  EXPECT_THAT(TestSamplers(cut), StatusIs(StatusCode::kUnavailable, HasSubstr("3 or more")));
  PlantedRandom lopsided;
  lopsided.steps = [](SignedSteps draw) { return static_cast<SignedSteps>(draw & ~1); };
  EXPECT_THAT(TestSamplers(lopsided), StatusIs(StatusCode::kUnavailable, HasSubstr("negative")));
}

// A store that changes what is written or read as a test says.
class PlantedStore final : public storage::Store {
 public:
  bool loses = false;
  bool garbles = false;
  bool keeps = false;

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    StatusOr<std::optional<std::string>> value = store_.Get(key);
    if (garbles && value.ok() && value->has_value()) (**value)[0] ^= 1;
    return value;
  }
  Status Apply(const storage::StoreBatch& batch) override {
    if (loses && !batch.puts().empty()) return OkStatus();
    if (keeps && !batch.deleted_prefixes().empty()) return OkStatus();
    return store_.Apply(batch);
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view, std::string_view)> visit) const override {
    return store_.Scan(prefix, visit);
  }
  Status Purge(std::string_view prefix) override { return store_.Purge(prefix); }

 private:
  MemoryStore store_;
};

TEST(StoreTest, ASoundStorePassesAndKeepsNoTestRecord) {
  MemoryStore store;
  ASSERT_OK(TestStore(store));
  int keys = 0;
  ASSERT_OK(store.Scan("", [&](std::string_view, std::string_view) {
    ++keys;
    return OkStatus();
  }));
  EXPECT_EQ(keys, 0);
}

TEST(StoreTest, DetectsAStoreThatFailsLosesGarblesOrKeepsRecords) {
  MemoryStore full;
  full.FailWrites(ResourceExhaustedError("the disk is full"));
  EXPECT_THAT(TestStore(full), StatusIs(StatusCode::kResourceExhausted, ::testing::_));
  EXPECT_THAT(TestWriting(full), StatusIs(StatusCode::kResourceExhausted, ::testing::_));
  PlantedStore losing;
  losing.loses = true;
  EXPECT_THAT(TestStore(losing), StatusIs(StatusCode::kDataLoss, HasSubstr("lost")));
  PlantedStore garbling;
  garbling.garbles = true;
  EXPECT_THAT(TestStore(garbling), StatusIs(StatusCode::kDataLoss, HasSubstr("other bytes")));
  PlantedStore keeping;
  keeping.keeps = true;
  EXPECT_THAT(TestStore(keeping), StatusIs(StatusCode::kDataLoss, HasSubstr("deleted")));
}

TEST(TicketKeyTest, AWorkingKeyPasses) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketSeam tickets, TicketsOf(store));
  EXPECT_OK(TestTicketKey(tickets));
}

TEST(TicketKeyTest, DetectsAKeyThatAcceptsAllOrNothingOrRepeatsTickets) {
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const TicketSeam sound, TicketsOf(store));
  TicketSeam planted = sound;
  planted.recognize = [](absl::Span<const Ticket> tickets, const Fingerprint&) {
    return std::vector<bool>(tickets.size(), true);
  };
  EXPECT_THAT(TestTicketKey(planted), StatusIs(StatusCode::kInternal, HasSubstr("forged")));
  planted.recognize = [](absl::Span<const Ticket> tickets, const Fingerprint&) {
    return std::vector<bool>(tickets.size(), false);
  };
  EXPECT_THAT(TestTicketKey(planted), StatusIs(StatusCode::kInternal, HasSubstr("its own")));
  // A key that ignores what the ticket was issued for.
  planted.recognize = [&](absl::Span<const Ticket> tickets, const Fingerprint&) {
    Fingerprint ours{};
    ours.fill(0x5a);
    return sound.recognize(tickets, ours);
  };
  EXPECT_THAT(TestTicketKey(planted), StatusIs(StatusCode::kInternal, HasSubstr("other terms")));
  planted = sound;
  planted.issue = [&](const Fingerprint& fingerprint, size_t) {
    auto one = sound.issue(fingerprint, 1);
    one->push_back(one->front());
    return one;
  };
  EXPECT_THAT(TestTicketKey(planted), StatusIs(StatusCode::kInternal, HasSubstr("different")));
}

TEST(ClockTest, AcceptsATimeAtOrAfterTheBuildAndTheRecords) {
  const absl::Time now = absl::Now();
  EXPECT_OK(TestClock(now, absl::UnixEpoch(), absl::Hours(1)));
  EXPECT_OK(TestClock(now, now + absl::Minutes(59), absl::Hours(1)));
  EXPECT_OK(TestClock(now + absl::Hours(24 * 365 * 20), now, absl::Hours(1)));
}

TEST(ClockTest, DetectsAClockBeforeTheBuildOrFarBehindARecord) {
  const absl::Time now = absl::Now();
  EXPECT_THAT(TestClock(absl::FromUnixSeconds(0), absl::UnixEpoch(), absl::Hours(1)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("was built")));
  EXPECT_THAT(TestClock(now, now + absl::Minutes(61), absl::Hours(1)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("--clock-tolerance")));
}

TEST(RunSelfTestsTest, RunsEveryTestAndNamesThoseThatFail) {
  const auto failures = RunSelfTests({{"good", [] { return OkStatus(); }},
                                      {"bad", [] { return DataLossError("why"); }},
                                      {"worse", [] { return InternalError("so"); }}});
  EXPECT_THAT(failures, ElementsAre(StatusIs(StatusCode::kDataLoss, HasSubstr("bad: why")),
                                    StatusIs(StatusCode::kInternal, HasSubstr("worse: so"))));
}

}  // namespace
}  // namespace coppice::daemon
