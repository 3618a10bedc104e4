// A relay in this process that says what a test tells it to, and deals one ticket to everybody.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_FAKE_RELAY_H_
#define COPPICE_TESTS_CLIENT_DEVICE_FAKE_RELAY_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/text.h"
#include "common/wire/proto/manifest.h"
#include "coppice/v1/relay.grpc.pb.h"
#include "tests/client/device/fake_deal.h"

namespace coppice::testing {

class FakeRelayService : public v1::RelayService::Service {
 public:
  grpc::Status GetRelayTerms(grpc::ServerContext*, const v1::GetRelayTermsRequest* request,
                             v1::GetRelayTermsResponse* response) override {
    asked = request->study();
    response->set_relay_terms(offer.relay_terms);
    response->set_signature(std::string(offer.signature.begin(), offer.signature.end()));
    response->set_terms(offer.terms);
    *response->mutable_manifest() = ToProto(offer.manifest);
    tamper(*response);
    return grpc::Status::OK;
  }
  grpc::Status TakeOffer(grpc::ServerContext*, const v1::TakeOfferRequest* request,
                         v1::TakeOfferResponse* response) override {
    absl::MutexLock lock(&mutex_);
    asked = StrCat(request->study(), " ", request->epoch());
    response->set_envelope(Envelope(dealt.SerializeAsString()));
    return take;
  }
  grpc::Status SubmitSealedReport(grpc::ServerContext*,
                                  const v1::SubmitSealedReportRequest* request,
                                  v1::SubmitSealedReportResponse* response) override {
    absl::MutexLock lock(&mutex_);
    requests.push_back(*request);
    if (requests.size() <= failures) return failure;
    response->set_outcome(outcome);
    return grpc::Status::OK;
  }

  DealOffer offer = FakeDealOffer();
  std::string asked;
  std::function<void(v1::GetRelayTermsResponse&)> tamper = [](v1::GetRelayTermsResponse&) {};
  grpc::Status take = grpc::Status::OK;
  v1::RelayedOffer dealt = OfferOf(SampleTicket(3));
  std::vector<v1::SubmitSealedReportRequest> requests;
  size_t failures = 0;
  grpc::Status failure{grpc::StatusCode::UNAVAILABLE, "not now"};
  v1::SubmitOutcome outcome = v1::SUBMIT_OUTCOME_STORED;

 private:
  absl::Mutex mutex_;
};

// The same over gRPC.
class FakeRelay final : public FakeRelayService {
 public:
  FakeRelay() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeRelay() override { server_->Shutdown(); }

  std::string address() const { return StrCat("127.0.0.1:", port_); }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_FAKE_RELAY_H_
