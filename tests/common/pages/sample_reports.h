// Small samples of what commands print with --json, with names that HTML would take for its own.

#ifndef COPPICE_TESTS_COMMON_PAGES_SAMPLE_REPORTS_H_
#define COPPICE_TESTS_COMMON_PAGES_SAMPLE_REPORTS_H_

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/model/certificate_text.h"
#include "common/model/model.h"
#include "common/pages/pages.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

using SampleJson = nlohmann::ordered_json;

inline constexpr char kHostileName[] = "<script>alert(\"1\")</script>";
inline constexpr char kHostileFeature[] = "it's \"old\" & <b>bold</b>";

// `second` is the name of the second class.
inline SampleJson SampleEvaluation(const std::string& second) {
  return {{"model", "m-91c0"},
          {"rows", 904},
          {"abstained", 12},
          {"correct", 812},
          {"accuracy", 0.898},
          {"interval", {0.877, 0.916}},
          {"level", 0.95},
          {"majority", 0.885},
          {"majority_class", "no"},
          {"gain", 0.013},
          {"gain_interval", {0.004, 0.022}},
          {"verdict", "Better than always answering no (0.885) by 0.013 (0.004 to 0.022)."},
          {"auc", 0.874},
          {"log_loss", 0.262},
          {"majority_log_loss", 0.357},
          {"classes", {"no", second}},
          {"confusion", {{783, 17}, {75, 29}}},
          {"recall", {0.979, 0.279}},
          {"precision", {0.913, nullptr}},
          {"calibration",
           {{{"low", 0.0}, {"high", 0.1}, {"rows", 610}, {"predicted", 0.041}, {"observed", 0.036}},
            {{"low", 0.1}, {"high", 0.2}, {"rows", 131}, {"predicted", 0.139}, {"observed", 0.16}},
            {{"low", 0.2}, {"high", 0.3}, {"rows", 62}, {"predicted", 0.247}, {"observed", 0.21}},
            {{"low", 0.3}, {"high", 0.4}, {"rows", 36}, {"predicted", 0.35}, {"observed", 0.42}},
            {{"low", 0.4}, {"high", 0.5}, {"rows", 19}, {"predicted", 0.45}, {"observed", 0.53}},
            {{"low", 0.5}, {"high", 0.6}, {"rows", 17}, {"predicted", 0.55}, {"observed", 0.47}},
            {{"low", 0.6}, {"high", 0.7}, {"rows", 15}, {"predicted", 0.64}, {"observed", 0.67}},
            {{"low", 0.7}, {"high", 0.8}, {"rows", 9}, {"predicted", 0.74}, {"observed", 0.78}},
            {{"low", 0.8}, {"high", 0.9}, {"rows", 5}, {"predicted", 0.84}, {"observed", 0.8}}}},
          {"calibration_error", 0.014}};
}

inline SampleJson SampleNumberEvaluation() {
  return {
      {"model", "m-0a17"},
      {"rows", 836},
      {"rmse", 2.431},
      {"mse", 5.91},
      {"mae", 1.744},
      {"r2", 0.433},
      {"interval", {2.281, 2.572}},
      {"level", 0.95},
      {"mean", 3.229},
      {"mean_value", 9.934},
      {"mean_mae", 2.362},
      {"gain", 0.798},
      {"gain_interval", {0.641, 0.955}},
      {"verdict", "Better than always answering the mean (RMSE 3.229) by 0.798 (0.641 to 0.955)."}};
}

