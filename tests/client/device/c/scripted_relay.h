// A relay in this process whose calls are carried by hand, so that a test sees every byte.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_C_SCRIPTED_RELAY_H_
#define COPPICE_TESTS_CLIENT_DEVICE_C_SCRIPTED_RELAY_H_

#include <string>

#include "tests/client/device/c/scripted_curator.h"
#include "tests/client/device/fake_relay.h"

namespace coppice::testing {

// The service of FakeRelay without a network.
class ScriptedRelay : public CarriedServices {
 public:
  // The response to a call, or a code of gRPC's.
  int32_t Serve(const std::string& method, const std::string& request, std::string& response) {
    calls.push_back(method.substr(method.rfind('/') + 1));
    requests.push_back(request);
    if (method == "/coppice.v1.RelayService/GetRelayTerms") {
      return Run<v1::GetRelayTermsRequest, v1::GetRelayTermsResponse>(
          request, response,
          [&](auto* asked, auto* given) { return relay.GetRelayTerms(nullptr, asked, given); });
    }
    if (method == "/coppice.v1.RelayService/TakeOffer") {
      return Run<v1::TakeOfferRequest, v1::TakeOfferResponse>(
          request, response,
          [&](auto* asked, auto* given) { return relay.TakeOffer(nullptr, asked, given); });
    }
    if (method == "/coppice.v1.RelayService/SubmitSealedReport") {
      return Run<v1::SubmitSealedReportRequest, v1::SubmitSealedReportResponse>(
          request, response, [&](auto* asked, auto* given) {
            return relay.SubmitSealedReport(nullptr, asked, given);
          });
    }
    return static_cast<int32_t>(grpc::StatusCode::UNIMPLEMENTED);
  }

  FakeRelayService relay;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_C_SCRIPTED_RELAY_H_
