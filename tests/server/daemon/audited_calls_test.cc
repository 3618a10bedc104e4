// Which calls of the daemon's own server the audit log tells of: all that change something, and no
// others.

#include "server/serving/calls/audited_calls.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/study.pb.h"
#include "coppice/v1/training.pb.h"
#include "server/serving/access/method_table.h"
#include "tests/server/daemon/access_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::Block;
using ::coppice::testing::Hex;
using ::coppice::testing::SpecOf;
using ::coppice::testing::TlsServerTest;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int64_t kSecondsOfDay = 86400;

class AuditedCallsTest : public TlsServerTest {
 protected:
  void SetUp() override {
    std::string tokens;
    for (const char* role : {"admin", "trainer", "analyst", "device", "relay"}) {
      StrAppend(&tokens, tokens.empty() ? "" : ",", "{\"name\":\"the-", role, "\",\"sha256\":\"",
                Hex(access::HashOfToken(role)), "\",\"role\":\"", role, "\"}");
    }
    Serve(StrCat("{\"anonymous\":[\"device\"],\"tokens\":[", tokens, "]}"));
  }

  grpc::Status As(const std::string& role, std::string_view path,
                  const std::string& message = "") const {
    return Call(std::string(path), {"Bearer " + role}, message);
  }

  // A connection of its own.
  std::shared_ptr<grpc::Channel> NewChannel() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(
        StrCat("127.0.0.1:", server_->port()),
        grpc::SslCredentials({.pem_root_certs = certificate_.certificate_pem,
                              .pem_private_key = "",
                              .pem_cert_chain = ""}),
        arguments);
  }

  std::map<std::string, std::string> LogRecords() const {
    std::map<std::string, std::string> records = store_.pairs();
    std::erase_if(
        records, [](const auto& record) { return !StartsWith(record.first, audit::kAuditPrefix); });
    return records;
  }

  // "actor action resource related outcome" of each call, once the day is over.
  std::vector<std::string> Log() {
    audit_seconds_ += kSecondsOfDay;
    std::vector<std::string> lines;
    for (uint64_t next = 0;;) {
      const auto page = audit_->Read(next, 0);
      EXPECT_OK(page.status());
      for (const v1::AuditEntry& entry : page->entries()) {
        next = entry.sequence() + 1;
        if (!StrContains(entry.action(), "Service/") && !StartsWith(entry.action(), "log/leave")) {
          continue;
        }
        lines.push_back(StrCat(entry.actor(), " ", entry.action(), " ", entry.resource(), " ",
                               entry.related(), " ", entry.outcome()));
      }
      if (next >= page->head().entries()) return lines;
    }
  }
  // Waits for `lines` lines: a refusal by the policy is entered after its answer.
  std::vector<std::string> AwaitLog(size_t lines) {
    std::vector<std::string> log;
    coppice::testing::Eventually([&] {
      log = Log();
      return log.size() >= lines;
    });
    return log;
  }
};

// Calls of one method that have not been answered yet, on several connections: one takes only some
// of them at a time.
class CallsUnderWay {
 public:
  CallsUnderWay(const std::vector<std::shared_ptr<grpc::Channel>>& channels, std::string path,
                std::string authorization)
      : path_(std::move(path)), authorization_(std::move(authorization)) {
    for (const auto& channel : channels) stubs_.emplace_back(channel);
  }
  ~CallsUnderWay() { AwaitAll(); }

  void Start(size_t calls) {
    for (size_t i = 0; i < calls; ++i) StartOn(stubs_[i % stubs_.size()]);
  }
  void AwaitOneTurnedAway() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return turned_away_; });
  }
  void AwaitAll() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ == 0; });
  }

 private:
  struct OneCall {
    grpc::ClientContext context;
    grpc::ByteBuffer request, response;
  };

  void StartOn(grpc::GenericStub& stub) {
    const auto call = std::make_shared<OneCall>();
    call->context.AddMetadata("authorization", authorization_);
    const grpc::Slice nothing("");
    call->request = grpc::ByteBuffer(&nothing, 1);
    {
      const std::lock_guard lock(mutex_);
      ++under_way_;
    }
    stub.UnaryCall(&call->context, path_, {}, &call->request, &call->response,
                   [this, call](const grpc::Status& status) {
                     const std::lock_guard lock(mutex_);
                     turned_away_ |= status.error_code() == grpc::RESOURCE_EXHAUSTED;
                     --under_way_;
                     changed_.notify_all();
                   });
  }

  std::deque<grpc::GenericStub> stubs_;
  const std::string path_;
  const std::string authorization_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int under_way_ = 0;
  bool turned_away_ = false;
};

