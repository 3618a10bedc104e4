// A curator and a relay in this process, for the device's story: reached by bytes or over gRPC.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_STORY_WORLD_H_
#define COPPICE_TESTS_CLIENT_DEVICE_STORY_WORLD_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "tests/client/device/c/scripted_curator.h"
#include "tests/client/device/c/scripted_relay.h"

namespace coppice::testing {

class World {
 public:
  explicit World(DeliveryRoute way) : route(way) {
    RelayTerms terms = PromisedTerms();  // devices go by the machine's clock
    terms.deal_until_unix_seconds = terms.freeze_at_unix_seconds = 3'900'000'000;
    relay.relay.offer = SignDeal(terms, Sign(FakeKey(), SealedManifest()));
    // Not tried again, so that each visit shows what came of one try.
    curator.reports.failure = relay.relay.failure = {grpc::StatusCode::INTERNAL, "lost"};
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&curator.studies);
    builder.RegisterService(&curator.reports);
    builder.RegisterService(&relay.relay);
    server_ = builder.BuildAndStart();
    address = StrCat("127.0.0.1:", port);
  }
  ~World() { server_->Shutdown(); }

  bool is_relayed() const { return route == DeliveryRoute::kThroughRelay; }
  int32_t Serve(const std::string& method, const std::string& request, std::string& response) {
    return is_relayed() ? relay.Serve(method, request, response)
                        : curator.Serve(method, request, response);
  }

  // Lets the next submissions fail: they arrive, and the answer is lost.
  void LoseAnswers(int count) {
    curator.reports.failures = static_cast<int>(curator.reports.requests.size()) + count;
    relay.relay.failures = relay.relay.requests.size() + static_cast<size_t>(count);
  }
  // Refuses what is submitted, for good.
  void Refuse() {
    curator.reports.outcomes = {v1::REPORT_OUTCOME_STUDY_SEALED};
    relay.relay.outcome = v1::SUBMIT_OUTCOME_CLOSED;
  }
  // The reports as they arrived, as far as nobody may change them between two tries.
  std::vector<std::string> Arrived() const {
    if (!is_relayed()) return curator.reports.requests;
    std::vector<std::string> requests;
    for (const auto& request : relay.relay.requests) {
      requests.push_back(request.SerializeAsString());
    }
    return requests;
  }

  const DeliveryRoute route;
  std::string address;
  ScriptedServices curator;
  ScriptedRelay relay;

 private:
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_STORY_WORLD_H_
