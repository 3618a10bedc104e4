#include "client/cli/terminal/describe.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "client/cli/terminal/study_settings.h"
#include "common/base/text.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {
namespace {

std::string StateText(v1::StudyState state) {
  return EnumText(v1::StudyState_Name(state), "STUDY_STATE_");
}

std::string MechanismText(v1::Mechanism mechanism) {
  return EnumText(v1::Mechanism_Name(mechanism), "MECHANISM_");
}

std::string LeafKindText(v1::LeafKind kind) {
  return kind == v1::LEAF_KIND_UNSPECIFIED ? "probabilities"
                                           : EnumText(v1::LeafKind_Name(kind), "LEAF_KIND_");
}

// "hybrid, at least 8 rows a leaf", ...
std::string PartitionText(const v1::PartitionOptions& partition) {
  std::string text = EnumText(v1::SplitRule_Name(partition.rule()), "SPLIT_RULE_");
  if (partition.max_depth() < 64) StrAppend(&text, ", depth ", partition.max_depth());
  if (!partition.from_schema()) {
    StrAppend(&text, ", at least ", partition.min_leaf(),
              partition.min_leaf() == 1 ? " public row a leaf" : " public rows a leaf");
  }
  if (partition.max_leaves() > 0) {
    StrAppend(&text, ", at most ", partition.max_leaves(), " leaves a tree");
  }
  if (partition.from_schema()) {
    StrAppend(&text, ", from the schema's bounds alone");
  } else if (partition.ignore_labels()) {
    StrAppend(&text, ", without the public labels");
  }
  return text;
}

void AddCounts(const v1::Study& study, Json& json) {
  json["received"] = study.received();
  json["accepted"] = 0;
  json["duplicate"] = 0;
  json["rejected"] = Json::object();
  for (const v1::ReportCount& count : study.counts()) {
    const std::string name = EnumText(v1::ReportOutcome_Name(count.outcome()), "REPORT_OUTCOME_");
    const bool counted = name == "accepted" || name == "duplicate";
    (counted ? json[name] : json["rejected"][name]) = count.reports();
  }
}

void AddTerms(const v1::Study& study, Json& json) {
  json["epsilon"] = EpsilonNumber(study.terms().epsilon_nanos());
  json["mechanism"] = MechanismText(study.terms().mechanism());
  for (const v1::Feature& feature : study.terms().schema().features()) {
    if (feature.is_public()) json["public_features"].push_back(feature.name());
  }
  if (study.terms().has_rounding()) {
    const v1::NumberRange& range = study.terms().rounding();
    json["rounding"] = {range.low(), range.high()};
  }
  if (!study.terms().joined_by().empty()) {
    json["joined_by"] = study.terms().joined_by();
    json["join_rows"] = study.join_rows();
  }
  json["trees"] = study.terms().trees();
  json["public_rows"] = study.public_rows();
  json["partition"] = PartitionText(study.partition());
  if (!study.partition().by_feature().empty()) json["by"] = study.partition().by_feature();
  if (!study.choice().empty()) json["choice"] = study.choice();
  DescribeSettings(study.settings(), json);
}

constexpr int kBatchesForPeople = 10;

// Has outcomes once the batch is counted.
Json DescribeBatch(const v1::Batch& batch) {
  Json json = {{"batch", BytesToHexString(batch.id())},
               {"state", EnumText(v1::BatchState_Name(batch.state()), "BATCH_STATE_")},
               {"reports", batch.reports()},
               {"created", TimeText(batch.created_unix_seconds())}};
  for (const v1::ReportCount& count : batch.counts()) {
    json["outcomes"][EnumText(v1::ReportOutcome_Name(count.outcome()), "REPORT_OUTCOME_")] =
        count.reports();
  }
  return json;
}

void AddRelay(const v1::StudyRelay& relay, Json& json) {
  if (!relay.sealing_key_id().empty()) {
    json["sealing_key"] = BytesToHexString(relay.sealing_key_id());
  }
  if (relay.earlier_keys() > 0) json["earlier_sealing_keys"] = relay.earlier_keys();
  if (relay.keys_erased()) json["sealing_keys_erased"] = true;
  json["batches"] = relay.batches();
  json["waiting"] = relay.waiting();
  if (relay.least_accepted() > 0) json["least_accepted"] = relay.least_accepted();
  for (const v1::Batch& batch : relay.newest()) {
    json["newest_batches"].push_back(DescribeBatch(batch));
  }
}

void AddLife(const v1::Study& study, Json& json) {
  json["created"] = TimeText(study.created_unix_seconds());
  if (study.sealed_unix_seconds() != 0) json["sealed"] = TimeText(study.sealed_unix_seconds());
  if (study.expired()) json["expired"] = true;
  if (study.retired()) json["retired"] = true;
  if (study.seen_early()) json["seen_early"] = true;
  if (!study.final_model().empty()) json["final_model"] = IdOf(study.final_model());
  if (study.has_relay()) AddRelay(study.relay(), json);
  if (!study.owner().empty()) json["owner"] = study.owner();
}

void AddAlarms(const v1::Study& study, Json& json) {
  json["alarms"] = Json::array();
  for (const v1::Alarm& alarm : study.alarms()) {
    json["alarms"].push_back({{"name", alarm.name()},
                              {"value", alarm.value()},
                              {"raised", alarm.raised()},
                              {"text", alarm.text()}});
  }
}

}  // namespace