// Why a method is not entered. For a method that this list lacks, decide: if it changes something,
// server/serving/access/method_table.cc must say so, and it is entered; otherwise give a reason
// here.
const std::map<std::string, std::string>& Reasons() {
  static const auto* const reasons = new std::map<std::string, std::string>{
      {"AdminService/ListTokens", "reads"},
      {"AdminService/ReadAuditLog", "reads"},
      {"DatasetService/GetDataset", "reads"},
      {"DatasetService/ListDatasets", "reads"},
      {"ModelService/DescribeModel", "reads"},
      {"ModelService/ExportModel", "reads"},
      {"AdminService/GetStatus", "reads"},
      {"AdminService/ListBackups", "reads"},
      {"StudyService/GetReportHistory", "reads"},
      {"ModelService/GetEndpoint", "reads"},
      {"ModelService/GetModel", "reads"},
      {"ModelService/ListEndpoints", "reads"},
      {"ModelService/ListModels", "reads"},
      {"ModelService/Predict", "predicts"},
      {"ModelService/StreamPredictions", "predicts"},
      {"ReportService/StreamReports", "a device's"},
      {"ReportService/SubmitReports", "a device's"},
      {"SealedReportService/DeliverBatch", "devices', and the relay signs what it hands over"},
      {"StudyService/ForecastStudy", "computes"},
      {"StudyService/GetCounts", "reads"},
      {"StudyService/GetCuratorKeys", "a device's"},
      {"StudyService/GetManifest", "a device's"},
      {"StudyService/GetOffer", "a device's"},
      {"StudyService/GetStudy", "reads"},
      {"StudyService/ListStudies", "reads"},
      {"StudyService/PreviewStudy", "computes"},
      {"TrainingService/GetEvaluation", "reads"},
      {"TrainingService/GetJob", "reads"},
      {"TrainingService/ListAlgorithms", "reads"},
      {"TrainingService/ListJobs", "reads"},
      {"TrainingService/PreviewEvaluation", "computes"},
      {"TrainingService/PreviewJob", "computes"},
      {"TrainingService/MeasureCurve", "computes"},
      {"TrainingService/WatchJob", "reads"},
  };
  return *reasons;
}

TEST_F(AuditedCallsTest, EveryMethodIsEnteredOrHasAReasonNotToBe) {
  size_t entered = 0;
  for (const access::Method& method : access::AllMethods()) {
    std::string_view name = method.path;
    if (!ConsumePrefix(&name, "/coppice.v1.")) continue;
    const size_t before = Log().size();
    (void)As("admin", method.path);
    const std::vector<std::string> log = Log();
    const bool is_entered = log.size() == before + 1;
    EXPECT_TRUE(is_entered || log.size() == before) << name;
    EXPECT_NE(is_entered, Reasons().contains(std::string(name))) << name;
    if (!is_entered) continue;
    EXPECT_TRUE(StartsWith(log.back(), StrCat("the-admin ", name, " "))) << log.back();
    ++entered;
  }
  EXPECT_EQ(entered, 22u);
}

// One entry per block would tell how many rows there are.
TEST_F(AuditedCallsTest, BlocksOfRowsAreOneEntryOfTheirDayAndEachFailureIsOne) {
  constexpr char kAppend[] = "/coppice.v1.DatasetService/AppendRows";
  central::DatasetSpec spec = SpecOf("d");
  spec.owner = "the-trainer";
  ASSERT_OK(datasets_->Create(spec).status());
  v1::AppendRowsRequest request;
  request.set_dataset("datasets/d");
  *request.mutable_rows() = Block(3);
  for (const uint64_t first : {0, 3, 6}) {
    request.set_first_row(first);
    const grpc::Status stored = As("trainer", kAppend, request.SerializeAsString());
    EXPECT_TRUE(stored.ok()) << stored.error_message();
  }
  EXPECT_FALSE(As("trainer", kAppend, request.SerializeAsString()).ok());  // other rows than stored
  request.set_first_row(9);
  EXPECT_TRUE(As("admin", kAppend, request.SerializeAsString()).ok());
  EXPECT_THAT(Log(), ::testing::UnorderedElementsAre(
                         "the-trainer DatasetService/AppendRows datasets/d  OK",
                         "the-trainer DatasetService/AppendRows datasets/d  FAILED_PRECONDITION",
                         "the-admin DatasetService/AppendRows datasets/d  OK"));
}

TEST_F(AuditedCallsTest, NoCallOfADeviceIsEntered) {
  const std::map<std::string, std::string> before = LogRecords();
  for (const access::Method& method : access::AllMethods()) {
    if (!method.roles.Has(access::Role::kDevice)) continue;
    (void)As("device", method.path);
    (void)Call(std::string(method.path), {});
  }
  EXPECT_EQ(LogRecords(), before) << "nor anything noted";
  EXPECT_THAT(Log(), IsEmpty());
}

