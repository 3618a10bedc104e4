// MeasureCurve: bounds, progress, the result, and what becomes of a curve whose caller is gone.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "tests/server/serving/service/central_service_fixture.h"

namespace coppice::service {
namespace {

using ::coppice::testing::Block;
using ::coppice::testing::CentralSchema;
using ::coppice::testing::CentralServiceTest;
using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CurveTest : public CentralServiceTest {
 protected:
  CurveTest() {
    *request_.mutable_schema() = ToProto(*CentralSchema());
    SetRows(100);
    request_.add_algorithms("fake");
    request_.add_epsilon_nanos(2'000'000'000);
    request_.add_epsilon_nanos(1'000'000'000);
    request_.set_repeats(3);
  }

  // Every third row says yes.
  void SetRows(int count) {
    *request_.mutable_rows() = Block(count);
    for (int i = 0; i < count; ++i) request_.mutable_rows()->set_labels(i, i % 3 == 0 ? 1 : 0);
  }

  grpc::Status Measure() {
    grpc::ClientContext context;
    told_.clear();
    const auto reader = training_->MeasureCurve(&context, request_);
    v1::MeasureCurveResponse response;
    while (reader->Read(&response)) told_.push_back(response);
    return reader->Finish();
  }
  void ExpectRefused(const char* message) {
    EXPECT_THAT(Measure(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr(message)));
    EXPECT_THAT(told_, IsEmpty());
    EXPECT_EQ(trainer_.runs(), 0);
  }

  v1::MeasureCurveRequest request_;
  std::vector<v1::MeasureCurveResponse> told_;
};

TEST_F(CurveTest, TheLastMessageHasThePointsAndThePage) {
  ASSERT_THAT(Measure(), IsGrpcOk());
  ASSERT_FALSE(told_.empty());
  const v1::MeasureCurveResponse& last = told_.back();
  EXPECT_EQ(last.progress(), 1);
  ASSERT_THAT(last.points(), SizeIs(3));
  for (const auto& [point, epsilon] :
       {std::pair(0, 1'000'000'000u), std::pair(1, 2'000'000'000u), std::pair(2, 0u)}) {
    EXPECT_EQ(last.points(point).algorithm(), "fake");
    EXPECT_EQ(last.points(point).epsilon_nanos(), epsilon);
    EXPECT_GT(last.points(point).mean(), 0.4);  // the fake trainer always says no
    EXPECT_LT(last.points(point).mean(), 0.95);
  }
  EXPECT_THAT(last.page(), HasSubstr("What ε buys"));
  EXPECT_THAT(last.page(), HasSubstr("fake: neighbours differ in one row more or less."));
  EXPECT_THAT(last.page(), HasSubstr("100 rows, trained 3 times"));
  EXPECT_EQ(trainer_.runs(), 9);
  EXPECT_EQ(trainer_.rows_seen(), 80u);
  double before = 0;
  for (const v1::MeasureCurveResponse& response : told_) {
    EXPECT_GE(response.progress(), before);
    before = response.progress();
    EXPECT_EQ(response.page().empty(), &response != &last);
  }
}

TEST_F(CurveTest, CuratorChoosesWhatTheRequestLeavesOpen) {
  request_.clear_epsilon_nanos();
  request_.set_repeats(0);
  ASSERT_THAT(Measure(), IsGrpcOk());
  const v1::MeasureCurveResponse& last = told_.back();
  EXPECT_GT(last.points_size(), 2);
  EXPECT_GT(last.repeats(), 0u);
  EXPECT_EQ(static_cast<uint32_t>(trainer_.runs()), last.repeats() * last.points_size());
}

TEST_F(CurveTest, ItTouchesNoDatasetAndNoBudget) {
  ASSERT_THAT(Create(CreateRequest("d")), IsGrpcOk());
  ASSERT_THAT(Measure(), IsGrpcOk());
  ASSERT_THAT(Get("datasets/d"), IsGrpcOk());
  EXPECT_EQ(dataset_.spent().epsilon_nanos(), 0u);
  EXPECT_EQ(dataset_.rows(), 0u);
}

TEST_F(CurveTest, ErrorsNameTheLimitThatIsExceeded) {
  SetRows(9);
  ExpectRefused("rows: must be 10 to 20000, are 9");
  SetRows(20'001);
  ExpectRefused("rows: must be 10 to 20000, are 20001");
  SetRows(100);
  request_.set_repeats(21);
  ExpectRefused("repeats: must be at most 20");
  request_.set_repeats(0);
  request_.set_delta_atto(1);
  ExpectRefused("delta_atto: must be 0: fake is pure epsilon-DP");
  request_.set_delta_atto(0);
  request_.set_epsilon_nanos(1, 0);
  ExpectRefused("epsilon_nanos[1]");
  request_.clear_epsilon_nanos();
  for (int i = 1; i <= 9; ++i) request_.add_epsilon_nanos(i * 1'000'000'000ull);
  ExpectRefused("has 9");
}

TEST_F(CurveTest, AlgorithmsAreThoseThatJobsHaveEachOnce) {
  request_.add_algorithms("fake");
  ExpectRefused("algorithms[1]: fake is listed twice");
  request_.set_algorithms(1, "<b>");
  ExpectRefused("algorithms[1]: there is no \"<b>\"; there are fake");
  request_.clear_algorithms();
  ExpectRefused("there is no \"auto\"");  // the daemon has one
  for (int i = 0; i < 5; ++i) request_.add_algorithms("fake");
  ExpectRefused("algorithms: must be at most 4, are 5");
  trainer_.info().is_private = false;
  request_.clear_algorithms();
  request_.add_algorithms("fake");
  ExpectRefused("there is no \"fake\"");
}

TEST_F(CurveTest, RowsThatDoNotFitAreNamed) {
  request_.mutable_rows()->set_labels(7, 2);
  ExpectRefused("rows.labels[7]");
  request_.mutable_rows()->set_labels(7, kUnlabelled);
  ExpectRefused("rows.labels[7]: must be a class");
  SetRows(100);
  request_.mutable_rows()->mutable_columns()->RemoveLast();
  ExpectRefused("rows.columns");
  request_.clear_schema();
  ExpectRefused("schema");
}

// Otherwise it would keep previews waiting.
TEST_F(CurveTest, ACurveStopsWhenItsClientLeaves) {
  trainer_.Hold();
  {
    grpc::ClientContext context;
    const auto reader = training_->MeasureCurve(&context, request_);
    trainer_.AwaitRuns(1);
    context.TryCancel();
    v1::MeasureCurveResponse response;
    while (reader->Read(&response)) {
    }
    EXPECT_THAT(reader->Finish(), GrpcStatusIs(grpc::CANCELLED, HasSubstr("")));
  }
  // The fake is held until its progress says to stop, so a second curve on one thread shows that
  // the first has ended.
  for (int i = 2; i <= 5; ++i) {
    grpc::ClientContext context;
    const auto reader = training_->MeasureCurve(&context, request_);
    trainer_.AwaitRuns(i);
    context.TryCancel();
    v1::MeasureCurveResponse response;
    while (reader->Read(&response)) {
    }
    (void)reader->Finish();
  }
  EXPECT_EQ(trainer_.runs(), 5);
}

TEST_F(CurveTest, AnErrorOfATrainerEndsTheCurve) {
  trainer_.Fail(InternalError("the fake is broken"));
  EXPECT_THAT(Measure(), GrpcStatusIs(grpc::INTERNAL, HasSubstr("the fake is broken")));
}

}  // namespace
}  // namespace coppice::service
