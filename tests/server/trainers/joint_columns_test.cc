#include <gtest/gtest.h>

#include <set>

#include "server/trainers/boosting/boost_columns.h"
#include "tests/server/trainers/tables.h"

namespace coppice::trainers {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

TEST(JointColumnsTest, EveryColumnIsAMemberOfOneAndCanBeReadFromIt) {
  const Table table = RandomTable(MixedClasses(), {.rows = 500}, 5);
  const BinnedRows rows = Binned(table, 7);
  const JointColumns columns(rows);
  std::set<uint32_t> seen;
  for (const JointColumn& joint : columns.all()) {
    size_t bins = 1;
    ASSERT_EQ(joint.bin_of_row->size(), rows.num_rows());
    for (const JointColumn::Member& member : joint.members) {
      EXPECT_TRUE(seen.insert(member.column).second);
      bins *= member.bins;
      for (size_t row = 0; row < rows.num_rows(); ++row) {
        ASSERT_EQ((*joint.bin_of_row)[row] / member.stride % member.bins,
                  rows.column(member.column)[row]);
      }
    }
    EXPECT_EQ(joint.bins, bins);
    EXPECT_TRUE(joint.members.size() == 1 || bins <= kMaxJointBins);
  }
  EXPECT_EQ(seen.size(), rows.num_features());
  EXPECT_LT(columns.all().size(), rows.num_features());
}

TEST(JointColumnsTest, AColumnOfManyBinsStaysAlone) {
  const Table table = RandomTable(MixedClasses(), {.rows = 20}, 5);
  const BinnedRows rows = Binned(table, 300);
  const JointColumns columns(rows);
  size_t alone = 0;
  for (const JointColumn& joint : columns.all()) {
    if (joint.bins <= kMaxJointBins) continue;
    ++alone;
    ASSERT_EQ(joint.members.size(), 1u);
    EXPECT_EQ(joint.bin_of_row, &rows.column(joint.members[0].column));
  }
  EXPECT_GT(alone, 0u);
}

TEST(AddSumsOfMemberTest, AddsUpWhatHasItsBin) {
  // Two bins of the first member, three of the second.
  const std::vector<int64_t> joint = {1, 2, 10, 20, 100, 200};
  std::vector<int64_t> first = {1000, 0}, second = {0, 0, 0};
  AddSumsOfMember({.column = 0, .bins = 2, .stride = 1}, joint, absl::MakeSpan(first));
  AddSumsOfMember({.column = 1, .bins = 3, .stride = 2}, joint, absl::MakeSpan(second));
  EXPECT_EQ(first, (std::vector<int64_t>{1111, 222}));
  EXPECT_EQ(second, (std::vector<int64_t>{3, 30, 300}));
}

}  // namespace
}  // namespace coppice::trainers
