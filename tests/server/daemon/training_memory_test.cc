#include "server/daemon/operation/training_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_dir.h"

namespace coppice::daemon {
namespace {

class LimitOfControlGroupTest : public ::testing::Test {
 protected:
  void Limit(const std::string& group, const std::string& text) const {
    std::filesystem::create_directories(root_.path() + group);
    std::ofstream(root_.path() + group + "/memory.max") << text << "\n";
  }
  uint64_t Of(const std::string& membership) const {
    return LimitOfControlGroup(1'000'000, membership, root_.path());
  }

  testing::TempDir root_;
};

TEST_F(LimitOfControlGroupTest, TheLeastOfAGroupAndThoseAboveItCounts) {
  Limit("/system.slice/coppiced.service", "300000");
  EXPECT_EQ(Of("0::/system.slice/coppiced.service\n"), 300'000u);
  Limit("/system.slice", "200000");
  EXPECT_EQ(Of("0::/system.slice/coppiced.service\n"), 200'000u);
  Limit("/system.slice/coppiced.service", "max");
  Limit("/system.slice", "max");
  Limit("", "500000");
  EXPECT_EQ(Of("0::/system.slice/coppiced.service\n"), 500'000u);
  EXPECT_EQ(Of("0::/\n"), 500'000u);
}

TEST_F(LimitOfControlGroupTest, WithoutALimitAllIsOurs) {
  EXPECT_EQ(Of("0::/user.slice\n"), 1'000'000u);
  EXPECT_EQ(Of("12:memory:/old\n0::/new\n"), 1'000'000u);
  EXPECT_EQ(Of("12:memory:/old\n"), 1'000'000u);
  EXPECT_EQ(Of(""), 1'000'000u);
  Limit("/user.slice", "2000000");
  EXPECT_EQ(Of("0::/user.slice\n"), 1'000'000u);
}

TEST(MemoryForTrainingTest, IsDividedByTheJobs) {
  EXPECT_GT(MemoryForTraining(1), 0u);
  EXPECT_EQ(MemoryForTraining(0), MemoryForTraining(1));
  EXPECT_EQ(MemoryForTraining(4), MemoryForTraining(1) / 4);
}

}  // namespace
}  // namespace coppice::daemon
