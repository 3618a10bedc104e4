// A report uses memory that was allocated before the row: a device that runs out of memory falls
// silent before it reads the row, not because of what it finds there.

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/full_tree.h"
#include "tests/support/local_reports.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/taken_memory.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::CountsMemory;
using ::coppice::testing::FullTree;
using ::coppice::testing::KindsForClasses;
using ::coppice::testing::MemoryTakenBy;
using ::coppice::testing::Numeric;

constexpr int kReports = 50;  // per row, so that rare draws occur too

std::vector<LabelledRow> RowsOfEveryKind() {
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<LabelledRow> rows = {{{3, 0}, 0},         {{7, 1}, 1}, {{kMissingValue, 0.5}, 7},
                                   {{infinity, -1}, 9}, {{-4, 2}},   {{3, 0}, 1, 17.5},
                                   {{3, 0}, 1, -400}};
  for (LabelledRow& row : rows) row.id = "an id that is too long for a short string";
  return rows;
}

Terms TermsOf(MechanismKind mechanism, const std::string& epsilon, Schema schema) {
  return {.study = "a-study-with-a-name-of-some-length",
          .schema = std::make_shared<const Schema>(std::move(schema)),
          .trees = 1,
          .epsilon = *Budget::Parse(epsilon),
          .mechanism = mechanism};
}

std::vector<Feature> Features() {
  return {Numeric("x", 0, 10), Categorical("region", {"north", "south"})};
}

Privatizer WithLeaves(const Terms& terms, uint32_t levels) {
  return *Privatizer::Create(terms, {}, AllTrees({FullTree(levels, *terms.schema)}));
}

uint64_t TakenBy(const Privatizer& privatizer, LabelledRow row, PrivateRandom& random) {
  Privatizer::Blank blank = *privatizer.BlankFor(Ticket());
  StatusOr<PrivateReport> report = UnknownError("");
  const uint64_t taken = MemoryTakenBy(
      [&] { report = privatizer.Privatize(std::move(row), std::move(blank), random); });
  EXPECT_FALSE(report.value().payload.empty());
  return taken;
}

// Returns the allocations of Privatize() for each of the rows.
std::vector<uint64_t> Taken(const Privatizer& privatizer) {
  OpenSslRandom random;
  std::vector<uint64_t> taken;
  for (const LabelledRow& row : RowsOfEveryKind()) {
    taken.push_back(0);
    for (int i = 0; i < kReports; ++i) {
      taken.back() += TakenBy(privatizer, row, random);
    }
  }
  return taken;
}

std::vector<uint64_t> Nothing() { return std::vector<uint64_t>(RowsOfEveryKind().size()); }

class PrivatizerMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CountsMemory()) GTEST_SKIP() << "the thread sanitizer has an operator new of its own";
  }
};

TEST_F(PrivatizerMemoryTest, NoRowTakesAny) {
  const Schema schema = *Schema::Create(Features(), "y", {"no", "yes"});
  // These cover tails past the table, sets sent as bits and as numbers, and long vectors.
  for (const MechanismKind kind : KindsForClasses()) {
    for (const char* epsilon : {"0.05", "1", "6"}) {
      for (const uint32_t levels : {0u, 3u, 10u}) {
        const Terms terms = TermsOf(kind, epsilon, schema);
        EXPECT_EQ(Taken(WithLeaves(terms, levels)), Nothing())
            << MechanismName(kind) << " " << epsilon << " " << levels;
      }
    }
  }
}

TEST_F(PrivatizerMemoryTest, NoNumberTakesAny) {
  const Schema schema = *Schema::CreateRegression(Features(), "y", {.min = 0, .max = 100});
  Terms terms = TermsOf(MechanismKind::kLaplaceJoint, "0.5", schema);
  terms.rounding = NumberRange{.low = 0, .high = 100};
  EXPECT_EQ(Taken(WithLeaves(terms, 5)), Nothing());
}

TEST_F(PrivatizerMemoryTest, NoNumberInAWindowTakesAny) {
  const Schema schema = *Schema::CreateRegression(Features(), "y", {.min = 0, .max = 100});
  Terms terms = TermsOf(MechanismKind::kWindowResponse, "2", schema.WithAllPublic());
  terms.rounding = NumberRange{.low = 0, .high = 100};
  terms.window = Window{.reach = 53, .half_width = 17};
  terms.joined_by = "customer";
  EXPECT_EQ(Taken(WithLeaves(terms, 5)), Nothing());
}

TEST_F(PrivatizerMemoryTest, NoLabelOfAnIdTakesAny) {
  const Schema schema = *Schema::Create(Features(), "y", {"no", "yes"});
  Terms terms = TermsOf(MechanismKind::kSubsetSelection, "0.5", schema.WithAllPublic());
  terms.joined_by = "customer";
  EXPECT_EQ(Taken(WithLeaves(terms, 5)), Nothing());
}

// Two of these rows have the same region, and so the same leaves.
TEST_F(PrivatizerMemoryTest, PublicValuesTakeSomeAndPrivateOnesNone) {
  const Schema schema = *Schema::Create(Features(), "y", {"no", "yes"});
  const Terms terms =
      TermsOf(MechanismKind::kSymmetricUnary, "0.05", *schema.WithPublicFeatures({"region"}));
  Tree tree = *Tree::Create({{.kind = SplitKind::kCategory, .feature = 1, .left = 1, .right = 2},
                             {},
                             {.kind = SplitKind::kNumeric, .threshold = 5, .left = 3, .right = 4},
                             {},
                             {}},
                            *terms.schema);
  const Privatizer privatizer = *Privatizer::Create(terms, {}, AllTrees({std::move(tree)}));
  OpenSslRandom random;
  const auto taken_by = [&](double x, double region, uint32_t label) {
    return TakenBy(privatizer, {{x, region}, label}, random);
  };
  for (const double region : {0.0, 1.0, kMissingValue}) {
    const uint64_t expected = taken_by(3, region, 0);
    EXPECT_GT(expected, 0u);
    for (int i = 0; i < kReports; ++i) {
      for (const double x : {3.0, 8.0, -1.0, kMissingValue}) {
        for (const uint32_t label : {0u, 1u, 5u}) EXPECT_EQ(taken_by(x, region, label), expected);
      }
    }
  }
}

// The counter sees what the same report allocates where nothing was reserved for it.
TEST_F(PrivatizerMemoryTest, TheCountSeesAReportThatIsNotPrepared) {
  const Schema schema = *Schema::Create(Features(), "y", {"no", "yes"});
  for (const MechanismKind kind : {MechanismKind::kLaplaceJoint, MechanismKind::kSubsetSelection,
                                   MechanismKind::kSymmetricUnary}) {
    const Privatizer privatizer = WithLeaves(TermsOf(kind, "1", schema), 10);
    OpenSslRandom random;
    const LabelledRow row = {{3, 0}, 1};
    EXPECT_EQ(TakenBy(privatizer, row, random), 0u);
    EXPECT_GT(MemoryTakenBy([&] { EXPECT_OK(privatizer.Privatize(row, Ticket(), random)); }), 0u);
  }
}

}  // namespace
}  // namespace coppice
