// The whole path with real parts: a daemon with TLS and RocksDB, the command line, thousands of
// devices.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "client/device/grpc/connect.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "tests/integration/daemon.h"
#include "tests/support/collector.h"
#include "tests/support/data_dir.h"
#include "tests/support/raw_offer.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::RawOffer;
using ::coppice::testing::ReadWhole;
using ::coppice::testing::StatusIs;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

class MainJobTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(daemon_.Start()); }

  void CreateSynthetic(const std::string& study, const std::string& mechanism,
                       const std::string& trees = "1", const std::string& epsilon = "8") {
    if (!std::filesystem::exists(rows_)) Synthesize(rows_, "private=2000,public=200,test=500");
    const auto created =
        daemon_.CoppiceJson({"study", "create", "--study", study, "--public", rows_ + "/public.csv",
                             "--schema", rows_ + "/schema.json", "--epsilon", epsilon,
                             "--mechanism", mechanism, "--depth", "4", "--trees", trees});
    EXPECT_EQ(created["study"], study);
    EXPECT_GT(created["leaves"], 4);
    EXPECT_EQ(created["fingerprint"].get<std::string>().size(), 64u);
  }

  TempDir folder_;
  Daemon daemon_{folder_.path()};
  std::string rows_ = folder_.path() + "/rows";
};

TEST_F(MainJobTest, DevicesAnswerAndTheirTreePredicts) {
  Synthesize(rows_, "private=8000,public=200,test=500");
  for (const char* mechanism :
       {"laplace_split", "laplace_joint", "symmetric_unary", "optimized_unary", "subset_selection",
        "direct", "hadamard_response", "local_hashing", "signed_hadamard"}) {
    const std::string study = std::string("s-") + mechanism;
    CreateSynthetic(study, mechanism, /*trees=*/"1", /*epsilon=*/"16");
    const auto collected = daemon_.CoppiceJson({"collect", "simulate", "--study", study, "--data",
                                                rows_ + "/private.csv", "--journal",
                                                folder_.path() + "/" + study + ".journal"});
    EXPECT_EQ(collected["accepted"], 8000);

    const auto model =
        daemon_.CoppiceJson({"model", "build", "--study", study, "--model", "m-" + study,
                             "--estimator", "weighted", "--lambda", "1"});
    EXPECT_EQ(model["model"], "m-" + study);
    const auto evaluated = daemon_.CoppiceJson(
        {"model", "evaluate", "--model", "m-" + study, "--data", rows_ + "/test.csv"});
    // The majority class scores 0.54. signed_hadamard has the most noise: 40 runs had 0.684 to
    // 0.746, with a standard deviation of 0.014.
    EXPECT_GT(evaluated["accuracy"], 0.6) << mechanism;
  }
}

TEST_F(MainJobTest, AForestOfPartitionsVotes) {
  CreateSynthetic("forest", "optimized_unary", /*trees=*/"3");
  EXPECT_EQ(daemon_.CoppiceJson({"collect", "simulate", "--study", "forest", "--data",
                                 rows_ + "/private.csv"})["accepted"],
            2000);
  daemon_.CoppiceJson(
      {"model", "build", "--study", "forest", "--model", "voted", "--estimator", "prune"});
  EXPECT_GT(daemon_.CoppiceJson({"model", "evaluate", "--model", "voted", "--data",
                                 rows_ + "/test.csv"})["accuracy"],
            0.5);
  EXPECT_THAT(daemon_.Coppice({"model", "show", "--model", "voted", "--tree", "2"}).out,
              HasSubstr("x1"));
}

