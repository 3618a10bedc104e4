#include "common/base/nearest_word.h"

#include <gtest/gtest.h>

namespace coppice {
namespace {

TEST(NearestWordTest, FindsWhatWasMeant) {
  const std::vector<std::string> words = {"data-dir", "listen", "log-level"};
  EXPECT_EQ(NearestWord("data_dir", words), "data-dir");
  EXPECT_EQ(NearestWord("lsiten", words), "listen");
  EXPECT_EQ(NearestWord("log", words), "log-level");
  EXPECT_EQ(NearestWord("--data-drr", words), "data-dir");
  EXPECT_EQ(NearestWord("colour", words), "");
  EXPECT_EQ(NearestWord("", words), "");
  EXPECT_EQ(NearestWord("listen", {}), "");
}

TEST(NearestWordTest, SuggestsTheWordAsAQuestion) {
  EXPECT_EQ(DidYouMean("lsiten", {"listen"}), "; did you mean \"listen\"?");
  EXPECT_EQ(DidYouMean("colour", {"listen"}), "");
}

}  // namespace
}  // namespace coppice
