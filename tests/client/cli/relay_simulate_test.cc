// `collect simulate` and `collect resume` through a relay in this process.

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "common/terms/signature.h"
#include "tests/client/cli/run_coppice.h"
#include "tests/client/device/fake_relay.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeRelay;
using ::coppice::testing::Outcome;
using ::coppice::testing::PromisedTerms;
using ::coppice::testing::RelayKey;
using ::coppice::testing::RunCoppice;
using ::coppice::testing::SealedManifest;
using ::coppice::testing::Sign;
using ::coppice::testing::SignDeal;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RelaySimulateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RelayTerms terms = PromisedTerms();
    terms.deal_until_unix_seconds = terms.freeze_at_unix_seconds = 3'900'000'000;  // in 2093
    relay_.offer = SignDeal(terms, Sign(FakeKey(), SealedManifest()));
    std::ofstream(Path("rows.csv")) << "x,y\n1,yes\n2,no\n3,yes\n4,no\n5,yes\n";
    std::ofstream(Path("curator.pem")) << ToPem(FakeKey().public_key());
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }

  Outcome Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--relay", relay_.address(), "--relay-key", key_, "--journal",
                      Path("journal"), "--insecure", "--timeout", "1", "--json"});
    return RunCoppice(arguments);
  }
  Outcome Simulate(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"collect",       "simulate",  "--study",
                                          "sample",        "--data",    Path("rows.csv"),
                                          "--curator-key", curator_key_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }

  // What the journal says of each answer.
  std::string Answers() const {
    return RunCoppice({"collect", "history", "--journal", Path("journal"), "--answers", "--json"})
        .out;
  }

  TempDir dir_;
  FakeRelay relay_;
  std::string key_ = ToPin(RelayKey().public_key());
  std::string curator_key_ = Path("curator.pem");
};

TEST_F(RelaySimulateTest, EveryRowAnswersAndNoCuratorIsAsked) {
  const Outcome outcome = Simulate();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"dealt\":5"));
  EXPECT_THAT(outcome.out, HasSubstr("\"stored\":5"));
  EXPECT_THAT(outcome.out, HasSubstr("\"lost\":{}"));
  EXPECT_THAT(outcome.out, HasSubstr("\"min_batch\":2000"));
  EXPECT_EQ(relay_.requests.size(), 5u);
  EXPECT_THAT(Answers(), AllOf(HasSubstr("\"delivered\":true"), Not(HasSubstr("\"ticket\"")),
                               Not(HasSubstr("\"ciphertext\""))));
}

TEST_F(RelaySimulateTest, WhatIsInterruptedIsResumed) {
  relay_.failures = 1'000'000;
  const Outcome stopped = Simulate();
  EXPECT_EQ(stopped.code, 1);
  EXPECT_THAT(stopped.err, HasSubstr("collect resume --relay"));
  EXPECT_THAT(Answers(), AllOf(HasSubstr("\"ticket\""), HasSubstr("\"ciphertext\""),
                               Not(HasSubstr("\"payload\""))));
  relay_.failures = 0;
  relay_.requests.clear();
  const Outcome resumed = Run({"collect", "resume"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("\"stored\":5"));
  EXPECT_THAT(resumed.out, HasSubstr("\"waiting\":0"));
  EXPECT_EQ(relay_.requests.size(), 5u);
}

TEST_F(RelaySimulateTest, AnotherRelayOrSmallBatchesAreDeclinedWithoutATicket) {
  EXPECT_THAT(Simulate({"--min-batch", "2001"}).err, HasSubstr("at least 2001"));
  key_ = ToPin(FakeKey(8).public_key());
  EXPECT_THAT(Simulate().err, HasSubstr("not signed by the relay"));
  EXPECT_EQ(relay_.asked, "studies/sample");  // for its terms, never for a ticket
}

TEST_F(RelaySimulateTest, TheCuratorsKeyMayBeGivenAsItIsPrinted) {
  curator_key_ = "ed25519:nonsense";
  const Outcome wrong = Simulate();
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--curator-key: needs \"ed25519:...\" or a file"));
  curator_key_ = ToPin(FakeKey(8).public_key());
  EXPECT_EQ(Simulate().code, 1) << "another key is another curator";
  curator_key_ = ToPin(FakeKey().public_key());
  EXPECT_EQ(Simulate().code, 0);
}

TEST_F(RelaySimulateTest, ARelayNeedsBothPins) {
  const Outcome no_curator =
      Run({"collect", "simulate", "--study", "sample", "--data", Path("rows.csv")});
  EXPECT_EQ(no_curator.code, 2);
  EXPECT_THAT(no_curator.err, HasSubstr("--curator-key"));
  const Outcome no_authority = RunCoppice({"collect", "resume", "--journal", Path("curator.pem"),
                                           "--relay", relay_.address(), "--relay-key", key_});
  EXPECT_EQ(no_authority.code, 2);
  EXPECT_THAT(no_authority.err, HasSubstr("--relay-ca"));
  key_ = "ed25519:nonsense";
  const Outcome bad_pin = Simulate();
  EXPECT_EQ(bad_pin.code, 2);
  EXPECT_THAT(bad_pin.err, HasSubstr("--relay-key"));
  const Outcome neither = RunCoppice({"collect", "resume", "--journal", Path("curator.pem")});
  EXPECT_EQ(neither.code, 2);
  EXPECT_THAT(neither.err, HasSubstr("--server"));
}

TEST_F(RelaySimulateTest, ARelayThatIsNotThereIsNamedByItsFlag) {
  const Outcome outcome = RunCoppice({"collect", "simulate", "--study", "sample", "--data",
                                      Path("rows.csv"), "--curator-key", Path("curator.pem"),
                                      "--relay", "127.0.0.1:1", "--relay-key", key_, "--insecure"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("check --relay, and that coppice-relay runs there"));
}

}  // namespace
}  // namespace coppice