// 100 devices each fetch the tree of their ticket alone, also after the curator has read its store
// again; and a gateway fetches all trees.
TEST_F(MainJobTest, ADeviceFetchesTheOneTreeOfItsTicket) {
  CreateSynthetic("many", "optimized_unary", /*trees=*/"16");
  ASSERT_OK_AND_ASSIGN(const Collector collector,
                       Collector::Create(daemon_.connection(), RetryOptions()));
  ASSERT_OK_AND_ASSIGN(const FetchedOffer all, collector.FetchForest("many", 1));
  ASSERT_EQ(all.trees.size(), 16u);
  std::set<uint32_t> seen;
  std::vector<PrivateReport> reports;
  OpenSslRandom random;
  for (int device = 0; device < 100; ++device) {
    if (device == 50) {
      ASSERT_EQ(daemon_.Stop(), 0);
      ASSERT_TRUE(daemon_.Start());
    }
    ASSERT_OK_AND_ASSIGN(const FetchedOffer offer, collector.FetchOffer("many"));
    ASSERT_EQ(offer.trees.size(), 1u);
    const auto& [number, tree] = *offer.trees.begin();
    seen.insert(number);
    EXPECT_EQ(offer.fingerprint, all.fingerprint);
    EXPECT_EQ(tree, all.trees.at(number));
    ASSERT_OK_AND_ASSIGN(const Privatizer privatizer,
                         Privatizer::Create(offer.terms, offer.fingerprint, offer.trees));
    ASSERT_OK_AND_ASSIGN(reports.emplace_back(),
                         privatizer.Privatize({{0.25, 0.75}, 1}, offer.tickets[0], random));
    if (TreeOfTicket(all.tickets[0], 16) != number) {
      EXPECT_THAT(privatizer.Privatize({{0.25, 0.75}, 1}, all.tickets[0], random),
                  StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not here")));
    }
  }
  EXPECT_GT(seen.size(), 8u);  // 8 or fewer of 16 have probability below 10^-25
  ASSERT_OK_AND_ASSIGN(const auto results, collector.Deliver(reports));
  for (const DeliveryResult& result : results) EXPECT_EQ(result.delivery, Delivery::kAccepted);
  EXPECT_EQ(daemon_.CoppiceJson({"collect", "simulate", "--study", "many", "--data",
                                 rows_ + "/private.csv"})["accepted"],
            2000);
  const auto shown = daemon_.CoppiceJson({"study", "show", "--study", "many"});
  EXPECT_EQ(shown["trees"], 16);
  EXPECT_EQ(shown["accepted"], 2100);
}

TEST_F(MainJobTest, ADevicesOfferIsSmallHoweverManyTreesThereAre) {
  CreateSynthetic("small", "optimized_unary", /*trees=*/"64");
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = ReadWhole(daemon_.ca());
  v1::GetOfferRequest request;
  request.set_name("studies/small");
  const size_t device = RawOffer(daemon_.server(), grpc::SslCredentials(tls), request).size();
  request.set_whole_forest(true);
  const size_t gateway = RawOffer(daemon_.server(), grpc::SslCredentials(tls), request).size();
  EXPECT_GT(device, 0u);
  EXPECT_LT(device, 1000u);
  EXPECT_GT(gateway, 5 * device);
}

TEST_F(MainJobTest, ASecondSimulationOverTheSameJournalAddsNothing) {
  CreateSynthetic("once", "optimized_unary");
  const std::vector<std::string> simulate = {"collect",   "simulate",
                                             "--study",   "once",
                                             "--data",    rows_ + "/private.csv",
                                             "--journal", folder_.path() + "/journal"};
  EXPECT_EQ(daemon_.CoppiceJson(simulate)["accepted"], 2000);
  const auto again = daemon_.CoppiceJson(simulate);
  EXPECT_EQ(again["accepted"], 0);
  EXPECT_EQ(again["answered_before"], 2000);
  EXPECT_EQ(daemon_.CoppiceJson({"study", "show", "--study", "once"})["accepted"], 2000);
}

TEST_F(MainJobTest, TheReadmesDeviceAnswersOnceHoweverOftenItRuns) {
  CreateSynthetic("device", "laplace_split");
  // The device's policy takes at most 4, and the study asks for 8.
  const std::vector<std::string> device = {testing::BinaryPath("coppice_device_example"),
                                           daemon_.server(),
                                           daemon_.ca(),
                                           "device",
                                           folder_.path() + "/device.journal",
                                           "y=1",
                                           "x1=0.25",
                                           "x2=0.75"};
  const Outcome refused = testing::RunProgram(device);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("epsilon"));

  daemon_.CoppiceJson({"study", "create", "--study", "cheap", "--public", rows_ + "/public.csv",
                       "--schema", rows_ + "/schema.json", "--epsilon", "1"});
  std::vector<std::string> agrees = device;
  agrees[3] = "cheap";
  for (int i = 0; i < 2; ++i) {
    const Outcome answered = testing::RunProgram(agrees);
    EXPECT_EQ(answered.exit_code, 0) << answered.err;
    EXPECT_THAT(answered.out, HasSubstr("delivered"));
  }
  EXPECT_EQ(daemon_.CoppiceJson({"study", "show", "--study", "cheap"})["accepted"], 1);
}