// auto, logistic and a local study over four epsilons.
inline SampleJson SampleCurve(const std::string& label) {
  const auto summary = [](double mean, double deviation) {
    return SampleJson{{"mean", mean}, {"std", deviation}, {"n", 10}};
  };
  SampleJson curve = {{"label", label},
                      {"rows", 4521},
                      {"repeats", 10},
                      {"majority", 0.885},
                      {"majority_class", "no"},
                      {"lines", SampleJson::array()},
                      {"series", SampleJson::array()},
                      {"sentences",
                       {"auto: ε = 0.5 buys 0.004 over always answering no; ε = 2 buys 0.009 more; "
                        "without privacy 0.004 more.",
                        "local, 1000 devices: no ε here buys more than always answering no."}}};
  const std::vector<double> epsilons = {0.1, 0.5, 1, 2, 4};
  const auto add = [&](const std::string& name, const SampleJson& devices,
                       const std::vector<double>& accuracy, double deviation, double without) {
    for (size_t i = 0; i < epsilons.size(); ++i) {
      SampleJson line = {{"algorithm", name}, {"epsilon", epsilons[i]}};
      if (!devices.is_null()) line["devices"] = devices;
      line["accuracy"] = summary(accuracy[i], deviation / (1 + static_cast<double>(i)));
      line["auc"] = summary(0.5 + (accuracy[i] - 0.86) * 8, 0.02);
      line["log_loss"] = summary(0.4 - accuracy[i] / 10, 0.01);
      line["majority"] = 0.885;
      line["non_private"] = without;
      curve["lines"].push_back(line);
    }
    curve["series"].push_back(
        {{"name", devices.is_null() ? name : name + ", " + devices.dump() + " devices"},
         {"non_private", summary(without, 0.006)}});
  };
  add("auto", nullptr, {0.874, 0.889, 0.893, 0.898, 0.9}, 0.03, 0.902);
  add("logistic", nullptr, {0.861, 0.886, 0.891, 0.895, 0.899}, 0.05, 0.901);
  add("local", 1000, {0.883, 0.884, 0.884, 0.885, 0.886}, 0.01, 0.893);
  return curve;
}

inline SampleJson SamplePlan() {
  SampleJson plan = {{"public_rows", 200},
                     {"trees", 64},
                     {"effective_cells", 17.3},
                     {"advice",
                      "Reports help in 3 of these 6 studies. In the others, where the gain is "
                      "below half a point, they do not, and there is no need to ask anyone."},
                     {"public_only", {{"low", 0.757}, {"mean", 0.792}, {"high", 0.827}}},
                     {"majority", 0.761},
                     {"majority_class", "no"},
                     {"studies", SampleJson::array()}};
  for (const int devices : {1000, 30000}) {
    for (const double epsilon : {0.5, 1.0, 4.0}) {
      const double gain = 0.004 * epsilon * (devices > 1000 ? 2.1 : 0.3);
      plan["studies"].push_back(
          {{"epsilon", epsilon},
           {"devices", devices},
           {"mechanism", "signed_hadamard"},
           {"payload_bytes", 9},
           {"equivalent_rows", 12.5 * epsilon},
           {"influence", 0.0021},
           {"accuracy", {{"low", 0.757 + gain}, {"mean", 0.792 + gain}, {"high", 0.827 + gain}}},
           {"gain", gain},
           {"gain_interval", {gain - 0.003, gain + 0.003}}});
    }
  }
  plan["takes"] = {{{"accuracy", 0.8}, {"devices", 1000}, {"least_epsilon", nullptr}},
                   {{"accuracy", 0.8}, {"epsilon", 1.0}, {"fewest_devices", 20000}}};
  return plan;
}

// A dataset with one job done and one under way, as `coppice dataset show --json` prints it.
inline SampleJson SampleBudget() {
  const SampleJson count = {{"what", "the number of rows"},
                            {"mechanism", "discrete_laplace"},
                            {"epsilon", 0.01},
                            {"times", 1},
                            {"part", "all"}};
  const SampleJson sums = {{"what", "the sums of each leaf"},
                           {"mechanism", "discrete_laplace"},
                           {"epsilon", 0.495},
                           {"times", 2},
                           {"part", "one of 7 groups"}};
  const auto entry = [](const char* time, const char* kind, const std::string& job, double epsilon,
                        const SampleJson& releases) {
    return SampleJson{{"time", time},
                      {"entry", kind},
                      {"job", job},
                      {"epsilon", epsilon},
                      {"delta", 0.0},
                      {"releases", releases},
                      {"hash", std::string(64, 'a')}};
  };
  const SampleJson none = SampleJson::array();
  SampleJson dataset = {{"dataset", "people"},
                        {"state", "ready"},
                        {"rows", 6000},
                        {"epsilon_total", 3.0},
                        {"epsilon_spent", 1.5},
                        {"epsilon_left", 1.5},
                        {"delta_total", 0.0},
                        {"delta_spent", 0.0},
                        {"composition", "basic"},
                        {"neighbours", "add_or_remove_row"},
                        {"created", "2026-03-02T09:00:00Z"},
                        {"ledger_head", std::string(64, 'a')}};
  dataset["ledger"] = {
      entry("2026-03-02T09:00:00Z", "opened", "", 0, none),
      entry("2026-03-02T09:05:00Z", "reserved", "first", 1, {count, sums}),
      entry("2026-03-02T09:06:00Z", "settled", "first", 1, {count, sums}),
      entry("2026-03-03T11:00:00Z", "reserved", kHostileName, 0.5, SampleJson::array({count})),
  };
  return dataset;
}

