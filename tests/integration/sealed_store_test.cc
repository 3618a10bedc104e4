// A real daemon with a key file: no byte of its disk is private, only the key file opens it, and
// keys rotate while it serves.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/store/vault/keyed_store.h"
#include "tests/integration/daemon.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::Process;
using ::coppice::testing::ReadWhole;
using ::coppice::testing::RunProgram;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

namespace fs = std::filesystem;

// A value of each planted row, and its bytes in a block of rows.
constexpr double kPlanted = 0.31830988618379067;
std::string PlantedBytes() {
  std::string bytes(sizeof kPlanted, '\0');
  std::memcpy(bytes.data(), &kPlanted, sizeof kPlanted);
  return bytes;
}

std::vector<std::string> FilesWith(const std::string& folder, const std::string& secret) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    if (ReadWhole(entry.path()).find(secret) != std::string::npos) files.push_back(entry.path());
  }
  return files;
}

class SealedDaemonTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Synthesize(rows_, "private=1,public=100,test=1");
    std::ofstream planted(rows_ + "/planted.csv");
    planted << "x1,x2,y\n";
    planted.precision(17);
    for (int row = 0; row < 200; ++row) planted << kPlanted << "," << 0.5 << "," << row % 2 << "\n";
    daemon_.AddFlags({"--backup-dir", backups_});
    first_key_ = Coppiced({"key-file", "--out", key_file_}).out;
  }
  static Outcome Coppiced(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), BinaryPath("coppiced"));
    return RunProgram(arguments);
  }
  void CreateDataset(const std::string& id) const {
    daemon_.CoppiceJson({"dataset", "create", "--dataset", id, "--data", rows_ + "/planted.csv",
                         "--schema", rows_ + "/schema.json", "--epsilon-total", "8"});
  }
  void CreateStudy() const {
    daemon_.CoppiceJson({"study", "create", "--study", "s", "--public", rows_ + "/public.csv",
                         "--schema", rows_ + "/schema.json", "--epsilon", "1", "--mechanism",
                         "laplace_joint", "--depth", "2"});
  }
  // Trains on `dataset`, which reads all its rows.
  void ExpectTrainable(const std::string& dataset, const std::string& job) const {
    daemon_.CoppiceJson({"train", "submit", "--dataset", dataset, "--algorithm", "spe", "--epsilon",
                         "0.5", "--job", job});
    EXPECT_EQ(daemon_.Coppice({"train", "watch", "--job", job}).exit_code, 0);
  }
  // What must not be on the disk: rows, and the secrets of the daemon.
  std::vector<std::string> Secrets(const std::string& key_file) const {
    vault::KeyOptions options;
    if (!key_file.empty()) options.keys = *vault::KeyFile::Load(key_file);
    const auto store = vault::OpenKeyedStoreForReading(daemon_.data_dir(), options);
    EXPECT_OK(store);
    if (!store.ok()) return {};
    v1::ManifestKeyRecord record;
    EXPECT_TRUE(record.ParseFromString(**(*store)->Get(curator::kManifestKeyKey)));
    const std::string ticket_key = **(*store)->Get(curator::kTicketKeyKey);
    EXPECT_EQ(record.seed().size(), 32u);
    EXPECT_EQ(ticket_key.size(), 32u);
    return {PlantedBytes(), record.seed(), ticket_key};
  }
  void StartWithKeys() {
    daemon_.more_flags = {"--key-file", key_file_};
    ASSERT_TRUE(daemon_.Start());
  }
  // Returns the log of a start that must fail.
  std::string FailingStart(const std::vector<std::string>& flags) const {
    std::vector<std::string> line = daemon_.CommandLine("127.0.0.1:0");
    line.insert(line.end(), flags.begin(), flags.end());
    const Outcome outcome = RunProgram(line);
    EXPECT_EQ(outcome.exit_code, 1);
    return outcome.err;
  }
  size_t Times(const std::string& text) const {
    const std::string log = daemon_.log();
    size_t times = 0;
    for (size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) ++times;
    return times;
  }

  TempDir folder_;
  const std::string rows_ = folder_.path() + "/rows";
  const std::string backups_ = folder_.path() + "/backups";
  const std::string key_file_ = folder_.path() + "/store.key";
  std::string first_key_;
  Daemon daemon_{folder_.path()};
};