TEST_F(AuditedCallsTest, ANameThatIsRefusedARoleIsEnteredAndNobodyIsNot) {
  constexpr char kSeal[] = "/coppice.v1.StudyService/SealStudy";
  EXPECT_EQ(Call(kSeal, {}).error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(Call(kSeal, {"Bearer guessed"}).error_code(), grpc::UNAUTHENTICATED);
  EXPECT_EQ(As("analyst", "/coppice.v1.DatasetService/ListDatasets").error_code(),
            grpc::PERMISSION_DENIED);
  EXPECT_EQ(As("analyst", kSeal).error_code(), grpc::PERMISSION_DENIED);
  EXPECT_THAT(AwaitLog(1), ElementsAre("the-analyst StudyService/SealStudy   PERMISSION_DENIED"));
}

// Calls that wait for the disk fill the pool that writes refusals. Whoever can fill it must not be
// able to hide others' attempts.
TEST_F(AuditedCallsTest, EveryRefusalIsEnteredEvenIfItCameWhileThePoolWasFull) {
  constexpr char kSeal[] = "/coppice.v1.StudyService/SealStudy";
  constexpr int kRefusals = 21;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < 6; ++i) channels.push_back(NewChannel());
  store_.HoldWrites();
  CallsUnderWay busy(channels, kSeal, "Bearer admin");
  busy.Start(600);  // the pool has room for 256, and a connection for 128
  busy.AwaitOneTurnedAway();
  for (int i = 0; i < kRefusals; ++i) {
    EXPECT_EQ(As("analyst", kSeal).error_code(), grpc::PERMISSION_DENIED);
  }
  store_.LetWrites();
  busy.AwaitAll();
  const std::vector<std::string> log = Log();
  EXPECT_EQ(
      std::count(log.begin(), log.end(), "the-analyst StudyService/SealStudy   PERMISSION_DENIED"),
      kRefusals);
}

TEST_F(AuditedCallsTest, WhatTheGuardRefusesIsEnteredWithItsNames) {
  v1::DeleteDatasetRequest request;
  request.set_name("datasets/d");
  EXPECT_EQ(As("trainer", "/coppice.v1.DatasetService/DeleteDataset", request.SerializeAsString())
                .error_code(),
            grpc::NOT_FOUND);
  v1::SetServingModelRequest serving;
  serving.set_endpoint("endpoints/e");
  serving.set_model("models/m");
  EXPECT_EQ(As("admin", "/coppice.v1.ModelService/SetServingModel", serving.SerializeAsString())
                .error_code(),
            grpc::NOT_FOUND);
  EXPECT_THAT(Log(), ::testing::UnorderedElementsAre(
                         "the-trainer DatasetService/DeleteDataset datasets/d  NOT_FOUND",
                         "the-admin ModelService/SetServingModel endpoints/e models/m NOT_FOUND"));
}

