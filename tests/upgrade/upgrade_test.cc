// Today's programs open what was left on disk: nothing has changed, and work goes on.
// Files of a later version are refused with an explanation. README.md says how the files were made.

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "client/device/journal_format.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/integration/daemon.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::ReadWhole;
using ::coppice::testing::RunProgram;
using ::coppice::testing::SourcePath;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace fs = std::filesystem;
using Json = nlohmann::json;

std::vector<Json> Lines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

// Returns what `before` has and `now` lacks; `now` may have more.
std::string Difference(const Json& before, const Json& now) {
  if (!before.is_structured()) {
    return before == now ? "" : before.dump() + " became " + now.dump();
  }
  if (before.is_array() && before.size() != now.size()) return "another length: " + now.dump();
  for (const auto& [name, value] : before.items()) {
    if (before.is_object() && !now.contains(name)) return name + " is gone";
    const Json& other = before.is_array() ? now[std::stoul(name)] : now[name];
    const std::string difference = Difference(value, other);
    if (!difference.empty()) return name + ": " + difference;
  }
  return "";
}

// A study's alarms are figures in words, which may be phrased differently.
Json WithoutAlarms(Json study) {
  study.erase("alarms");
  return study;
}

// Returns a model without its name, its age, the version that made it, and the signature over
// these.
Json Content(const std::string& file) {
  Json model = Json::parse(ReadWhole(file));
  model.erase("name");
  model.erase("created_unix_seconds");
  model.erase("signature");
  model["certificate"].erase("code_version");
  return model;
}

constexpr const char* kFormats[] = {"1"};

// Works on copies of the files, since opening changes them, and a daemon on its store.
class UpgradeTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    fs::create_directory(folder_.path() + "/store");
    const Outcome unpacked =
        RunProgram({"/bin/tar", "-xzf", Fixture("store.tar.gz"), "-C", folder_.path() + "/store"});
    ASSERT_EQ(unpacked.exit_code, 0) << unpacked.err;
    for (const char* file : {"devices.journal", "ops.token", "device.token"}) {
      fs::copy(Fixture(file), Copy(file));
      fs::permissions(Copy(file), fs::perms::owner_read | fs::perms::owner_write);
    }
    // The files' date may be ahead of this machine's clock.
    daemon_.AddFlags({"--policy", Fixture("policy.json"), "--clock-tolerance", "4000000000"});
  }

  static std::string Fixture(const std::string& file) {
    return SourcePath("tests/upgrade/") + GetParam() + "/" + file;
  }
  std::string Copy(const std::string& file) const { return folder_.path() + "/" + file; }

  Json Ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--token-file", Copy("ops.token")});
    return daemon_.CoppiceJson(arguments);
  }
  void ExpectSameModel(const std::string& file, const std::string& model) const {
    const std::string exported = Copy(model + ".exported");
    Ask({"model", "export", "--model", model, "--output", exported});
    EXPECT_EQ(Difference(Content(Fixture(file)), Content(exported)), "") << model;
  }

  const TempDir folder_;
  Daemon daemon_{folder_.path()};
};

INSTANTIATE_TEST_SUITE_P(Formats, UpgradeTest, ::testing::ValuesIn(kFormats));

TEST_P(UpgradeTest, AStoreIsAsItWas) {
  ASSERT_TRUE(daemon_.Start());
  const std::vector<Json> before = Lines(ReadWhole(Fixture("shown.jsonl")));
  ASSERT_EQ(before.size(), 4u);
  EXPECT_EQ(Difference(WithoutAlarms(before[0]), Ask({"study", "show", "--study", "sealed"})), "");
  EXPECT_EQ(Difference(WithoutAlarms(before[1]), Ask({"study", "show", "--study", "open"})), "");
  EXPECT_EQ(Difference(before[2], Ask({"dataset", "show", "--dataset", "table"})), "");
  EXPECT_EQ(Difference(before[3], Ask({"endpoint", "show", "--endpoint", "served"})), "");
  ExpectSameModel("sealed.json", "sealed");
  ExpectSameModel("open.json", "open");
  ExpectSameModel("spe.json", "spe");
  EXPECT_EQ(Ask({"model", "verify", "--model", "spe"})["verified"], true);
}

