// A journal that the caller keeps, in the place of a file.

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/device/c/coppice_device.h"
#include "tests/client/device/c/c_device_fixture.h"

namespace coppice {
namespace {

using ::coppice::testing::CDeviceFixture;
using ::coppice::testing::ScriptedServices;

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class KeeperTest : public CDeviceFixture {
 protected:
  KeeperTest() {
    visit_options_.curator = "curator:1";
    options_.journal_path = nullptr;
    options_.keeper = &keeper_;
    keeper_.struct_size = sizeof(keeper_);
    keeper_.context = this;
    keeper_.write = [](void* self, int32_t replaces, const uint8_t* bytes, size_t size) {
      return static_cast<KeeperTest*>(self)->Write(replaces,
                                                   {reinterpret_cast<const char*>(bytes), size});
    };
  }
  ~KeeperTest() override { Close(); }

  int32_t OpenOverKept() {
    before_ = kept_;
    keeper_.bytes = reinterpret_cast<const uint8_t*>(before_.data());
    keeper_.size = before_.size();
    return Open();
  }

  int32_t Write(int32_t replaces, const std::string& bytes) {
    if (++writes_ == failing_) return COPPICE_RESOURCE_EXHAUSTED;
    kept_ = replaces == 1 ? bytes : kept_ + bytes;
    return COPPICE_OK;
  }

  ScriptedServices curator_;
  coppice_journal_keeper keeper_{};
  std::string kept_, before_;
  int writes_ = 0;
  int failing_ = 0;  // the number of the write that fails
};

TEST_F(KeeperTest, IsTheMemoryOfADevice) {
  ASSERT_EQ(OpenOverKept(), COPPICE_OK) << error_.text;
  EXPECT_EQ(VisitAt(curator_).code, COPPICE_OK);
  EXPECT_EQ(outcome_.delivered, 1u);
  EXPECT_EQ(State().journal_bytes, kept_.size());

  ASSERT_EQ(OpenOverKept(), COPPICE_OK) << error_.text;
  curator_.calls.clear();
  VisitAt(curator_);
  EXPECT_THAT(curator_.calls, IsEmpty());
  EXPECT_EQ(outcome_.answer.code, COPPICE_OK);
  EXPECT_EQ(outcome_.answered_now, 0);
}

TEST_F(KeeperTest, NothingIsSentThatItDidNotKeep) {
  int sent = 0;
  for (failing_ = 1; failing_ < 10; ++failing_) {
    kept_.clear();
    writes_ = 0;
    ScriptedServices curator;
    const int32_t opened = OpenOverKept();
    if (failing_ == 1) {
      EXPECT_EQ(opened, COPPICE_RESOURCE_EXHAUSTED);
      EXPECT_THAT(error_.text, HasSubstr("keeper"));
      continue;
    }
    ASSERT_EQ(opened, COPPICE_OK) << error_.text;
    VisitAt(curator);
    if (outcome_.answer.code == COPPICE_OK) {
      sent += 1;
    } else {
      EXPECT_THAT(curator.calls, Not(Contains("SubmitReports"))) << failing_;
    }
  }
  EXPECT_GE(sent, 1) << "a write after the answer's may fail too";
}

TEST_F(KeeperTest, ATornEndIsCutOff) {
  ASSERT_EQ(OpenOverKept(), COPPICE_OK);
  EXPECT_EQ(VisitAt(curator_).code, COPPICE_OK);
  const std::string whole = kept_;
  kept_ += std::string("\x40\x00\x00", 3);
  ASSERT_EQ(OpenOverKept(), COPPICE_OK) << error_.text;
  EXPECT_EQ(kept_, whole);
}

TEST_F(KeeperTest, HistoryTellsToWhom) {
  ASSERT_EQ(OpenOverKept(), COPPICE_OK);
  EXPECT_EQ(VisitAt(curator_).code, COPPICE_OK);
  std::vector<PublicKey> curators;
  const auto note = [](void* to, const coppice_answer* answer) {
    ASSERT_NE(answer->curator_key, nullptr);
    PublicKey key;
    std::copy_n(answer->curator_key, key.size(), key.begin());
    static_cast<std::vector<PublicKey>*>(to)->push_back(key);
  };
  EXPECT_EQ(coppice_device_history(device_, note, &curators, &error_), COPPICE_OK);
  EXPECT_EQ(curators, std::vector<PublicKey>{key_});
}

TEST_F(KeeperTest, TakesTheFilesPlace) {
  options_.journal_path = path_.c_str();
  EXPECT_EQ(OpenOverKept(), COPPICE_INVALID_ARGUMENT);
  EXPECT_THAT(error_.text, HasSubstr("a file or a keeper"));
  options_.journal_path = nullptr;
  keeper_.write = nullptr;
  EXPECT_EQ(OpenOverKept(), COPPICE_INVALID_ARGUMENT);
  keeper_.struct_size = 0;
  EXPECT_EQ(OpenOverKept(), COPPICE_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace coppice