TEST_F(AuditedCallsTest, ANameThatTheCuratorChoseIsEntered) {
  v1::IssueSubmissionTokensRequest tokens;
  tokens.set_count(1);
  ASSERT_TRUE(
      As("admin", "/coppice.v1.StudyService/IssueSubmissionTokens", tokens.SerializeAsString())
          .ok());
  v1::CreateDatasetRequest request;
  request.set_request_id("a request");
  request.mutable_cap()->set_epsilon_nanos(1'000'000'000);
  request.mutable_cap()->set_composition(v1::COMPOSITION_BASIC);
  request.mutable_cap()->set_neighbours(v1::NEIGHBOURS_ADD_OR_REMOVE_ROW);
  v1::Feature& feature = *request.mutable_schema()->add_features();
  feature.set_name("x");
  feature.mutable_numeric()->set_max(1);
  request.mutable_schema()->set_label("label");
  request.mutable_schema()->add_classes("a");
  request.mutable_schema()->add_classes("b");
  std::string answer;
  const grpc::Status created = Call("/coppice.v1.DatasetService/CreateDataset", {"Bearer trainer"},
                                    request.SerializeAsString(), &answer);
  ASSERT_TRUE(created.ok()) << created.error_message();
  v1::CreateDatasetResponse response;
  ASSERT_TRUE(response.ParseFromString(answer));
  EXPECT_THAT(Log(), ElementsAre("the-admin StudyService/IssueSubmissionTokens   OK",
                                 StrCat("the-trainer DatasetService/CreateDataset ",
                                        response.dataset().name(), "  OK")));
}

// Otherwise whoever repeats such a call fills the log, for nothing.
TEST_F(AuditedCallsTest, ACallThatFindsAllAsItAskedIsNotEntered) {
  v1::CreateDatasetRequest create;
  create.set_request_id("a request");
  create.set_dataset_id("d");
  create.mutable_cap()->set_epsilon_nanos(1'000'000'000);
  create.mutable_cap()->set_composition(v1::COMPOSITION_BASIC);
  create.mutable_cap()->set_neighbours(v1::NEIGHBOURS_ADD_OR_REMOVE_ROW);
  *create.mutable_schema() = ToProto(*SpecOf("d").schema);
  v1::AppendRowsRequest append;
  append.set_dataset("datasets/d");
  *append.mutable_rows() = Block(3);
  append.set_complete(true);
  v1::AppendRowsRequest complete;
  complete.set_dataset("datasets/d");
  complete.set_first_row(3);
  complete.set_complete(true);
  v1::SubmitJobRequest submit;
  submit.set_request_id("a request");
  submit.set_job_id("j");
  submit.mutable_spec()->set_dataset("datasets/d");
  submit.mutable_spec()->set_algorithm(trainer_.info().name);
  submit.mutable_spec()->set_epsilon_nanos(1000);
  v1::CancelJobRequest cancel;
  cancel.set_name("jobs/j");
  v1::DeleteDatasetRequest remove;
  remove.set_name("datasets/d");
  const auto call = [this](const std::string& name, const google::protobuf::Message& message) {
    const grpc::Status status =
        As("trainer", StrCat("/coppice.v1.", name), message.SerializeAsString());
    EXPECT_TRUE(status.ok()) << name << ": " << status.error_message();
  };
  call("DatasetService/CreateDataset", create);
  call("DatasetService/AppendRows", append);
  call("TrainingService/SubmitJob", submit);
  coppice::testing::AwaitEnd(*jobs_, "j");
  const std::vector<std::string> before = Log();
  EXPECT_EQ(before.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    call("DatasetService/CreateDataset", create);
    call("DatasetService/AppendRows", complete);
    call("DatasetService/UploadRows", complete);
    call("TrainingService/SubmitJob", submit);
    call("TrainingService/CancelJob", cancel);
  }
  EXPECT_EQ(Log(), before);
  for (int i = 0; i < 3; ++i) call("DatasetService/DeleteDataset", remove);
  EXPECT_EQ(Log().size(), before.size() + 1);
}

TEST_F(AuditedCallsTest, TextThatIsNotANameIsNotRepeated) {
  for (const std::string& name :
       {std::string("studies/\xc3\xa4"), "studies/" + std::string(10'000, 'x'),
        std::string("studies/a\nb"), std::string("Bearer coppice_0123")}) {
    v1::SealStudyRequest request;
    request.set_name(name);
    EXPECT_FALSE(
        As("admin", "/coppice.v1.StudyService/SealStudy", request.SerializeAsString()).ok());
  }
  const std::vector<std::string> log = Log();
  EXPECT_EQ(log.size(), 4u);
  for (const std::string& line : log) {
    EXPECT_THAT(line, ::testing::StartsWith("the-admin StudyService/SealStudy (no name)  "));
  }
}

TEST_F(AuditedCallsTest, FailuresOfOneNameDoNotFillTheLog) {
  constexpr size_t kMost = service::CallAuditor::kMaxFailures;
  for (size_t i = 0; i < kMost + 20; ++i) {
    EXPECT_FALSE(As("admin", "/coppice.v1.StudyService/SealStudy").ok());
  }
  std::vector<std::string> log = Log();
  EXPECT_EQ(log.size(), kMost + 1);
  EXPECT_EQ(log.back(), "the-admin log/leave-out-failures   RESOURCE_EXHAUSTED");
  v1::IssueSubmissionTokensRequest tokens;
  tokens.set_count(1);
  ASSERT_TRUE(
      As("admin", "/coppice.v1.StudyService/IssueSubmissionTokens", tokens.SerializeAsString())
          .ok());
  EXPECT_FALSE(As("trainer", "/coppice.v1.DatasetService/DeleteDataset").ok());
  log = Log();
  EXPECT_EQ(log.size(), kMost + 3) << "what changes something, and others, are entered";
}

TEST_F(AuditedCallsTest, NothingIsChangedThatCannotBeNoted) {
  v1::IssueSubmissionTokensRequest tokens;
  tokens.set_count(1);
  store_.FailWrites(ResourceExhaustedError("the disk is full"));
  EXPECT_EQ(
      As("admin", "/coppice.v1.StudyService/IssueSubmissionTokens", tokens.SerializeAsString())
          .error_code(),
      grpc::RESOURCE_EXHAUSTED);
  store_.FailWrites(OkStatus());
  EXPECT_THAT(Log(), IsEmpty());
}

}  // namespace
}  // namespace coppice::daemon
