// A curator in this process whose calls are carried by hand, so that a test sees every byte.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_C_SCRIPTED_CURATOR_H_
#define COPPICE_TESTS_CLIENT_DEVICE_C_SCRIPTED_CURATOR_H_

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "client/device/c/coppice_device.h"
#include "tests/client/device/fake_curator.h"

namespace coppice::testing {

// Zeros, and its size.
template <typename Struct>
Struct Sized() {
  Struct made;
  std::memset(&made, 0, sizeof(made));
  made.struct_size = sizeof(made);
  return made;
}

// Services of which a test carries the calls.
class CarriedServices {
 public:
  std::vector<std::string> calls;  // by the methods' names, in order
  std::vector<std::string> requests;
  // What a hostile curator or relay, or the way to it, does to the bytes of every response.
  std::function<void(std::string&)> mangle = [](std::string&) {};

 protected:
  template <typename Request, typename Response, typename Method>
  int32_t Run(const std::string& request, std::string& response, Method method) {
    Request asked;
    if (!asked.ParseFromString(request)) {
      return static_cast<int32_t>(grpc::StatusCode::INVALID_ARGUMENT);
    }
    Response given;
    const grpc::Status status = method(&asked, &given);
    response = given.SerializeAsString();
    mangle(response);
    return static_cast<int32_t>(status.error_code());
  }
};

// Those of FakeCurator without a network.
class ScriptedServices : public CarriedServices {
 public:
  // The response to a call, or a code of gRPC's.
  int32_t Serve(const std::string& method, const std::string& request, std::string& response) {
    calls.push_back(method.substr(method.rfind('/') + 1));
    requests.push_back(request);
    if (method == "/coppice.v1.StudyService/GetOffer") {
      return Run<v1::GetOfferRequest, v1::GetOfferResponse>(
          request, response,
          [&](auto* asked, auto* given) { return studies.GetOffer(nullptr, asked, given); });
    }
    if (method == "/coppice.v1.StudyService/GetCuratorKeys") {
      return Run<v1::GetCuratorKeysRequest, v1::GetCuratorKeysResponse>(
          request, response,
          [&](auto* asked, auto* given) { return studies.GetCuratorKeys(nullptr, asked, given); });
    }
    if (method == "/coppice.v1.ReportService/SubmitReports") {
      return Run<v1::SubmitReportsRequest, v1::SubmitReportsResponse>(
          request, response,
          [&](auto* asked, auto* given) { return reports.SubmitReports(nullptr, asked, given); });
    }
    return static_cast<int32_t>(grpc::StatusCode::UNIMPLEMENTED);
  }

  FakeStudies studies;
  FakeReports reports;
};

// Carries the calls of a visit to its end. Returns what taking the first response said: of a visit
// with a study that is to be answered, what became of the offer.
template <typename Services>
coppice_error Carry(coppice_visit* visit, Services& services) {
  coppice_error first{};
  bool is_first = true;
  auto call = Sized<coppice_call>();
  coppice_error error{};
  while (coppice_visit_next(visit, &call, &error) == COPPICE_OK && call.method != nullptr) {
    std::string response;
    const int32_t code = services.Serve(
        call.method, {reinterpret_cast<const char*>(call.request), call.request_size}, response);
    if (code != 0) {
      coppice_visit_fail(visit, code, &error);
    } else {
      coppice_visit_take(visit, reinterpret_cast<const uint8_t*>(response.data()), response.size(),
                         &error);
    }
    if (is_first) first = error;
    is_first = false;
  }
  return first;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_C_SCRIPTED_CURATOR_H_
