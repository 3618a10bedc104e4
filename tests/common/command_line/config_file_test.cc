#include "common/command_line/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "tests/support/temp_file.h"

namespace coppice {
namespace {

using ::coppice::testing::TempFile;

// A daemon with a few settings.
class ConfigFileTest : public ::testing::Test {
 protected:
  ConfigFileTest() {
    app_.add_option("--data-dir", data_dir_);
    app_.add_option("--max-message-bytes", bytes_);
    app_.add_flag("--check")->configurable(false);
    AddConfigFile(app_);
  }

  // What is wrong with the file; empty if nothing is.
  std::string Read(const std::string& text) {
    const TempFile file(".toml", text);
    try {
      app_.parse("--config " + file.path());
    } catch (const CLI::ConfigError& error) {
      return ConfigErrorText(app_, error);
    }
    return "";
  }

  CLI::App app_;
  std::string data_dir_;
  uint64_t bytes_ = 0;
};

TEST_F(ConfigFileTest, SettingsAreNamedLikeTheFlags) {
  EXPECT_EQ(Read("data-dir = \"d\"\nmax-message-bytes = 7\n"), "");
  EXPECT_EQ(data_dir_, "d");
  EXPECT_EQ(bytes_, 7);
}

TEST_F(ConfigFileTest, AMisspeltSettingIsAnsweredWithTheNearest) {
  const std::string meant = "; did you mean \"max-message-bytes\"?";
  EXPECT_EQ(Read("max-mesage-bytes = 7\n"),
            "--config: there is no setting \"max-mesage-bytes\"" + meant);
  EXPECT_EQ(Read("max_message_bytes = 7\n"),
            "--config: there is no setting \"max_message_bytes\"" + meant);
  EXPECT_EQ(Read("colour = 7\n"),
            "--config: there is no setting \"colour\"; settings are named like the flags");
}

TEST_F(ConfigFileTest, ASectionIsNamed) {
  EXPECT_EQ(Read("[server]\nmax-message-bytes = 7\n"),
            "--config: settings files have no sections such as [server]: leave that line out");
}

TEST_F(ConfigFileTest, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(Read("\xEF\xBB\xBF"
                 "data-dir = \"d\"\r\nmax-message-bytes = 7\r\n"),
            "");
  EXPECT_EQ(data_dir_, "d");
  EXPECT_EQ(bytes_, 7);
}

TEST_F(ConfigFileTest, AFileInUtf16IsNamed) {
  EXPECT_EQ(Read(std::string("\xFF\xFE"
                             "d\0",
                             4)),
            "--config: the file is text in UTF-16; save it as UTF-8");
}

TEST_F(ConfigFileTest, AFileOfThreeBytesOrLessIsReadToo) {
  EXPECT_EQ(Read(""), "");
  EXPECT_EQ(Read("\xEF\xBB\xBF"), "");
}

}  // namespace
}  // namespace coppice
