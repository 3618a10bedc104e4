// A curator in this process that says what a test tells it to.

#ifndef COPPICE_TESTS_CLIENT_FAKE_CURATOR_H_
#define COPPICE_TESTS_CLIENT_FAKE_CURATOR_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/collector.h"
#include "common/wire/convert.h"
#include "coppice/v1/report.grpc.pb.h"
#include "coppice/v1/study.grpc.pb.h"
#include "tests/client/sample_study.h"

namespace coppice::testing {

class FakeStudies final : public v1::StudyService::Service {
 public:
  grpc::Status GetOffer(grpc::ServerContext*, const v1::GetOfferRequest* request,
                        v1::GetOfferResponse* response) override {
    const std::string terms = SerializeTerms(SampleTerms());
    const Fingerprint fingerprint = FingerprintOf(terms);
    response->set_fingerprint(std::string(fingerprint.begin(), fingerprint.end()));
    if (request->known_fingerprint() != response->fingerprint()) response->set_terms(terms);
    for (uint32_t i = 0; i < request->tickets(); ++i) {
      response->add_tickets(SampleTicket(static_cast<uint8_t>(i)).ToBytes());
    }
    if (damage_fingerprint) response->set_fingerprint(std::string(32, 'x'));
    if (forget_tickets) response->clear_tickets();
    return grpc::Status::OK;
  }

  bool damage_fingerprint = false;
  bool forget_tickets = false;
};

class FakeReports final : public v1::ReportService::Service {
 public:
  grpc::Status SubmitReports(grpc::ServerContext*, const v1::SubmitReportsRequest* request,
                             v1::SubmitReportsResponse* response) override {
    requests.push_back(request->SerializeAsString());
    if (static_cast<int>(requests.size()) <= failures) return failure;
    for (const auto outcome : outcomes) response->add_outcomes(outcome);
    return grpc::Status::OK;
  }

  std::vector<std::string> requests;
  int failures = 0;
  grpc::Status failure{grpc::StatusCode::UNAVAILABLE, "not now"};
  std::vector<v1::ReportOutcome> outcomes{v1::REPORT_OUTCOME_ACCEPTED};
};

class FakeCurator {
 public:
  explicit FakeCurator(
      std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port_);
    builder.RegisterService(&studies);
    builder.RegisterService(&reports);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  FakeStudies studies;
  FakeReports reports;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_FAKE_CURATOR_H_
