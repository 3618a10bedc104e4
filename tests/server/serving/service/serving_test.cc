// Endpoints and streams of predictions over a real socket: switches during predictions, which
// version answers a stream, how a stream ends, and what an explanation says.

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "common/base/text.h"
#include "server/serving/service/predictions.h"
#include "tests/server/serving/service/load.h"
#include "tests/server/serving/service/service_fixture.h"
#include "tests/support/status_matchers.h"

namespace coppice::service {
namespace {

using ::coppice::testing::FullPool;
using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::coppice::testing::MakeServiceSchema;
using ::coppice::testing::PushbackOf;
using ::coppice::testing::ServiceTest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// A tree with one split, age < `cut`: "yes" has probability `p` on its left, 1 - p on its right.
models::ModelInfo Stump(const std::string& id, double p, double cut = 50, size_t trees = 1) {
  const Tree tree = *Tree::Create({{.kind = SplitKind::kNumeric,
                                    .missing_left = true,
                                    .feature = 0,
                                    .threshold = cut,
                                    .left = 1,
                                    .right = 2},
                                   {},
                                   {}},
                                  *MakeServiceSchema());
  const std::vector<LeafPrediction> leaves = {
      {.probabilities = {1 - p, p}, .standard_error = 0.125, .label = p > 0.5, .source_node = 1},
      {.probabilities = {p, 1 - p}, .standard_error = 0.25, .label = p <= 0.5, .source_node = 2}};
  return {.id = id,
          .source = "studies/s1",
          .created_unix_seconds = 1,
          .model = std::make_shared<const Model>(*Model::Create(
              *MakeServiceSchema(), Forest(trees, tree),
              std::vector<std::vector<LeafPrediction>>(trees, leaves), Certificate()))};
}

class ServingTest : public ServiceTest {
 protected:
  ServingTest() {
    models_.Publish(Stump("m1", 0.75));
    models_.Publish(Stump("m2", 0.875));
  }

  grpc::Status Set(const std::string& model) {
    v1::SetServingModelRequest request;
    request.set_endpoint("endpoints/e");
    request.set_model("models/" + model);
    grpc::ClientContext context;
    return stub_->SetServingModel(&context, request, &set_);
  }
  grpc::Status RollBack() {
    v1::RollBackRequest request;
    request.set_endpoint("endpoints/e");
    v1::RollBackResponse response;
    grpc::ClientContext context;
    return stub_->RollBack(&context, request, &response);
  }
  grpc::Status Predict(const v1::PredictRequest& request) {
    grpc::ClientContext context;
    return stub_->Predict(&context, request, &predicted_);
  }
  static v1::PredictRequest Ask(const std::string& name, std::initializer_list<double> ages) {
    v1::PredictRequest request;
    request.set_name(name);
    for (const double age : ages) request.add_rows()->add_values(age);
    return request;
  }