TEST_F(SealedDaemonTest, SecretsOfAPlainStoreAreFoundAndOfASealedOneAreNot) {
  ASSERT_TRUE(daemon_.Start());
  CreateDataset("d");
  CreateStudy();
  daemon_.CoppiceJson({"admin", "backup"});
  EXPECT_EQ(Times("store is plain"), 1u);
  EXPECT_THAT(daemon_.log(), HasSubstr("encrypt them with --key-file"));
  EXPECT_EQ(daemon_.Stop(), 0);
  const std::vector<std::string> secrets = Secrets("");
  for (const std::string& secret : secrets) {
    EXPECT_THAT(FilesWith(daemon_.data_dir(), secret), Not(IsEmpty()));
    EXPECT_THAT(FilesWith(backups_, secret), Not(IsEmpty()));
  }
  fs::remove_all(backups_);  // the daemon advises this

  StartWithKeys();
  EXPECT_EQ(Times("sealing the store"), 1u);
  EXPECT_EQ(Times("store is plain"), 0u);
  EXPECT_THAT(daemon_.log(), HasSubstr("store is sealed key=" + first_key_.substr(0, 16)));
  CreateDataset("e");
  ExpectTrainable("d", "j");
  ExpectTrainable("e", "k");
  daemon_.CoppiceJson({"admin", "backup"});
  CreateDataset("f");
  daemon_.Kill();  // RocksDB's log keeps what it holds
  EXPECT_EQ(Secrets(key_file_), secrets) << "the keys are the same as before";
  for (const std::string& secret : secrets) {
    EXPECT_THAT(FilesWith(daemon_.data_dir(), secret), IsEmpty());
    EXPECT_THAT(FilesWith(backups_, secret), IsEmpty());
  }
  EXPECT_THAT(FilesWith(backups_, "study/s/"), Not(IsEmpty()));
  StartWithKeys();
  EXPECT_EQ(Times("sealing the store"), 0u);
  ExpectTrainable("f", "l");
  EXPECT_THAT(daemon_.log(), Not(HasSubstr(ReadWhole(key_file_).substr(0, 64))));
}

TEST_F(SealedDaemonTest, NeitherAWrongNorAMissingKeyFileOpensIt) {
  StartWithKeys();
  CreateDataset("d");
  EXPECT_EQ(daemon_.Stop(), 0);
  const std::string other = folder_.path() + "/other.key";
  ASSERT_EQ(Coppiced({"key-file", "--out", other}).exit_code, 0);
  EXPECT_THAT(FailingStart({}), AllOf(HasSubstr("is sealed"), HasSubstr("--key-file")));
  EXPECT_THAT(FailingStart({"--key-file", other}), HasSubstr(first_key_.substr(0, 16)));
  EXPECT_THAT(FailingStart({"--key-file", folder_.path() + "/none"}), HasSubstr("--key-file"));
  fs::permissions(key_file_, fs::perms(0644));
  EXPECT_THAT(FailingStart({"--key-file", key_file_}), HasSubstr("chmod"));
  fs::permissions(key_file_, fs::perms(0600));
  const std::string inside = daemon_.data_dir() + "/store.key";
  fs::copy_file(key_file_, inside);
  EXPECT_THAT(FailingStart({"--key-file", inside}), HasSubstr("is inside --data-dir"));

  const Outcome without = Coppiced({"check", "--data-dir", daemon_.data_dir()});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_THAT(without.err, HasSubstr("--key-file"));
  const Outcome with =
      Coppiced({"check", "--data-dir", daemon_.data_dir(), "--key-file", key_file_});
  EXPECT_EQ(with.exit_code, 0) << with.out << with.err;
  StartWithKeys();
  ExpectTrainable("d", "j");
}