// Part of the output of `coppice study show --json`.
inline SampleJson SampleRecord() {
  return {{"study", "leavers"},
          {"state", "open"},
          {"accepted", 3000},
          {"rejected", {{"bad_ticket", 2}}},
          {"public_features", {"plan", kHostileFeature}},
          {"expires", nullptr},
          {"retired", true},
          {"choice", ""},
          {"alarms",
           {{{"name", "tree"}, {"value", -2.19}, {"raised", false}, {"text", kHostileName}},
            {{"name", "margin"}, {"value", 0.0}, {"raised", false}, {"text", "as expected"}}}}};
}

// The verdict on a model of auto, in the words of its certificate.
inline SampleJson SampleVerdict() {
  Certificate certificate;
  certificate.epsilon_nanos = 2'000'000'000;
  certificate.mechanism = certificate.estimator = "auto";
  certificate.neighbouring = "one row more or less";
  certificate.public_inputs = {"the schema: bounds, vocabularies and classes",
                               "the algorithm and its settings"};
  certificate.releases = {
      {.what = "the number of rows", .mechanism = "discrete_laplace", .epsilon_nanos = 20'000'000},
      {.what = "the forest: moments and gradients of lines, where two classes have enough rows for "
               "them, then splits, and sums at every node",
       .mechanism = "permute_and_flip, discrete_laplace",
       .epsilon_nanos = 1'980'000'000}};
  SampleJson verdict = {{"model", "m-91c0"},
                        {"verified", true},
                        {"consistent", true},
                        {"signature", "valid"},
                        {"epsilon", 2.0},
                        {"epsilon_of_releases", 2.0},
                        {"neighbouring", certificate.neighbouring}};
  verdict["words"] = SampleJson::array();
  for (const CertificateText::Section& section : DescribeCertificate(certificate).sections) {
    verdict["words"].push_back({{"title", section.title}, {"sentences", section.sentences}});
  }
  verdict["releases"] = SampleJson::array();
  for (const Release& release : certificate.releases) {
    verdict["releases"].push_back({{"what", release.what},
                                   {"mechanism", release.mechanism},
                                   {"epsilon", static_cast<double>(release.epsilon_nanos) / 1e9},
                                   {"times", release.times}});
  }
  return verdict;
}

// Five trees of three leaves, with a schema of hostile names.
inline Model SampleModel() {
  const Schema schema = *Schema::Create(
      {Numeric(kHostileFeature, 18, 90), Categorical("job", {"clerk", kHostileName})}, "answer",
      {"no", kHostileName});
  const auto leaf = [](double first, uint32_t node) {
    LeafPrediction prediction;
    prediction.probabilities = {first, 1 - first};
    prediction.standard_error = 0.02;
    prediction.label = first >= 0.5 ? 0 : 1;
    prediction.source_node = node;
    return prediction;
  };
  Forest forest;
  std::vector<std::vector<LeafPrediction>> leaves;
  for (int i = 0; i < 5; ++i) {
    std::vector<Node> nodes(5);
    nodes[0] = {.kind = SplitKind::kNumeric, .threshold = 37.5, .left = 1, .right = 2};
    nodes[2] = {.kind = SplitKind::kCategory, .feature = 1, .threshold = 1, .left = 3, .right = 4};
    forest.push_back(*Tree::Create(std::move(nodes), schema));
    leaves.push_back({leaf(0.9, 1), leaf(0.2, 3), leaf(0.6, 4)});
  }
  return *Model::Create(schema, std::move(forest), std::move(leaves), {});
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_COMMON_PAGES_SAMPLE_REPORTS_H_
