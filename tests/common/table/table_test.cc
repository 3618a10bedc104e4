#include "common/table/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/schemas.h"

namespace coppice {
namespace {

using ::coppice::testing::Numeric;
using ::testing::ElementsAre;

Table ThreeRows() {
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", 0, 9), Numeric("z", 0, 9)}, "y", {"a", "b"})));
  table.Append({1, 2}, 0);
  table.Append({3, 4}, 1);
  table.Append({5, 6}, 1);
  return table;
}

TEST(TableTest, KeepsRowsByColumn) {
  const Table table = ThreeRows();
  EXPECT_EQ(table.num_rows(), 3u);
  EXPECT_THAT(table.column(1), ElementsAre(2, 4, 6));
  EXPECT_THAT(table.labels(), ElementsAre(0u, 1u, 1u));
  EXPECT_EQ(table.value(2, 0), 5);
  EXPECT_THAT(table.row(1), ElementsAre(3, 4));
}

TEST(TableTest, CopyRowResizesItsTarget) {
  Row row = {7, 7, 7};
  ThreeRows().CopyRow(0, row);
  EXPECT_THAT(row, ElementsAre(1, 2));
}

TEST(TableTest, SelectRepeatsAndReordersRows) {
  const Table selected = ThreeRows().Select({2, 0, 2});
  EXPECT_THAT(selected.column(0), ElementsAre(5, 1, 5));
  EXPECT_THAT(selected.labels(), ElementsAre(1u, 0u, 1u));
  EXPECT_EQ(selected.schema().label(), "y");
  EXPECT_EQ(ThreeRows().Select({}).num_rows(), 0u);
}

}  // namespace
}  // namespace coppice
