#include "common/base/status.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace coppice {
namespace {

TEST(StatusOrTest, HoldsAnOptionalThatIsEmpty) {
  const StatusOr<std::optional<int>> none = std::nullopt;
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->has_value());
  const std::optional<int> empty;
  const StatusOr<std::optional<int>> copied = empty;
  ASSERT_TRUE(copied.ok());
  EXPECT_FALSE(copied->has_value());
}

TEST(StatusOrTest, TurnsAnOkStatusWithoutAValueIntoAnError) {
  const StatusOr<std::string> wrong = OkStatus();
  EXPECT_EQ(wrong.status().code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace coppice
