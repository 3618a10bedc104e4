// Studies: their terms, what became of their reports, their relay, and their forecasts.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/describe/describe.h"
#include "common/describe/study_settings.h"
#include "common/describe/text.h"
#include "coppice/v1/study.pb.h"

namespace coppice {
namespace {

// "hybrid, at least 8 rows a leaf", ...
std::string PartitionText(const v1::PartitionOptions& partition) {
  std::string text = EnumText(partition.rule());
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

void AddCounts(const v1::Study& study, Description& json) {
  json["received"] = study.received();
  json["accepted"] = 0;
  json["duplicate"] = 0;
  json["rejected"] = Description::object();
  for (const v1::ReportCount& count : study.counts()) {
    const std::string name = EnumText(count.outcome());
    const bool counted = name == "accepted" || name == "duplicate";
    (counted ? json[name] : json["rejected"][name]) = count.reports();
  }
}

void AddTerms(const v1::Study& study, Description& json) {
  json["epsilon"] = EpsilonNumber(study.terms().epsilon_nanos());
  json["mechanism"] = EnumText(study.terms().mechanism());
  for (const v1::Feature& feature : study.terms().schema().features()) {
    if (feature.is_public()) json["public_features"].push_back(feature.name());
  }
  if (study.terms().has_rounding()) {
    const v1::NumberRange& range = study.terms().rounding();
    json["rounding"] = {range.low(), range.high()};
  }
  if (study.forest().trees_size() > 0 && study.forest().trees(0).half_range() > 0) {
    json["half_range"] = study.forest().trees(0).half_range();
  }
  if (study.terms().has_window()) {
    const v1::Window& window = study.terms().window();
    json["window"] = {{"reach", window.reach()}, {"half_width", window.half_width()}};
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
Description DescribeBatch(const v1::Batch& batch) {
  Description json = {{"batch", absl::BytesToHexString(batch.id())},
                      {"state", EnumText(batch.state())},
                      {"reports", batch.reports()},
                      {"created", TimeText(batch.created_unix_seconds())}};
  for (const v1::ReportCount& count : batch.counts()) {
    json["outcomes"][EnumText(count.outcome())] = count.reports();
  }
  return json;
}

void AddRelay(const v1::StudyRelay& relay, Description& json) {
  if (!relay.sealing_key_id().empty()) {
    json["sealing_key"] = absl::BytesToHexString(relay.sealing_key_id());
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

void AddLife(const v1::Study& study, Description& json) {
  json["created"] = TimeText(study.created_unix_seconds());
  if (study.sealed_unix_seconds() != 0) json["sealed"] = TimeText(study.sealed_unix_seconds());
  if (study.expired()) json["expired"] = true;
  if (study.retired()) json["retired"] = true;
  if (study.seen_early()) json["seen_early"] = true;
  if (!study.final_model().empty()) json["final_model"] = IdOf(study.final_model());
  if (study.has_relay()) AddRelay(study.relay(), json);
  if (!study.owner().empty()) json["owner"] = study.owner();
}

void AddAlarms(const v1::Study& study, Description& json) {
  json["alarms"] = Description::array();
  for (const v1::Alarm& alarm : study.alarms()) {
    json["alarms"].push_back({{"name", alarm.name()},
                              {"value", alarm.value()},
                              {"raised", alarm.raised()},
                              {"text", alarm.text()}});
  }
}

void AddRelayPromise(const v1::Outlook& outlook, Description& json) {
  const bool promised = outlook.relay_epsilon_nanos() > 0;
  json["relay_epsilon"] =
      EpsilonNumber(promised ? outlook.relay_epsilon_nanos() : outlook.epsilon_nanos());
  json["relay_delta"] = DeltaNumber(outlook.relay_delta_atto());
}

void AddAccuracy(const v1::Outlook& outlook, Description& json) {
  const bool numbers = outlook.has_rmse();
  const v1::Interval& level = numbers ? outlook.rmse() : outlook.accuracy();
  json[numbers ? "rmse" : "accuracy"] = level.mean();
  json["low"] = level.low();
  json["high"] = level.high();
  json["gain"] = outlook.gain();
  json["gain_low"] = outlook.gain_interval().low();
  json["gain_high"] = outlook.gain_interval().high();
}

}  // namespace

Description DescribeNewStudy(const v1::Study& study) {
  Description json = {{"study", IdOf(study.name())},
                      {"leaves", CountLeaves(study.forest())},
                      {"fingerprint", absl::BytesToHexString(study.fingerprint())}};
  AddTerms(study, json);
  return json;
}

Description DescribeStudy(const v1::Study& study) {
  Description json = {{"study", IdOf(study.name())}, {"state", EnumText(study.state())}};
  AddCounts(study, json);
  json["leaves"] = CountLeaves(study.forest());
  AddTerms(study, json);
  json["fingerprint"] = absl::BytesToHexString(study.fingerprint());
  if (!study.neighbouring().empty()) json["neighbouring"] = study.neighbouring();
  AddLife(study, json);
  return json;
}

Description DescribeStudyWithAlarms(const v1::Study& study) {
  Description json = DescribeStudy(study);
  AddAlarms(study, json);
  return json;
}

Description DescribeStudyForPeople(const v1::Study& study) {
  Description json = DescribeStudy(study);
  if (json.contains("joined_by")) {
    json["joined_by"] = StrCat(study.terms().joined_by(), ": ", study.join_rows(), " rows");
    json.erase("join_rows");
  }
  if (json.contains("seen_early")) {
    json["seen_early"] =
        "a model or counts were shown, or may have been, before the last report arrived: towards "
        "readers its models promise nothing beyond epsilon";
  }
  json.erase("newest_batches");
  const auto& batches = study.relay().newest();
  for (int i = std::max(0, batches.size() - kBatchesForPeople); i < batches.size(); ++i) {
    Description batch = DescribeBatch(batches[i]);
    const std::string name = StrCat("batch ", absl::BytesToHexString(batches[i].id()).substr(0, 8));
    batch.erase("batch");
    json[name] = std::move(batch);
  }
  for (const v1::Alarm& alarm : study.alarms()) {
    if (alarm.raised()) json[StrCat("ALARM ", alarm.name())] = alarm.text();
  }
  return json;
}

Description DescribeStudyBriefly(const v1::Study& study) {
  Description json = {{"study", IdOf(study.name())}, {"state", EnumText(study.state())}};
  AddCounts(study, json);
  json["created"] = TimeText(study.created_unix_seconds());
  return json;
}

Description DescribeOutlook(const v1::Outlook& outlook, bool with_relay) {
  Description json = {{"epsilon", EpsilonNumber(outlook.epsilon_nanos())},
                      {"devices", outlook.devices()},
                      {"mechanism", EnumText(outlook.mechanism())},
                      {"payload_bytes", outlook.payload_bytes()},
                      {"equivalent_rows", outlook.equivalent_rows()}};
  // 0: not computed.
  if (outlook.influence() > 0) json["influence"] = outlook.influence();
  // Without a promise to readers, the promise about every report holds for them too.
  const bool promised = outlook.readers_epsilon_nanos() > 0;
  json["readers_epsilon"] =
      EpsilonNumber(promised ? outlook.readers_epsilon_nanos() : outlook.epsilon_nanos());
  json["readers_delta"] = DeltaNumber(outlook.readers_delta_atto());
  if (with_relay) AddRelayPromise(outlook, json);
  if (outlook.has_accuracy() || outlook.has_rmse()) AddAccuracy(outlook, json);
  return json;
}

}  // namespace coppice
