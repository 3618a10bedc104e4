#include "tests/bench/ready_reports.h"
#include "tests/support/collector.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "client/device/grpc/connect.h"
#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"

namespace coppice {
namespace {

template <typename T>
T ValueOrExit(StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  std::exit(1);
}

Row MiddleRow(const Schema& schema) {
  Row row;
  for (const Feature& feature : schema.features()) {
    row.push_back(feature.type == FeatureType::kCategorical ? 0 : (feature.min + feature.max) / 2);
  }
  return row;
}

v1::SubmitReportsRequest ToRequest(const PrivateReport& report) {
  v1::SubmitReportsRequest request;
  request.set_study(StrCat("studies/", report.study));
  request.set_fingerprint(std::string(report.fingerprint.begin(), report.fingerprint.end()));
  v1::Report& only = *request.add_reports();
  only.set_ticket(report.ticket.ToBytes());
  only.set_payload(report.payload);
  return request;
}

}  // namespace

std::string ReadFileOrExit(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) {
    std::fprintf(stderr, "%s: cannot be read\n", path.c_str());
    std::exit(1);
  }
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::shared_ptr<grpc::Channel> ConnectAlone(const std::string& server, const std::string& ca_file) {
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = ReadFileOrExit(ca_file);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(server, grpc::SslCredentials(tls), arguments);
}

std::vector<v1::SubmitReportsRequest> MakeReadyReports(const std::string& server,
                                                       const std::string& ca_file,
                                                       const std::string& study, size_t reports) {
  const Collector collector =
      ValueOrExit(Collector::Create({.server = server, .ca_file = ca_file}, RetryOptions{}));
  const FetchedOffer offers = ValueOrExit(collector.FetchForest(study, 1));
  const Privatizer privatizer =
      ValueOrExit(Privatizer::Create(offers.terms, offers.fingerprint, offers.trees));
  const LabelledRow row = {MiddleRow(*offers.terms.schema), 1};
  OpenSslRandom random;
  std::vector<v1::SubmitReportsRequest> requests;
  while (requests.size() < reports) {
    const auto wanted = static_cast<uint32_t>(std::min<size_t>(1000, reports - requests.size()));
    for (const Ticket& ticket :
         ValueOrExit(collector.FetchTickets(study, wanted))) {
      requests.push_back(ToRequest(ValueOrExit(privatizer.Privatize(row, ticket, random))));
    }
  }
  return requests;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace coppice
