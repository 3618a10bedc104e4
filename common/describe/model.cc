// Models, their releases, and the endpoints that serve them.

#include <string>

#include "common/base/time_text.h"
#include "common/describe/describe.h"
#include "common/describe/text.h"
#include "coppice/v1/model.pb.h"

namespace coppice {
namespace {

std::string LeafKindText(v1::LeafKind kind) {
  return kind == v1::LEAF_KIND_UNSPECIFIED ? "probabilities" : EnumText(kind);
}

}  // namespace

uint64_t CountLeaves(const v1::Forest& forest) {
  uint64_t leaves = 0;
  for (const v1::Tree& tree : forest.trees()) {
    for (const int kind : tree.kinds()) leaves += kind == v1::SPLIT_KIND_LEAF ? 1 : 0;
  }
  return leaves;
}

Description DescribeModel(const v1::Model& model) {
  const v1::Certificate& certificate = model.certificate();
  Description json = DescribeModelBriefly(model);
  const bool of_a_study = !model.study().empty();
  if (of_a_study) {
    json.erase("job");
  } else {
    for (const char* absent : {"study", "reports"}) json.erase(absent);
    if (certificate.public_rows() == 0) json.erase("public_rows");
  }
  json["leaves"] = CountLeaves(model.forest());
  json["trees"] = model.forest().trees_size();
  if (!certificate.diagnosis().empty()) json["diagnosis"] = certificate.diagnosis();
  json["neighbouring"] = certificate.neighbouring();
  if (certificate.has_readers()) {
    json["readers_epsilon"] = EpsilonNumber(certificate.readers().epsilon_nanos());
    json["readers_delta"] = DeltaNumber(certificate.readers().delta_atto());
    json["readers_honest_reports"] = certificate.readers().honest_reports();
  }
  if (certificate.has_relay()) {
    const v1::RelayBound& relay = certificate.relay();
    json["relay_epsilon"] = EpsilonNumber(relay.epsilon_nanos());
    json["relay_delta"] = DeltaNumber(relay.delta_atto());
    json["relay_honest_reports"] = relay.honest_reports();
    json["relay_batches"] = relay.batches();
  }
  if (!certificate.public_rows_sha256().empty()) {
    json["public_rows_sha256"] = certificate.public_rows_sha256();
  }
  json["public_inputs"] = Description::array();
  for (const std::string& input : certificate.public_inputs()) {
    json["public_inputs"].push_back(input);
  }
  if (of_a_study) json["fingerprint"] = certificate.fingerprint();
  json["releases"] = certificate.releases_size();
  json["leaf_kind"] = LeafKindText(model.leaf_kind());
  json["code_version"] = certificate.code_version();
  return json;
}

Description DescribeModelBriefly(const v1::Model& model) {
  const v1::Certificate& certificate = model.certificate();
  return {{"model", IdOf(model.name())},
          {"study", IdOf(model.study())},
          {"job", IdOf(model.job())},
          {"estimator", certificate.estimator()},
          {"reports", certificate.reports()},
          {"public_rows", certificate.public_rows()},
          {"epsilon", EpsilonNumber(certificate.epsilon_nanos())},
          {"mechanism", certificate.mechanism()},
          {"created", TimeText(model.created_unix_seconds())}};
}

Description DescribeRelease(const v1::Release& release) {
  Description json = {{"what", release.what()},
                      {"mechanism", release.mechanism()},
                      {"epsilon", EpsilonNumber(release.epsilon_nanos())}};
  if (release.delta_atto() > 0) json["delta"] = DeltaNumber(release.delta_atto());
  if (release.rho_pico() > 0) json["rho"] = RhoNumber(release.rho_pico());
  json["times"] = release.times();
  json["part"] = release.part().empty() ? "all" : release.part();
  return json;
}

Description DescribeVersion(const v1::Endpoint& endpoint, const v1::EndpointVersion& version) {
  Description json = {{"endpoint", IdOf(endpoint.name())},
                      {"version", version.number()},
                      {"model", IdOf(version.model())},
                      {"created", TimeText(version.created_unix_seconds())}};
  json["restored"] =
      version.restored_version() == 0 ? Description() : Description(version.restored_version());
  return json;
}

Description DescribeEndpoint(const v1::Endpoint& endpoint) {
  return DescribeVersion(endpoint, endpoint.versions_size() == 0 ? v1::EndpointVersion()
                                                                 : *endpoint.versions().rbegin());
}

}  // namespace coppice
