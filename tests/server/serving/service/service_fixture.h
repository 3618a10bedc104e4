// The three services over FakeStudies, in one process, over a real loopback socket.

#ifndef COPPICE_TESTS_SERVER_SERVING_SERVICE_SERVICE_FIXTURE_H_
#define COPPICE_TESTS_SERVER_SERVING_SERVICE_SERVICE_FIXTURE_H_

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/batch.grpc.pb.h"
#include "coppice/v1/model.grpc.pb.h"
#include "coppice/v1/report.grpc.pb.h"
#include "coppice/v1/study.grpc.pb.h"
#include "server/serving/calls/message_intake.h"
#include "server/serving/calls/worker_pool.h"
#include "server/serving/grpc/services.h"
#include "server/serving/reports/report_handlers.h"
#include "server/serving/service/handlers.h"
#include "server/store/models/endpoints.h"
#include "tests/server/serving/service/fake_studies.h"
#include "tests/support/memory_store.h"

namespace coppice::testing {

MATCHER_P2(GrpcStatusIs, code, message, "") {
  *result_listener << arg.error_code() << ": " << arg.error_message();
  return arg.error_code() == code &&
         ::testing::ExplainMatchResult(message, arg.error_message(), result_listener);
}

MATCHER(IsGrpcOk, "is OK") {
  *result_listener << arg.error_code() << ": " << arg.error_message();
  return arg.ok();
}

inline std::shared_ptr<const Schema> MakeServiceSchema() {
  Feature age;
  age.name = "age";
  age.max = 100;
  return std::make_shared<const Schema>(*Schema::Create({age}, "edible", {"no", "yes"}));
}

inline curator::StudyInfo MakeStudy(const std::string& id) {
  curator::StudyInfo info;
  info.id = id;
  info.created_unix_seconds = 1'700'000'000;
  info.fingerprint.fill(7);
  info.public_rows = 12;
  info.terms = std::make_shared<const Terms>(Terms{.study = id,
                                                   .schema = MakeServiceSchema(),
                                                   .trees = 1,
                                                   .forest_root = {},
                                                   .epsilon = *Budget::FromNanos(1'000'000'000),
                                                   .mechanism = MechanismKind::kLaplaceJoint});
  info.forest = std::make_shared<const Forest>(Forest{Tree::SingleLeaf()});
  return info;
}

inline models::ModelInfo MakeModelInfo(const std::string& id, const std::string& source) {
  models::ModelInfo info{
      .id = id, .source = source, .created_unix_seconds = 1'700'000'001, .model = nullptr};
  Certificate certificate;
  certificate.estimator = "prune";
  info.model = std::make_shared<const Model>(*Model::Create(
      *MakeServiceSchema(), {Tree::SingleLeaf()}, {{{{0.25, 0.75}, 0.5, 1, 0}}}, certificate));
  return info;
}

class ServiceTest : public ::testing::Test {
 protected:
  explicit ServiceTest(const service::LoadLimits& limits = {})
      : report_service_(studies_, guard_, limits) {
    study_service_.Register(registry_);
    report_service_.Register(registry_);
    batch_service_.Register(registry_);
    model_service_.Register(registry_);
    services_ = std::make_unique<rpc::Services>(
        registry_,
        service::Lanes{.pool = pool_,
                       .builds = builds_,
                       .previews = previews_,
                       .plans = plans_,
                       .openings = openings_,
                       .evaluations = openings_,
                       .intake = intake_},
        [](const grpc::CallbackServerContext&, std::string_view) {
          return owners::Caller::Operator();
        },
        [this] { return may_answer_ ? OkStatus() : UnavailableError("may not answer"); });
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    services_->RegisterWith(builder);
    server_ = builder.BuildAndStart();
    address_ = StrCat("127.0.0.1:", port);
    channel_ = grpc::CreateChannel(address_, grpc::InsecureChannelCredentials());
  }
  ~ServiceTest() override {
    studies_.LetBatches();
    server_->Shutdown();
  }

  std::atomic<bool> may_answer_{true};
  FakeStudies studies_;
  models::Models models_;
  MemoryStore store_;
  std::unique_ptr<models::Endpoints> endpoints_ =
      *models::Endpoints::Open(store_, models_, [] { return 5; });
  service::WorkerPool pool_{2, 16};
  service::MessageIntake intake_;
  service::WorkerPool builds_{1, 16};
  service::WorkerPool previews_{1, 16};
  service::WorkerPool plans_{1, 16};
  service::WorkerPool openings_{1, 16};
  // A study has five tickets, and one more per second; time stands still.
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  RateLimiter limiter_{{.rate = 1, .burst = 5}, [this] { return now_; }};
  const service::ResourceGuard guard_{
      [this](std::string_view kind, std::string_view id) -> std::optional<owners::Resource> {
        const std::optional<std::string> owner = studies_.OwnerOf(id);
        if (kind != "studies" || !owner.has_value()) return std::nullopt;
        return owners::Resource{.names = {StrCat("studies/", id)}, .owner = *owner};
      }};
  service::StudyHandlers study_service_{studies_, limiter_};
  service::ReportHandlers report_service_;
  service::BatchHandlers batch_service_{studies_};
  service::ModelHandlers model_service_{store_, studies_, models_, *endpoints_, guard_};
  service::HandlerRegistry registry_{guard_};
  std::unique_ptr<rpc::Services> services_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_SERVING_SERVICE_SERVICE_FIXTURE_H_