  std::unique_ptr<v1::ModelService::Stub> stub_ = v1::ModelService::NewStub(channel_);
  v1::SetServingModelResponse set_;
  v1::PredictResponse predicted_;
};

TEST_F(ServingTest, AnEndpointAnswersWithTheModelThatItServesAndSaysWhich) {
  EXPECT_THAT(Predict(Ask("endpoints/e", {1})),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no endpoint e")));
  ASSERT_THAT(Set("m1"), IsGrpcOk());
  ASSERT_THAT(Set("m2"), IsGrpcOk());
  EXPECT_EQ(set_.endpoint().name(), "endpoints/e");
  ASSERT_THAT(set_.endpoint().versions(), SizeIs(2));
  EXPECT_EQ(set_.endpoint().versions(1).model(), "models/m2");
  EXPECT_EQ(set_.endpoint().versions(1).created_unix_seconds(), 5);
  ASSERT_THAT(Predict(Ask("endpoints/e", {1})), IsGrpcOk());
  EXPECT_EQ(predicted_.model(), "models/m2");
  EXPECT_EQ(predicted_.version(), 2u);
  EXPECT_THAT(predicted_.predictions(0).probabilities(), ElementsAre(0.125, 0.875));
  ASSERT_THAT(RollBack(), IsGrpcOk());
  ASSERT_THAT(Predict(Ask("endpoints/e", {1})), IsGrpcOk());
  EXPECT_EQ(predicted_.model(), "models/m1");
  EXPECT_EQ(predicted_.version(), 3u);
  ASSERT_THAT(Predict(Ask("models/m2", {1})), IsGrpcOk());
  EXPECT_EQ(predicted_.model(), "models/m2");
  EXPECT_EQ(predicted_.version(), 0u);
}

TEST_F(ServingTest, EndpointsAreShownListedAndDeleted) {
  ASSERT_THAT(Set("m1"), IsGrpcOk());
  ASSERT_THAT(Set("m2"), IsGrpcOk());
  v1::GetEndpointRequest get;
  get.set_name("endpoints/e");
  v1::GetEndpointResponse got;
  grpc::ClientContext context;
  ASSERT_THAT(stub_->GetEndpoint(&context, get, &got), IsGrpcOk());
  EXPECT_THAT(got.endpoint().versions(), SizeIs(2));
  v1::ListEndpointsResponse list;
  grpc::ClientContext list_context;
  ASSERT_THAT(stub_->ListEndpoints(&list_context, {}, &list), IsGrpcOk());
  ASSERT_THAT(list.endpoints(), SizeIs(1));
  ASSERT_THAT(list.endpoints(0).versions(), SizeIs(1));
  EXPECT_EQ(list.endpoints(0).versions(0).number(), 2u);
  v1::DeleteEndpointRequest remove;
  remove.set_name("endpoints/e");
  v1::DeleteEndpointResponse removed;
  grpc::ClientContext delete_context;
  ASSERT_THAT(stub_->DeleteEndpoint(&delete_context, remove, &removed), IsGrpcOk());
  grpc::ClientContext again;
  EXPECT_THAT(stub_->DeleteEndpoint(&again, remove, &removed),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no endpoint e")));
}

TEST_F(ServingTest, AModelIsDeletedOnceNoEndpointServesIt) {
  const auto remove = [this](const std::string& name) {
    v1::DeleteModelRequest request;
    request.set_name(name);
    v1::DeleteModelResponse response;
    grpc::ClientContext context;
    return stub_->DeleteModel(&context, request, &response);
  };
  EXPECT_THAT(remove("endpoints/e"),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("\"models/ID\"")));
  ASSERT_THAT(Set("m1"), IsGrpcOk());
  EXPECT_THAT(remove("models/m1"),
              GrpcStatusIs(grpc::FAILED_PRECONDITION, HasSubstr("endpoints/e serves it")));
  ASSERT_THAT(Predict(Ask("models/m1", {1})), IsGrpcOk());
  ASSERT_THAT(Set("m2"), IsGrpcOk());
  ASSERT_THAT(remove("models/m1"), IsGrpcOk());
  EXPECT_THAT(Predict(Ask("models/m1", {1})),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no model m1")));
  EXPECT_THAT(RollBack(), GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no model m1")));
  ASSERT_THAT(Predict(Ask("endpoints/e", {1})), IsGrpcOk());
  EXPECT_THAT(remove("models/m1"), GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("no model m1")));
}

TEST_F(ServingTest, RefusesInvalidNames) {
  for (const char* name : {"", "e", "models/", "endpoints/", "endpoints/../x", "studies/s"}) {
    EXPECT_THAT(Predict(Ask(name, {1})), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("/ID\"")))
        << name;
  }
}

// Every answer is whole and from the version it names, whatever is switched meanwhile.
TEST_F(ServingTest, SwitchesAndRollbacksUnderLoadFailNoCall) {
  constexpr int kModels = 4;
  const auto p_of = [](int model) { return 0.5 + 0.0625 * (model + 1); };
  for (int m = 0; m < kModels; ++m) models_.Publish(Stump(StrCat("v", m), p_of(m)));
  ASSERT_THAT(Set("v0"), IsGrpcOk());
  std::atomic<bool> done = false;
  std::atomic<int> answered = 0;
  const auto predict = [&](bool many) {
    const auto stub = v1::ModelService::NewStub(channel_);
    v1::PredictRequest request = Ask("endpoints/e", {1, 99});
    // Enough rows for the pool.
    if (many) {
      for (int i = 0; i < 1500; ++i) request.add_rows()->add_values(1);
    }
    uint64_t newest = 0;
    while (!done) {
      grpc::ClientContext context;
      v1::PredictResponse response;
      ASSERT_THAT(stub->Predict(&context, request, &response), IsGrpcOk());
      const double p = p_of(response.model().back() - '0');
      ASSERT_EQ(response.predictions_size(), request.rows_size());
      for (int i = 0; i < request.rows_size(); ++i) {
        ASSERT_EQ(response.predictions(i).probabilities(1), i == 1 ? 1 - p : p);
      }
      ASSERT_GE(response.version(), newest) << "an answer by a version that was left";
      newest = response.version();
      ++answered;
    }
  };
  std::thread few(predict, false), many(predict, true);
  std::thread builder([&] {  // makes models meanwhile
    for (int i = 0; !done; ++i) {
      ASSERT_OK(models_.Save(store_, Stump(StrCat("other", i % 50), 0.75)));
    }
  });
  for (int change = 1; change <= 60; ++change) {
    ASSERT_THAT(Set(StrCat("v", change % kModels)), IsGrpcOk());
    if (change % 3 == 0) {
      ASSERT_THAT(RollBack(), IsGrpcOk());
    }
  }
  while (answered < 100) std::this_thread::yield();
  done = true;
  few.join();
  many.join();
  builder.join();
}

using Stream =
    grpc::ClientReaderWriter<v1::StreamPredictionsRequest, v1::StreamPredictionsResponse>;

v1::StreamPredictionsRequest Batch(const std::string& name, size_t rows, double age) {
  v1::StreamPredictionsRequest request;
  request.set_name(name);
  for (size_t i = 0; i < rows; ++i) request.add_rows()->add_values(age);
  return request;
}

TEST_F(ServingTest, AStreamAnswersEachBatchInOrderByOneModel) {
  ASSERT_THAT(Set("m1"), IsGrpcOk());
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub_->StreamPredictions(&context);
  v1::StreamPredictionsResponse response;
  for (int batch = 0; batch < 20; ++batch) {
    const size_t rows = batch % 2 == 0 ? 3 : 2000;  // on the call's thread, and on the pool
    ASSERT_TRUE(stream->Write(Batch(batch == 0 ? "endpoints/e" : "", rows, batch % 3 * 40.0)));
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_THAT(response.predictions(), SizeIs(rows));
    const double p = batch % 3 == 2 ? 0.25 : 0.75;
    EXPECT_THAT(response.predictions(0).probabilities(), ElementsAre(1 - p, p)) << batch;
    EXPECT_EQ(response.model(), batch == 0 ? "models/m1" : "");
    EXPECT_EQ(response.version(), batch == 0 ? 1u : 0u);
    EXPECT_THAT(response.classes(), SizeIs(batch == 0 ? 2 : 0));
    if (batch == 5) {
      ASSERT_THAT(Set("m2"), IsGrpcOk());  // does not apply to this stream
    }
  }
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(stream->Finish(), IsGrpcOk());
}

TEST_F(ServingTest, ABatchThatIsRefusedEndsTheStreamAfterTheAnswersBeforeIt) {
  const std::vector<std::pair<v1::StreamPredictionsRequest, std::string>> bad = {
      {Batch("", 0, 1), "rows: must be 1 to 10000"},
      {Batch("", 10'001, 1), "are 10001"},
      {Batch("", 1, 4711), "rows[0]"},
      {Batch("models/m2", 1, 1), "the same in all of a stream"}};
  for (const auto& [batch, message] : bad) {
    grpc::ClientContext context;
    const std::unique_ptr<Stream> stream = stub_->StreamPredictions(&context);
    v1::StreamPredictionsResponse response;
    ASSERT_TRUE(stream->Write(Batch("models/m1", 1, 1)));
    stream->Write(batch);
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_THAT(stream->Finish(), GrpcStatusIs(grpc::INVALID_ARGUMENT,
                                               AllOf(HasSubstr(message), Not(HasSubstr("4711")))));
  }
}

TEST_F(ServingTest, AStreamThatTheFullPoolRefusesSaysWhenToComeAgain) {
  const FullPool full(pool_);
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub_->StreamPredictions(&context);
  stream->Write(Batch("models/m1", 2000, 1));
  v1::StreamPredictionsResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_THAT(stream->Finish(), GrpcStatusIs(grpc::RESOURCE_EXHAUSTED, HasSubstr("busy")));
  EXPECT_EQ(PushbackOf(context), "1000");
}

TEST_F(ServingTest, AStreamWithoutAModelOrWithoutAMessageEnds) {
  {
    grpc::ClientContext context;
    const std::unique_ptr<Stream> stream = stub_->StreamPredictions(&context);
    stream->Write(Batch("endpoints/none", 1, 1));
    v1::StreamPredictionsResponse response;
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_THAT(stream->Finish(), GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("none")));
  }
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub_->StreamPredictions(&context);
  stream->WritesDone();
  EXPECT_THAT(stream->Finish(), IsGrpcOk());
}

// The curator does not read from a client that does not read: it holds one answer for it.
TEST_F(ServingTest, AStreamWhoseAnswersAreNotReadIsNotReadFrom) {
  grpc::ClientContext context;
  const std::unique_ptr<Stream> stream = stub_->StreamPredictions(&context);
  std::atomic<int> written = 0;
  std::thread writer([&] {
    const v1::StreamPredictionsRequest batch = Batch("models/m1", 10'000, 1);
    while (written < 1000 && stream->Write(batch)) ++written;
  });
  // A curator that read on would answer as many batches of the stream meanwhile. Some forty fit
  // into the buffers on their way.
  v1::PredictRequest as_large = Ask("models/m1", {});
  for (int i = 0; i < 10'000; ++i) as_large.add_rows()->add_values(1);
  for (int i = 0; i < 250; ++i) ASSERT_THAT(Predict(as_large), IsGrpcOk());
  EXPECT_LT(written, 150);
  context.TryCancel();
  writer.join();
  EXPECT_THAT(stream->Finish(), GrpcStatusIs(grpc::CANCELLED, HasSubstr("")));
  ASSERT_THAT(Predict(Ask("models/m1", {1})), IsGrpcOk());
}

TEST_F(ServingTest, AnExplanationTellsTheWayThroughEachTree) {
  v1::PredictRequest request = Ask("models/m1", {30, std::numeric_limits<double>::quiet_NaN(), 60});
  ASSERT_THAT(Predict(request), IsGrpcOk());
  EXPECT_THAT(predicted_.explanations(), IsEmpty());
  request.set_explain(true);
  ASSERT_THAT(Predict(request), IsGrpcOk());
  ASSERT_THAT(predicted_.explanations(), SizeIs(3));
  const v1::Explanation& first = predicted_.explanations(0);
  EXPECT_EQ(first.unit(), v1::CONTRIBUTION_UNIT_PROBABILITY);
  EXPECT_EQ(first.base(), 0.5);
  ASSERT_THAT(first.trees(), SizeIs(1));
  EXPECT_EQ(first.trees(0).contribution(), 0.25);
  EXPECT_EQ(first.trees(0).leaf(), 0u);
  EXPECT_EQ(first.trees(0).prediction().standard_error(), 0.125);
  ASSERT_THAT(first.trees(0).steps(), SizeIs(1));
  const v1::PathStep& step = first.trees(0).steps(0);
  EXPECT_EQ(step.condition(), "age < 50 or missing");
  EXPECT_TRUE(step.holds());
  EXPECT_EQ(step.kind(), v1::SPLIT_KIND_NUMERIC);
  EXPECT_EQ(step.threshold(), 50);
  EXPECT_EQ(step.value(), 30);
  EXPECT_TRUE(step.missing_left());
  EXPECT_TRUE(std::isnan(predicted_.explanations(1).trees(0).steps(0).value()));
  EXPECT_FALSE(predicted_.explanations(2).trees(0).steps(0).holds());
  // The mean of the two leaves, and what the one split adds to it.
  EXPECT_EQ(first.bias(), 0.5);
  ASSERT_THAT(first.features(), SizeIs(1));
  EXPECT_EQ(first.features(0).feature(), 0u);
  EXPECT_EQ(first.features(0).name(), "age");
  EXPECT_EQ(first.features(0).value(), 30);
  EXPECT_EQ(first.features(0).contribution(), 0.25);
}

TEST_F(ServingTest, ExplanationsHaveALimitOfRowsTreesAndBytes) {
  models_.Publish(Stump("forest", 0.75, 50, 1000));
  v1::PredictRequest request = Ask("models/forest", {30});
  request.set_explain(true);
  request.set_explain_trees(7);
  ASSERT_THAT(Predict(request), IsGrpcOk());
  EXPECT_THAT(predicted_.explanations(0).trees(), SizeIs(7));
  request.set_explain_trees(0);
  ASSERT_THAT(Predict(request), IsGrpcOk());
  EXPECT_THAT(predicted_.explanations(0).trees(), SizeIs(1000));
  for (int i = 0; i < 99; ++i) request.add_rows()->add_values(30);
  EXPECT_THAT(Predict(request),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("explain: would take more than")));
  request.add_rows()->add_values(30);
  EXPECT_THAT(Predict(request),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("must be 1 to 100")));
}

}  // namespace
}  // namespace coppice::service