TEST_F(SealedDaemonTest, KeysRotateWhileItServes) {
  StartWithKeys();
  CreateDataset("d");
  const std::string second = Coppiced({"key-file", "--add", key_file_}).out.substr(0, 16);
  daemon_.ReloadUntil("reloaded part=key-file");
  EXPECT_THAT(daemon_.log(), HasSubstr("key rotated former_key=" + first_key_.substr(0, 16)));
  CreateDataset("e");
  // A file that lacks the key in use is not taken.
  const std::string good = ReadWhole(key_file_);
  std::ofstream(key_file_) << good.substr(65);
  daemon_.ReloadUntil("kept part=key-file");
  EXPECT_THAT(daemon_.log(), HasSubstr(second));
  // The new key alone opens the store.
  std::ofstream(key_file_) << good.substr(0, 65);
  EXPECT_EQ(daemon_.Stop(), 0);
  StartWithKeys();
  ExpectTrainable("d", "j");
  ExpectTrainable("e", "k");
}

TEST_F(SealedDaemonTest, KilledAtAnyMomentOfARotationItStartsAgain) {
  StartWithKeys();
  CreateDataset("d");
  for (int round = 0; round < 6; ++round) {
    ASSERT_EQ(Coppiced({"key-file", "--add", key_file_}).exit_code, 0);
    daemon_.Signal(SIGHUP);
    std::this_thread::sleep_for(std::chrono::milliseconds(4 * round));
    daemon_.Kill();
    StartWithKeys();
  }
  const std::string newest = ReadWhole(key_file_).substr(0, 65);
  EXPECT_EQ(daemon_.Stop(), 0);
  std::ofstream(key_file_) << newest;
  StartWithKeys();
  ExpectTrainable("d", "j");
}

TEST_F(SealedDaemonTest, ARestoredBackupIsSealedAndNeedsTheKeyFile) {
  StartWithKeys();
  CreateDataset("d");
  daemon_.CoppiceJson({"admin", "backup"});
  EXPECT_EQ(daemon_.Stop(), 0);
  const std::string restored = folder_.path() + "/restored";
  const Outcome without = Coppiced({"restore", "--from", backups_, "--data-dir", restored});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_THAT(without.err, HasSubstr("--key-file"));
  EXPECT_FALSE(fs::exists(restored + "/rocksdb"));
  const Outcome with =
      Coppiced({"restore", "--from", backups_, "--data-dir", restored, "--key-file", key_file_});
  EXPECT_EQ(with.exit_code, 0) << with.err;
  EXPECT_THAT(FilesWith(restored, PlantedBytes()), IsEmpty());
  // A backup that is made without a key is as sealed as its source.
  const Outcome copied =
      Coppiced({"backup", "--data-dir", restored, "--to", folder_.path() + "/again"});
  EXPECT_EQ(copied.exit_code, 0) << copied.err;
  EXPECT_THAT(FilesWith(folder_.path() + "/again", PlantedBytes()), IsEmpty());
  Daemon second(folder_.path(), restored);
  second.more_flags = {"--key-file", key_file_};
  ASSERT_TRUE(second.Start());
  EXPECT_EQ(second.CoppiceJson({"dataset", "show", "--dataset", "d"})["rows"], 200);
}

TEST_F(SealedDaemonTest, ABackupFromBeforeIsSealedWhenItIsRestored) {
  ASSERT_TRUE(daemon_.Start());
  CreateDataset("d");
  daemon_.CoppiceJson({"admin", "backup"});
  EXPECT_EQ(daemon_.Stop(), 0);
  EXPECT_THAT(FilesWith(backups_, PlantedBytes()), Not(IsEmpty()));
  const std::string restored = folder_.path() + "/restored";
  const Outcome outcome =
      Coppiced({"restore", "--from", backups_, "--data-dir", restored, "--key-file", key_file_});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(FilesWith(restored, PlantedBytes()), IsEmpty());
}

}  // namespace
}  // namespace coppice
