// A device's pin over the life of a real curator: restarts, another key, rotation.

#include <filesystem>
#include <fstream>
#include <string>

#include "client/device/grpc/grpc_carrier.h"
#include "client/device/run_session.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/public_key_file.h"
#include "tests/integration/daemon.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::BinaryPath;
using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::RunProgram;
using ::coppice::testing::StatusIs;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ManifestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Synthesize(Path("rows"), "private=20,public=100,test=1");
    ASSERT_TRUE(daemon_.Start());
    CreateStudy();
    SavePin("curator.pem");
  }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  void CreateStudy() {
    daemon_.CoppiceJson({"study", "create", "--study", "signed", "--public",
                         Path("rows/public.csv"), "--schema", Path("rows/schema.json"), "--epsilon",
                         "1", "--mechanism", "direct", "--depth", "3", "--min-reports", "10"});
  }
  void SavePin(const std::string& name) {
    const Outcome shown = daemon_.Coppice({"study", "key", "--pem"});
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    std::ofstream(Path(name)) << shown.out;
  }
  void MakeKey(const std::string& name) {
    const Outcome made =
        RunProgram({"/usr/bin/openssl", "genpkey", "-algorithm", "ed25519", "-out", Path(name)});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  // Stops the daemon and starts it with `flags`.
  bool RestartWith(std::vector<std::string> flags) {
    EXPECT_EQ(daemon_.Stop(), 0);
    daemon_.more_flags = std::move(flags);
    return daemon_.Start();
  }

  // Fetches as a device with the pin of SetUp() and one journal.
  Status Fetch(const std::string& pin = "curator.pem") {
    const auto journal = *JournalStore::Open(Path("device.journal"));
    const OfferPolicy offers{
        .curator_key = *ReadPublicKey(Path(pin)), .demand_pin = true, .min_reports = 10};
    const Policy policy{.max_epsilon = *Budget::FromEpsilon(100)};
    GrpcCarrier carrier = *GrpcCarrier::ToCurator(daemon_.connection(), RetryOptions());
    OpenSslRandom random;
    DeviceSession session(
        {.policy = policy, .offers = offers, .journal = journal->journal(), .random = random},
        {.server = carrier.server(), .study = "signed", .deliver = SessionPlan::Deliver::kNothing});
    const Status run = RunSession(session, {.journal = *journal, .carrier = carrier},
                                  [](size_t, const Terms&) { return LabelledRow(); });
    return run.ok() ? session.outcome().answer : run;
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
};

TEST_F(ManifestTest, ThePinHoldsOverARestart) {
  EXPECT_OK(Fetch());
  ASSERT_TRUE(RestartWith({}));
  EXPECT_OK(Fetch());
  daemon_.Kill();
  ASSERT_TRUE(daemon_.Start());
  EXPECT_OK(Fetch());
}

TEST_F(ManifestTest, ADaemonWithAnotherKeyIsRefused) {
  EXPECT_OK(Fetch());
  daemon_.Stop();
  std::filesystem::remove_all(daemon_.data_dir());
  ASSERT_TRUE(daemon_.Start());
  CreateStudy();
  EXPECT_THAT(Fetch(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has not endorsed")));
  // The command line refuses it too: it remembers the key in the journal without being given one.
  const Outcome outcome =
      daemon_.Coppice({"collect", "simulate", "--study", "signed", "--data",
                       Path("rows/private.csv"), "--journal", Path("device.journal")});
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("has not endorsed"));
}

TEST_F(ManifestTest, ARotationWithAnEndorsementIsFollowed) {
  EXPECT_OK(Fetch());
  MakeKey("next.key");
  MakeKey("other.key");
  // Rotates from the store's key to one in a file.
  ASSERT_TRUE(RestartWith({"--next-signing-key", Path("next.key")}));
  EXPECT_OK(Fetch());
  ASSERT_TRUE(RestartWith({"--signing-key", Path("next.key")}));
  EXPECT_OK(Fetch());
  SavePin("next.pem");
  EXPECT_OK(Fetch("next.pem"));
  // Rotates once more, from file to file; then uses a key that nobody endorsed.
  ASSERT_TRUE(
      RestartWith({"--signing-key", Path("next.key"), "--next-signing-key", Path("other.key")}));
  EXPECT_OK(Fetch());
  EXPECT_EQ(daemon_.CoppiceJson({"study", "key"})["endorsements"], 2);
  MakeKey("broken.key");
  ASSERT_TRUE(RestartWith({"--signing-key", Path("broken.key"), "--break-key-chain"}));
  EXPECT_THAT(Fetch(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has not endorsed")));
  SavePin("broken.pem");
  EXPECT_OK(Fetch("broken.pem"));
}

TEST_F(ManifestTest, ModelsAreVerifiedByThePinOverARotation) {
  daemon_.CoppiceJson({"collect", "simulate", "--study", "signed", "--data",
                       Path("rows/private.csv"), "--journal", Path("devices.journal")});
  const auto build = [&](const std::string& id) {
    daemon_.CoppiceJson({"model", "build", "--study", "signed", "--model", id});
    daemon_.CoppiceJson({"model", "export", "--model", id, "--output", Path(id + ".json")});
  };
  const auto verify = [&](const std::string& file, const std::string& pin) {
    return RunProgram({BinaryPath("coppice"), "model", "verify", "--json", "--file", Path(file),
                       "--curator-key", Path(pin)});
  };
  build("before");
  daemon_.CoppiceJson({"dataset", "create", "--dataset", "d", "--data", Path("rows/private.csv"),
                       "--schema", Path("rows/schema.json"), "--epsilon-total", "4"});
  daemon_.CoppiceJson({"train", "submit", "--dataset", "d", "--algorithm", "spe", "--job",
                       "trained", "--epsilon", "1"});
  EXPECT_EQ(daemon_.Coppice({"train", "watch", "--job", "trained"}).exit_code, 0);
  // What `study key` prints is a key, as its file is.
  const std::string printed = daemon_.CoppiceJson({"study", "key"})["pin"];
  for (const char* model : {"before", "trained"}) {
    for (const std::string& key : {Path("curator.pem"), printed}) {
      const auto verified =
          daemon_.CoppiceJson({"model", "verify", "--model", model, "--curator-key", key});
      EXPECT_EQ(verified["signature"], "valid") << model << key;
    }
  }
  MakeKey("next.key");
  ASSERT_TRUE(RestartWith({"--next-signing-key", Path("next.key")}));
  SavePin("next.pem");
  build("after");
  // Stored models are signed again; a file keeps its signature. The pin leads on to later keys, but
  // a later key does not vouch for a file from before it.
  for (const char* model : {"before", "trained"}) {
    for (const char* pin : {"curator.pem", "next.pem"}) {
      EXPECT_EQ(daemon_.CoppiceJson(
                    {"model", "verify", "--model", model, "--curator-key", Path(pin)})["signature"],
                "valid")
          << model << pin;
    }
  }
  EXPECT_EQ(verify("before.json", "curator.pem").exit_code, 0);
  EXPECT_EQ(verify("after.json", "curator.pem").exit_code, 0);
  EXPECT_EQ(verify("after.json", "next.pem").exit_code, 0);
  const Outcome earlier = verify("before.json", "next.pem");
  EXPECT_EQ(earlier.exit_code, 1);
  EXPECT_THAT(earlier.err, HasSubstr("changed its key since"));
}

// The file may be edited by its keeper, or by its publisher.
TEST_F(ManifestTest, AnEditedModelFileIsRefused) {
  daemon_.CoppiceJson({"collect", "simulate", "--study", "signed", "--data",
                       Path("rows/private.csv"), "--journal", Path("devices.journal")});
  daemon_.CoppiceJson({"model", "build", "--study", "signed", "--model", "m"});
  daemon_.CoppiceJson({"model", "export", "--model", "m", "--output", Path("m.json")});
  const auto model = nlohmann::json::parse(std::ifstream(Path("m.json")));
  const auto verify = [&](const nlohmann::json& edited, bool pinned) {
    std::ofstream(Path("edited.json")) << edited;
    std::vector<std::string> command = {BinaryPath("coppice"), "model", "verify", "--file",
                                        Path("edited.json")};
    if (pinned) command.insert(command.end(), {"--curator-key", Path("curator.pem")});
    return RunProgram(command);
  };
  EXPECT_EQ(verify(model, true).exit_code, 0);
  std::vector<nlohmann::json> edits(6, model);
  auto& leaf = edits[0]["predictions"][0]["leaves"][0];
  leaf["standard_error"] = leaf["standard_error"].get<double>() / 2;
  edits[1]["certificate"]["epsilon_nanos"] =
      edits[1]["certificate"]["releases"][0]["epsilon_nanos"] = "1000000";
  edits[2]["certificate"]["releases"][0]["what"] = "nothing";
  edits[3]["schema"]["features"][0]["name"] = "renamed";
  edits[4]["name"] = "models/other";
  edits[5]["certificate"]["fingerprint"] = "00";
  for (const nlohmann::json& edited : edits) {
    for (const bool pinned : {false, true}) {
      const Outcome outcome = verify(edited, pinned);
      EXPECT_EQ(outcome.exit_code, 1);
      EXPECT_THAT(outcome.err,
                  AllOf(HasSubstr("do not use"), HasSubstr("changed after it was signed")));
    }
  }
  nlohmann::json stripped = edits[1];
  stripped.erase("signature");
  EXPECT_THAT(verify(stripped, false).out, HasSubstr("unsigned"));
  const Outcome refused = verify(stripped, true);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("not signed"));
}

TEST_F(ManifestTest, ADaemonDoesNotStartWithAKeyThatDevicesWouldRefuse) {
  daemon_.Stop();
  MakeKey("other.key");
  std::vector<std::string> command = daemon_.CommandLine("127.0.0.1:0");
  command.insert(command.end(), {"--signing-key", Path("other.key")});
  const Outcome outcome = RunProgram(command);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--next-signing-key"), HasSubstr("--break-key-chain")));
}

TEST_F(ManifestTest, SimulatedDevicesTakeThePin) {
  const auto json = daemon_.CoppiceJson(
      {"collect", "simulate", "--study", "signed", "--data", Path("rows/private.csv"), "--journal",
       Path("devices.journal"), "--curator-key", Path("curator.pem"), "--demand-pin",
       "--min-reports", "10"});
  EXPECT_EQ(json["accepted"], 20);
  const Outcome fewer = daemon_.Coppice({"collect", "simulate", "--study", "signed", "--data",
                                         Path("rows/private.csv"), "--journal",
                                         Path("devices.journal"), "--min-reports", "11"});
  EXPECT_NE(fewer.exit_code, 0);
  EXPECT_THAT(fewer.err, HasSubstr("at least 11"));
}

}  // namespace
}  // namespace coppice