std::string EnumText(std::string_view name, std::string_view prefix) {
  return AsciiStrToLower(StripPrefix(name, prefix));
}

double EpsilonNumber(uint64_t nanos) { return static_cast<double>(nanos) / 1e9; }

double DeltaNumber(uint64_t atto) { return static_cast<double>(atto) / 1e18; }

std::string IdOf(std::string_view name) { return std::string(name.substr(name.rfind('/') + 1)); }

uint64_t CountLeaves(const v1::Forest& forest) {
  uint64_t leaves = 0;
  for (const v1::Tree& tree : forest.trees()) {
    for (const int kind : tree.kinds()) leaves += kind == v1::SPLIT_KIND_LEAF ? 1 : 0;
  }
  return leaves;
}

Json DescribeNewStudy(const v1::Study& study) {
  Json json = {{"study", IdOf(study.name())},
               {"leaves", CountLeaves(study.forest())},
               {"fingerprint", BytesToHexString(study.fingerprint())}};
  AddTerms(study, json);
  return json;
}

Json DescribeStudy(const v1::Study& study) {
  Json json = {{"study", IdOf(study.name())}, {"state", StateText(study.state())}};
  AddCounts(study, json);
  json["leaves"] = CountLeaves(study.forest());
  AddTerms(study, json);
  json["fingerprint"] = BytesToHexString(study.fingerprint());
  AddLife(study, json);
  return json;
}

Json DescribeStudyWithAlarms(const v1::Study& study) {
  Json json = DescribeStudy(study);
  AddAlarms(study, json);
  return json;
}

Json DescribeStudyForPeople(const v1::Study& study) {
  Json json = DescribeStudy(study);
  if (json.contains("joined_by")) {
    json["joined_by"] = StrCat(study.terms().joined_by(), ": ", study.join_rows(), " rows");
    json.erase("join_rows");
  }
  if (json.contains("seen_early")) {
    json["seen_early"] =
        "a model or counts were shown, or may have been, before the last report had come: its "
        "models promise nothing more than epsilon to their readers";
  }
  json.erase("newest_batches");
  const auto& batches = study.relay().newest();
  for (int i = std::max(0, batches.size() - kBatchesForPeople); i < batches.size(); ++i) {
    Json batch = DescribeBatch(batches[i]);
    const std::string name = StrCat("batch ", BytesToHexString(batches[i].id()).substr(0, 8));
    batch.erase("batch");
    json[name] = std::move(batch);
  }
  for (const v1::Alarm& alarm : study.alarms()) {
    if (alarm.raised()) json[StrCat("ALARM ", alarm.name())] = alarm.text();
  }
  return json;
}

Json DescribeStudyBriefly(const v1::Study& study) {
  Json json = {{"study", IdOf(study.name())}, {"state", StateText(study.state())}};
  AddCounts(study, json);
  json["created"] = TimeText(study.created_unix_seconds());
  return json;
}

Json DescribeModel(const v1::Model& model) {
  const v1::Certificate& certificate = model.certificate();
  Json json = DescribeModelBriefly(model);
  const bool of_a_study = !model.study().empty();
  if (of_a_study) {
    json.erase("job");
  } else {
    for (const char* absent : {"study", "reports", "public_rows"}) json.erase(absent);
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
  json["public_inputs"] = Json::array();
  for (const std::string& input : certificate.public_inputs()) {
    json["public_inputs"].push_back(input);
  }
  if (of_a_study) json["fingerprint"] = certificate.fingerprint();
  json["releases"] = certificate.releases_size();
  json["leaf_kind"] = LeafKindText(model.leaf_kind());
  json["code_version"] = certificate.code_version();
  return json;
}

Json DescribeModelBriefly(const v1::Model& model) {
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

}  // namespace coppice::cli
