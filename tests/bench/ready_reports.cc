#include "tests/bench/ready_reports.h"

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
#include "coppice/v1/study.grpc.pb.h"
#include "tests/support/collector.h"

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

void AddReport(const PrivateReport& report, v1::SealedReports& reports) {
  reports.set_study(StrCat("studies/", report.study));
  reports.set_fingerprint(std::string(report.fingerprint.begin(), report.fingerprint.end()));
  v1::Report& added = *reports.add_reports();
  added.set_ticket(report.ticket.ToBytes());
  added.set_payload(report.payload);
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

DirectKey FetchDirectKey(const std::string& server, const std::string& ca_file) {
  grpc::ClientContext context;
  v1::GetCuratorKeysResponse response;
  const grpc::Status status = v1::StudyService::NewStub(ConnectAlone(server, ca_file))
                                  ->GetCuratorKeys(&context, {}, &response);
  if (status.ok()) return testing::DirectKeyOf(response);
  std::fprintf(stderr, "%s\n", status.error_message().c_str());
  std::exit(1);
}

std::vector<testing::SealedReportsCall> MakeReadyReports(const std::string& server,
                                                         const std::string& ca_file,
                                                         const std::string& study, size_t reports,
                                                         size_t batch) {
  const DirectKey key = FetchDirectKey(server, ca_file);
  const Collector collector =
      ValueOrExit(Collector::Create({.server = server, .ca_file = ca_file}, RetryOptions{}));
  const FetchedOffer offers = ValueOrExit(collector.FetchForest(study, 1));
  const Privatizer privatizer =
      ValueOrExit(Privatizer::Create(offers.terms, offers.fingerprint, offers.trees));
  const LabelledRow row = {MiddleRow(*offers.terms.schema), 1};
  const uint32_t report_bytes = ValueOrExit(collector.ReportBytesOf(study));
  OpenSslRandom random;
  std::vector<testing::SealedReportsCall> calls;
  v1::SealedReports message;
  for (size_t made = 0; made < reports;) {
    const auto wanted = static_cast<uint32_t>(std::min<size_t>(1000, reports - made));
    for (const Ticket& ticket : ValueOrExit(collector.FetchTickets(study, wanted))) {
      AddReport(ValueOrExit(privatizer.Privatize(row, ticket, random)), message);
      if (++made < reports && static_cast<size_t>(message.reports_size()) < batch) continue;
      calls.emplace_back(key, message, report_bytes);
      message.clear_reports();
    }
  }
  return calls;
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<long>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace coppice
