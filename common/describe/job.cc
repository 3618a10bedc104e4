// Training jobs, their cost, and the algorithms that they can run.

#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/describe/describe.h"
#include "common/describe/text.h"
#include "coppice/v1/training.pb.h"

namespace coppice {
namespace {

Description TimeOrNull(int64_t unix_seconds) {
  return unix_seconds == 0 ? Description() : Description(TimeText(unix_seconds));
}

std::vector<std::string> TasksOf(const v1::Algorithm& algorithm) {
  std::vector<std::string> tasks;
  if (algorithm.classification()) tasks.emplace_back("classification");
  if (algorithm.regression()) tasks.emplace_back("regression");
  return tasks;
}

Description DescribeParameter(const v1::Parameter& parameter) {
  Description json = {{"name", parameter.name()}, {"type", EnumText(parameter.type())}};
  if (parameter.type() == v1::PARAMETER_TYPE_CHOICE) {
    json["choices"] = parameter.choices();
  } else {
    json["min"] = parameter.min();
    json["max"] = parameter.max();
  }
  json["default"] = parameter.default_value();
  json["description"] = parameter.description();
  return json;
}

// "one_rule or top_down", "a whole number from 1 to 20".
std::string RangeText(const v1::Parameter& parameter) {
  if (parameter.type() == v1::PARAMETER_TYPE_CHOICE) {
    return StrJoin(parameter.choices(), " or ");
  }
  return StrCat(
      parameter.type() == v1::PARAMETER_TYPE_INTEGER ? "a whole number from " : "a number from ",
      parameter.min(), " to ", parameter.max());
}

std::string MeaningText(const v1::Parameter& parameter) {
  if (parameter.description().empty()) return RangeText(parameter);
  return StrCat(RangeText(parameter), ": ", parameter.description());
}

// Wraps `text` to lines of at most 78 characters, each after `indent` spaces.
std::string Wrap(std::string_view text, size_t indent) {
  constexpr size_t kWidth = 78;
  std::string wrapped, line;
  for (const std::string_view word : StrSplit(text, ' ', SkipEmpty())) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > kWidth) {
      StrAppend(&wrapped, std::string(indent, ' '), line, "\n");
      line.clear();
    }
    StrAppend(&line, line.empty() ? "" : " ", word);
  }
  if (!line.empty()) StrAppend(&wrapped, std::string(indent, ' '), line, "\n");
  return wrapped;
}

}  // namespace

Description DescribeJobBriefly(const v1::Job& job) {
  return {{"job", IdOf(job.name())},
          {"state", EnumText(job.state())},
          {"dataset", IdOf(job.spec().dataset())},
          {"algorithm", job.spec().algorithm()},
          {"epsilon", EpsilonNumber(job.spec().epsilon_nanos())},
          {"model", IdOf(job.model())},
          {"progress", job.progress()},
          {"created", TimeText(job.created_unix_seconds())}};
}

Description DescribeJob(const v1::Job& job) {
  const std::map<std::string, std::string> settings(job.spec().settings().begin(),
                                                    job.spec().settings().end());
  Description json = {{"job", IdOf(job.name())},
                      {"model", IdOf(job.model())},
                      {"state", EnumText(job.state())},
                      {"dataset", IdOf(job.spec().dataset())},
                      {"algorithm", job.spec().algorithm()},
                      {"settings", settings}};
  json["epsilon"] = EpsilonNumber(job.spec().epsilon_nanos());
  json["delta"] = DeltaNumber(job.spec().delta_atto());
  if (job.public_rows() > 0) {
    json["public_rows"] = job.public_rows();
    json["public_rows_sha256"] = job.public_rows_sha256();
  }
  json["cost"] = DescribeCost(job.cost());
  json["progress"] = job.progress();
  json["seconds_left"] =
      job.state() == v1::JOB_STATE_RUNNING ? Description(job.seconds_left()) : Description();
  json["created"] = TimeText(job.created_unix_seconds());
  json["started"] = TimeOrNull(job.started_unix_seconds());
  json["ended"] = TimeOrNull(job.ended_unix_seconds());
  if (!job.submitter().empty()) json["submitter"] = job.submitter();
  if (!job.reason().empty()) json["reason"] = job.reason();
  json["warnings"] = job.warnings();
  return json;
}

std::string JobLine(const v1::Job& job) {
  std::string line = StrCat(IdOf(job.name()), " ", EnumText(job.state()));
  if (job.state() != v1::JOB_STATE_RUNNING) return line;
  StrAppend(&line, ", ", std::floor(100 * job.progress()), " %");
  if (job.seconds_left() > 0 && std::isfinite(job.seconds_left())) {
    const absl::Duration left = absl::Seconds(std::ceil(job.seconds_left()));
    StrAppend(&line, ", about ", absl::FormatDuration(left), " left");
  }
  return line;
}

Description DescribePreview(const v1::PreviewJobResponse& preview) {
  Description json = {{"fits", preview.fits()}};
  if (!preview.fits()) json["reason"] = preview.reason();
  json.update(DescribeCost(preview.cost()));
  json["releases"] = Description::array();
  for (const v1::Release& release : preview.releases()) {
    json["releases"].push_back(DescribeRelease(release));
  }
  json["warnings"] = preview.warnings();
  return json;
}

Description DescribeAlgorithm(const v1::Algorithm& algorithm) {
  Description json = {
      {"algorithm", algorithm.name()}, {"summary", algorithm.summary()},
      {"tasks", TasksOf(algorithm)},   {"neighbours", EnumText(algorithm.neighbours())},
      {"delta", algorithm.delta()},    {"public_rows", algorithm.public_rows()},
      {"source", algorithm.source()},  {"parameters", Description::array()}};
  for (const v1::Parameter& parameter : algorithm.parameters()) {
    json["parameters"].push_back(DescribeParameter(parameter));
  }
  return json;
}

std::string AlgorithmText(const v1::Algorithm& algorithm) {
  std::string text = StrCat(algorithm.name(), "\n", Wrap(algorithm.summary(), 2));
  StrAppend(&text, Wrap(StrCat("For ", StrJoin(TasksOf(algorithm), " and "), "; ",
                               algorithm.delta() ? "epsilon, or epsilon and delta" : "pure epsilon",
                               "; neighbours: ", EnumText(algorithm.neighbours()),
                               algorithm.public_rows() ? "; can start from public rows" : "",
                               ". Source: ", algorithm.source()),
                        2));
  for (const v1::Parameter& parameter : algorithm.parameters()) {
    StrAppend(&text, "    --set ", parameter.name(), "=", parameter.default_value(), "\n",
              Wrap(MeaningText(parameter), 8));
  }
  return text;
}

}  // namespace coppice