TEST_P(UpgradeTest, WorkGoesOnWithAStore) {
  ASSERT_TRUE(daemon_.Start());
  // The sums are those that the old model was made of.
  Ask({"model", "build", "--study", "open", "--model", "again", "--estimator", "weighted",
       "--lambda", "1"});
  ExpectSameModel("open.json", "again");

  EXPECT_EQ(Ask({"collect", "resume", "--journal", Copy("devices.journal")})["accepted"], 10);
  const Json collected = Ask({"collect", "simulate", "--study", "open", "--data",
                              Fixture("private.csv"), "--journal", Copy("devices.journal")});
  EXPECT_EQ(collected["answered_before"], 10);
  EXPECT_EQ(collected["accepted"], 50);
  EXPECT_EQ(Ask({"study", "show", "--study", "open"})["accepted"], 100);

  Ask({"train", "submit", "--dataset", "table", "--algorithm", "spe", "--job", "more", "--epsilon",
       "2"});
  EXPECT_EQ(daemon_.Coppice({"train", "watch", "--job", "more", "--token-file", Copy("ops.token")})
                .exit_code,
            0);
  Ask({"endpoint", "set", "--endpoint", "served", "--model", "again"});
  ASSERT_EQ(daemon_.Stop(), 0);
  ASSERT_TRUE(daemon_.Start());
  EXPECT_EQ(Ask({"dataset", "show", "--dataset", "table"})["epsilon_spent"], 3);
  EXPECT_EQ(Ask({"study", "show", "--study", "open"})["accepted"], 100);
  EXPECT_EQ(daemon_.Stop(), 0);
  const Outcome checked =
      RunProgram({BinaryPath("coppiced"), "check", "--data-dir", daemon_.data_dir()});
  EXPECT_EQ(checked.exit_code, 0) << checked.out;
}

TEST_P(UpgradeTest, AJournalIsAsItWas) {
  const Outcome shown = RunProgram({BinaryPath("coppice"), "collect", "history", "--journal",
                                    Copy("devices.journal"), "--json"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const std::vector<Json> before = Lines(ReadWhole(Fixture("history.jsonl")));
  const std::vector<Json> now = Lines(shown.out);
  ASSERT_EQ(before.size(), now.size());
  for (size_t i = 0; i < before.size(); ++i) EXPECT_EQ(Difference(before[i], now[i]), "");
}

TEST_P(UpgradeTest, APolicyGivesWhatItGave) {
  ASSERT_TRUE(daemon_.Start());
  const Outcome refused = daemon_.Coppice(
      {"dataset", "show", "--dataset", "table", "--token-file", Copy("device.token")});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("role"));
}

TEST_P(UpgradeTest, AStoreOfALaterVersionIsRefused) {
  {
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(daemon_.data_dir()));
    storage::StoreBatch batch;
    batch.Put("meta/format", "99");
    ASSERT_OK(store->Apply(batch));
  }
  const auto refused =
      AllOf(HasSubstr("made by a newer version of Coppice (format 99"), HasSubstr("install"));
  const Outcome served = RunProgram(daemon_.CommandLine("127.0.0.1:0"));
  EXPECT_EQ(served.exit_code, 1);
  EXPECT_THAT(served.err, refused);
  const Outcome checked =
      RunProgram({BinaryPath("coppiced"), "check", "--data-dir", daemon_.data_dir()});
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_THAT(checked.out + checked.err, refused);
  const Outcome backup = RunProgram({BinaryPath("coppiced"), "backup", "--data-dir",
                                     daemon_.data_dir(), "--to", folder_.path() + "/backups"});
  EXPECT_EQ(backup.exit_code, 1);
  EXPECT_THAT(backup.err, refused);
}

class LaterJournalTest : public UpgradeTest {
 protected:
  void ExpectRefused(const std::string& bytes) const {
    const std::string path = Copy("devices.journal");
    std::ofstream(path, std::ios::binary) << bytes;
    const Outcome shown =
        RunProgram({BinaryPath("coppice"), "collect", "history", "--journal", path});
    EXPECT_EQ(shown.exit_code, 1);
    EXPECT_THAT(shown.err, AllOf(HasSubstr(path), HasSubstr("a newer version of Coppice"),
                                 HasSubstr("use that version")));
    EXPECT_EQ(ReadWhole(path), bytes) << "it was changed";
  }
};

INSTANTIATE_TEST_SUITE_P(Formats, LaterJournalTest, ::testing::ValuesIn(kFormats));

TEST_P(LaterJournalTest, AJournalOfALaterFormatIsRefused) {
  std::string bytes = ReadWhole(Copy("devices.journal"));
  ++bytes[JournalHeader().size() - 4];
  ExpectRefused(bytes);
}

TEST_P(LaterJournalTest, AJournalWithARecordOfALaterKindIsRefused) {
  std::string bytes = ReadWhole(Copy("devices.journal"));
  FrameDigest last = FirstFrameDigest();
  for (size_t at = JournalHeader().size(); at < bytes.size();) {
    ASSERT_OK_AND_ASSIGN(const ParsedFrame frame,
                         ParseFrame(last, std::string_view(bytes).substr(at)));
    last = frame.digest;
    at += frame.size;
  }
  ASSERT_OK_AND_ASSIGN(const Frame frame, MakeFrame(last, "\x7f of a kind to come"));
  ExpectRefused(bytes + frame.bytes);
}

TEST_P(UpgradeTest, APolicyOfALaterVersionIsRefused) {
  Json policy = Json::parse(ReadWhole(Fixture("policy.json")));
  policy["tokens"][0]["quota"] = 7;
  std::ofstream(Copy("policy.json")) << policy;
  Daemon later(folder_.path());
  later.AddFlags({"--policy", Copy("policy.json"), "--check-config"});
  const Outcome checked = RunProgram(later.CommandLine("127.0.0.1:0"));
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_THAT(checked.err, HasSubstr("has the member \"quota\", which is not one of"));
}

}  // namespace
}  // namespace coppice
