#include "common/table/rows_digest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "common/base/text.h"
#include "common/wire/proto/model_signature.h"
#include "coppice/v1/dataset.pb.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Numeric;

const double kMissing = std::numeric_limits<double>::quiet_NaN();

Table Classes() {
  Table table(std::make_shared<const Schema>(
      *Schema::Create({Numeric("x", -9, 9), Numeric("z", 0, 9)}, "y", {"a", "b"})));
  table.Append({1, 2}, 0);
  table.Append({0, kMissing}, 1);
  table.Append({-5, 6}, kUnlabelled);
  return table;
}

Table Numbers() {
  Table table(std::make_shared<const Schema>(
      *Schema::CreateRegression({Numeric("x", 0, 9)}, "y", {.min = -2, .max = 2})));
  table.AppendTarget({1.25}, -2);
  table.AppendTarget({9}, 0);
  return table;
}

std::string DigestOfMessage(const Table& rows) {
  v1::RowBlock block;
  for (size_t f = 0; f < rows.schema().num_features(); ++f) {
    const absl::Span<const double> column = rows.column(f);
    block.add_columns()->mutable_values()->Add(column.begin(), column.end());
  }
  block.mutable_labels()->Add(rows.labels().begin(), rows.labels().end());
  block.mutable_targets()->Add(rows.targets().begin(), rows.targets().end());
  const Sha256Digest digest = *HashMessage(block, {});
  return BytesToHexString(std::string(digest.begin(), digest.end()));
}

TEST(RowsDigestTest, IsTheHashOfTheRowsAsAMessage) {
  EXPECT_EQ(RowsDigest(Classes()), DigestOfMessage(Classes()));
  EXPECT_EQ(RowsDigest(Numbers()), DigestOfMessage(Numbers()));
}

TEST(RowsDigestTest, TellsValuesLabelsAndOrderApart) {
  Table value = Classes(), label = Classes();
  value.Append({1, 2}, 0);
  label.Append({1, 2}, 1);
  EXPECT_NE(RowsDigest(value), RowsDigest(label));
  EXPECT_NE(RowsDigest(value), RowsDigest(Classes()));
  EXPECT_NE(RowsDigest(Classes().Select({1, 0, 2})), RowsDigest(Classes()));
  EXPECT_EQ(RowsDigest(Classes().Select({0, 1, 2})), RowsDigest(Classes()));
}

TEST(RowsDigestTest, ZerosHaveNoSignAndMissingValuesAreAlike) {
  Table plain = Classes(), other = Classes();
  plain.Append({0, kMissing}, 0);
  other.Append({-0.0, -std::numeric_limits<double>::signaling_NaN()}, 0);
  EXPECT_EQ(RowsDigest(plain), RowsDigest(other));
}

}  // namespace
}  // namespace coppice
