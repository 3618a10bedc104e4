// Calls that compute for long, against a real daemon: they leave the workers to others, end when
// their callers are gone, and do not keep the daemon from stopping.

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/device/grpc/connect.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/study.grpc.pb.h"
#include "tests/integration/daemon.h"
#include "tests/support/eventually.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;

// A busy machine may take this long for what an idle one does in well under a second; without the
// bounds under test each call below takes minutes.
constexpr absl::Duration kSoon = absl::Seconds(25);

class LongCallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(daemon_.Start());
    ASSERT_OK_AND_ASSIGN(channel_, Connect(daemon_.connection()));
    stub_ = v1::StudyService::NewStub(channel_);
  }

  static v1::CreateStudyRequest StudyOf(int rows) {
    v1::CreateStudyRequest study;
    v1::Schema& schema = *study.mutable_schema();
    for (const char* name : {"a", "b", "c", "d"}) {
      v1::Feature& feature = *schema.add_features();
      feature.set_name(name);
      feature.mutable_numeric()->set_max(1);
    }
    schema.set_label("label");
    for (const char* name : {"no", "yes"}) schema.add_classes(name);
    uint32_t state = 1;
    const auto unit = [&] { return ((state = state * 1664525 + 1013904223) >> 8) * 0x1p-24; };
    for (int i = 0; i < rows; ++i) {
      v1::Row& row = *study.add_public_rows();
      for (int f = 0; f < 4; ++f) row.add_values(unit());
      study.add_public_labels(unit() < row.values(0) ? 1 : 0);
    }
    study.mutable_partition()->set_seed(1);
    study.mutable_choose_mechanism();
    return study;
  }
  static v1::PreviewStudyRequest PreviewOf(int rows) {
    v1::PreviewStudyRequest request;
    *request.mutable_study() = StudyOf(rows);
    request.add_epsilon_nanos(1'000'000'000);
    request.add_devices(10'000);
    return request;
  }
  // Starts tens of seconds of work.
  grpc::Status PreviewLarge(absl::Duration deadline) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
    v1::PreviewStudyResponse response;
    return stub_->PreviewStudy(&context, PreviewOf(40'000), &response);
  }
  // Returns once the daemon works on them.
  std::vector<std::future<grpc::Status>> PreviewFourTimes(absl::Duration deadline) {
    const absl::Duration before = daemon_.processor_time();
    std::vector<std::future<grpc::Status>> calls;
    for (int i = 0; i < 4; ++i) {
      calls.push_back(std::async(std::launch::async, [=, this] { return PreviewLarge(deadline); }));
    }
    EXPECT_TRUE(
        testing::Eventually([&] { return daemon_.processor_time() > before + absl::Seconds(1); }));
    return calls;
  }
  grpc::Status CreateSmall(const std::string& id) {
    v1::CreateStudyRequest request = StudyOf(100);
    request.set_request_id(id);
    request.set_study_id(id);
    request.set_epsilon_nanos(1'000'000'000);
    request.mutable_partition()->set_rule(v1::SPLIT_RULE_HYBRID);
    request.mutable_partition()->set_criterion(v1::CRITERION_ENTROPY);
    request.mutable_partition()->set_max_depth(3);
    request.mutable_partition()->set_min_leaf(1);
    request.mutable_partition()->set_trees(2);
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kSoon));
    v1::CreateStudyResponse response;
    return stub_->CreateStudy(&context, request, &response);
  }

  testing::TempDir folder_;
  Daemon daemon_{folder_.path()};
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::StudyService::Stub> stub_;
};

TEST_F(LongCallsTest, PreviewsLeaveTheWorkersToOthersAndEndWithTheirCallers) {
  std::vector<std::future<grpc::Status>> calls = PreviewFourTimes(absl::Seconds(5));
  const grpc::Status beside = CreateSmall("beside");
  EXPECT_TRUE(beside.ok()) << beside.error_message();
  for (auto& call : calls) call.wait();
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kSoon));
  v1::PreviewStudyResponse response;
  const grpc::Status after = stub_->PreviewStudy(&context, PreviewOf(100), &response);
  EXPECT_TRUE(after.ok()) << after.error_message();
  EXPECT_EQ(response.public_rows(), 100u);
}

// Without labels a preview looks at rows much longer.
TEST_F(LongCallsTest, APreviewOfManyRowsLooksAtASampleAndSaysSo) {
  testing::Synthesize(folder_.path() + "/rows", "private=10,public=20500,test=10");
  const testing::Outcome outcome =
      daemon_.Coppice({"study", "preview", "--public", folder_.path() + "/rows/public.csv",
                       "--schema", folder_.path() + "/rows/schema.json", "--epsilon", "1",
                       "--devices", "1000", "--public-labels", "none", "--mechanism", "direct"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("A sample: 5000 of the 20500 public rows"));
}

TEST_F(LongCallsTest, APreviewDoesNotDelayTheEnd) {
  std::vector<std::future<grpc::Status>> calls = PreviewFourTimes(absl::Hours(1));
  EXPECT_EQ(daemon_.Stop(), 0);
  size_t cut_off = 0;
  for (auto& call : calls) cut_off += call.get().ok() ? 0 : 1;
  EXPECT_GT(cut_off, 0u) << "all were worked on to their ends";
}

TEST_F(LongCallsTest, AStudyWhoseCallerIsGoneIsNotMade) {
  v1::CreateStudyRequest request = StudyOf(40'000);
  request.set_request_id("large");
  request.set_study_id("large");
  request.set_epsilon_nanos(1'000'000'000);
  v1::PartitionOptions& partition = *request.mutable_partition();
  partition.set_rule(v1::SPLIT_RULE_CART);
  partition.set_criterion(v1::CRITERION_GINI);
  partition.set_max_depth(14);
  partition.set_min_leaf(1);
  partition.set_trees(1024);
  request.set_mechanism(v1::MECHANISM_DIRECT);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(3)));
  v1::CreateStudyResponse response;
  EXPECT_EQ(stub_->CreateStudy(&context, request, &response).error_code(), grpc::DEADLINE_EXCEEDED);
  const grpc::Status after = CreateSmall("after");  // waits for the lock that the first call holds
  EXPECT_TRUE(after.ok()) << after.error_message();
  EXPECT_NE(daemon_.Coppice({"study", "show", "--study", "large"}).exit_code, 0);
}

}  // namespace
}  // namespace coppice