TEST_F(MainJobTest, ATreeCanBeSeenExportedAndAskedAboutARow) {
  CreateSynthetic("seen", "laplace_joint");
  daemon_.CoppiceJson({"collect", "simulate", "--study", "seen", "--data", rows_ + "/private.csv"});
  daemon_.CoppiceJson(
      {"model", "build", "--study", "seen", "--model", "tree", "--estimator", "prune"});
  EXPECT_THAT(daemon_.Coppice({"model", "show", "--model", "tree", "--format", "text"}).out,
              HasSubstr("x1 <"));
  EXPECT_THAT(daemon_.Coppice({"model", "show", "--model", "tree", "--format", "dot"}).out,
              HasSubstr("digraph"));
  EXPECT_THAT(daemon_.Coppice({"model", "show", "--model", "tree", "--format", "svg"}).out,
              HasSubstr("<svg"));
  const std::string drawn = folder_.path() + "/tree.html";
  const std::vector<std::string> draw = {"model",    "show", "--model",  "tree",
                                         "--format", "html", "--output", drawn};
  EXPECT_FALSE(daemon_.CoppiceJson(draw).contains("tree"));  // a page has all trees
  EXPECT_THAT(ReadWhole(drawn), HasSubstr("x1 &lt; "));
  EXPECT_THAT(ReadWhole(drawn), HasSubstr("What decides"));
  EXPECT_THAT(daemon_.Coppice(draw).err, HasSubstr("--force"));
  const std::string exported = folder_.path() + "/tree.json";
  daemon_.CoppiceJson({"model", "export", "--model", "tree", "--output", exported});
  EXPECT_THAT(ReadWhole(exported), HasSubstr("\"epsilon_nanos\""));
  EXPECT_EQ(daemon_.CoppiceJson({"model", "verify", "--model", "tree"})["verified"], true);
  EXPECT_EQ(daemon_.CoppiceJson({"model", "verify", "--file", exported})["verified"], true);
  const std::string sheet = folder_.path() + "/certificate.html";
  const std::vector<std::string> certify = {"model", "verify", "--file", exported, "--html", sheet};
  const auto certified = daemon_.CoppiceJson(certify);
  EXPECT_EQ(certified["verified"], true);
  EXPECT_THAT(ReadWhole(sheet), HasSubstr("Privacy certificate"));
  for (const auto& section : certified["words"]) {
    EXPECT_THAT(ReadWhole(sheet), HasSubstr(section["title"].get<std::string>()));
  }
  EXPECT_THAT(daemon_.Coppice(certify).err, HasSubstr("--force"));
  std::string tampered = ReadWhole(exported);
  const size_t claim = tampered.find("\"epsilon_nanos\": \"");
  ASSERT_NE(claim, std::string::npos);
  tampered[claim + sizeof("\"epsilon_nanos\": \"") - 1] = '1';
  std::ofstream(exported) << tampered;
  const Outcome refused =
      daemon_.Coppice({"model", "verify", "--file", exported, "--html", sheet, "--force"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("do not use this model"));
  EXPECT_THAT(ReadWhole(sheet), HasSubstr("do not use this model"));
  const Outcome predicted = daemon_.Coppice(
      {"model", "predict", "--model", "tree", "--data", rows_ + "/test.csv", "--json"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
  EXPECT_EQ(std::count(predicted.out.begin(), predicted.out.end(), '\n'), 500);
  const Outcome all = daemon_.Coppice(
      {"model", "predict", "--model", "tree", "--data", rows_ + "/test.csv", "--probabilities"});
  EXPECT_THAT(all.out.substr(0, all.out.find('\n')), HasSubstr("confidence  p("));
  const Outcome evaluated =
      daemon_.Coppice({"model", "evaluate", "--model", "tree", "--data", rows_ + "/test.csv"});
  EXPECT_THAT(evaluated.out.substr(0, evaluated.out.find('\n')),
              HasSubstr(" than always answering "));
  const std::string page = folder_.path() + "/evaluation.html";
  const std::vector<std::string> with_page = {"model",  "evaluate",          "--model", "tree",
                                              "--data", rows_ + "/test.csv", "--html",  page};
  EXPECT_EQ(daemon_.Coppice(with_page).exit_code, 0);
  EXPECT_THAT(ReadWhole(page), HasSubstr("Confusion matrix"));
  EXPECT_THAT(ReadWhole(page), HasSubstr(" than always answering "));
  EXPECT_THAT(daemon_.Coppice(with_page).err, HasSubstr("--force"));  // a page is never replaced

  // An endpoint gives the same answers for rows without labels.
  daemon_.CoppiceJson(
      {"endpoint", "set", "--endpoint", "best", "--model", "tree", "--expect", "0"});
  const std::string features = ReadWhole(rows_ + "/test.csv");
  const std::string unlabelled = folder_.path() + "/unlabelled.csv";
  {
    std::istringstream lines(features);
    std::ofstream file(unlabelled);
    for (std::string line; std::getline(lines, line);)
      file << line.substr(0, line.rfind(',')) << "\n";
  }
  const Outcome served =
      daemon_.Coppice({"model", "predict", "--endpoint", "best", "--data", unlabelled, "--json"});
  EXPECT_EQ(served.exit_code, 0) << served.err;
  EXPECT_EQ(served.out, predicted.out);
  const auto explained = daemon_.CoppiceJson(
      {"model", "explain", "--endpoint", "best", "--data", unlabelled, "--row", "7"});
  EXPECT_EQ(explained["row"], 7);
  EXPECT_EQ(explained["trees"].size(), 1u);
  double answer = explained["bias"];
  for (const auto& one : explained["contributions"]) answer += one["contribution"].get<double>();
  EXPECT_NEAR(answer,
              explained["base"].get<double>() + explained["trees"][0]["contribution"].get<double>(),
              1e-9);
  daemon_.CoppiceJson(
      {"model", "build", "--study", "seen", "--model", "second", "--estimator", "pooled"});
  EXPECT_EQ(daemon_.CoppiceJson(
                {"endpoint", "set", "--endpoint", "best", "--model", "second"})["version"],
            2);
  EXPECT_EQ(daemon_.CoppiceJson({"endpoint", "rollback", "--endpoint", "best"})["model"], "tree");
  EXPECT_THAT(daemon_.Coppice({"model", "delete", "--model", "tree", "--yes"}).err,
              HasSubstr("endpoints/best serves it"));
  EXPECT_EQ(daemon_.Coppice({"model", "delete", "--model", "second"}).exit_code, 2);  // no --yes
  EXPECT_EQ(daemon_.CoppiceJson({"model", "delete", "--model", "second", "--yes"})["deleted"],
            true);
  EXPECT_THAT(daemon_.Coppice({"model", "verify", "--model", "second"}).err,
              HasSubstr("there is no model second"));
  const Outcome kept = daemon_.Coppice({"study", "delete", "--study", "seen", "--yes"});
  EXPECT_EQ(kept.exit_code, 1);
  EXPECT_THAT(kept.err, HasSubstr("endpoints/best serves its model tree"));
  daemon_.CoppiceJson({"endpoint", "delete", "--endpoint", "best", "--yes"});
  EXPECT_EQ(daemon_.Coppice({"study", "delete", "--study", "seen", "--yes"}).exit_code, 0);
}

TEST_F(MainJobTest, RealPublicAndPrivateRows) {
  COPPICE_NEEDS_DATA_SET(data, "diabetes");
  daemon_.CoppiceJson({"study", "create", "--study", "diabetes", "--public",
                       data + "/diabetes_pub.csv", "--schema", data + "/schema.json", "--epsilon",
                       "2", "--mechanism", "laplace_split", "--split-rule", "cart", "--depth",
                       "4"});
  EXPECT_EQ(daemon_.CoppiceJson({"collect", "simulate", "--study", "diabetes", "--data",
                                 data + "/diabetes_pri.csv"})["accepted"],
            2568);
  daemon_.CoppiceJson({"model", "build", "--study", "diabetes", "--model", "d", "--estimator",
                       "weighted", "--lambda", "inf"});
  // Public rows alone have no noise, so there is no tolerance. Always "0" would score 0.66.
  EXPECT_GT(daemon_.CoppiceJson({"model", "evaluate", "--model", "d", "--data",
                                 data + "/diabetes_pri.csv"})["accuracy"],
            0.7);
}

TEST_F(MainJobTest, TheStandardHealthServiceAnswers) {
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = ReadWhole(daemon_.ca());
  grpc::GenericStub stub(grpc::CreateChannel(daemon_.server(), grpc::SslCredentials(tls)));
  grpc::ClientContext context;
  const grpc::Slice empty_message("", 0);
  const grpc::ByteBuffer request(&empty_message, 1);
  grpc::ByteBuffer response;
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  ASSERT_TRUE(status.ok()) << status.error_message();
  grpc::Slice answer;
  ASSERT_TRUE(response.DumpToSingleSlice(&answer).ok());
  EXPECT_EQ(std::string(answer.begin(), answer.end()), std::string("\x08\x01"));  // SERVING
}

TEST_F(MainJobTest, SigtermStopsItCleanlyAndItComesBackAsItWas) {
  CreateSynthetic("kept", "optimized_unary");
  daemon_.CoppiceJson({"collect", "simulate", "--study", "kept", "--data", rows_ + "/private.csv"});
  const auto before = daemon_.CoppiceJson({"study", "show", "--study", "kept"});
  EXPECT_EQ(daemon_.Stop(), 0) << daemon_.log();
  ASSERT_TRUE(daemon_.Start());
  EXPECT_EQ(daemon_.CoppiceJson({"study", "show", "--study", "kept"}), before);
}

}  // namespace
}  // namespace coppice
