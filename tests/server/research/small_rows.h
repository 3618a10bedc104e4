// Rows small enough to know the answer, and one fit of a method on them.

#ifndef COPPICE_TESTS_SERVER_RESEARCH_SMALL_ROWS_H_
#define COPPICE_TESTS_SERVER_RESEARCH_SMALL_ROWS_H_

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/openssl_random.h"
#include "server/lab/synthetic.h"
#include "server/research/method.h"

namespace coppice::research {

// One row at each of x = 0, 1/n, 2/n, ...; the second feature is 1/2.
inline std::shared_ptr<const Table> Line(const std::vector<uint32_t>& labels) {
  Table table(lab::SyntheticSchema());
  for (size_t i = 0; i < labels.size(); ++i) {
    const double x = static_cast<double>(i) / static_cast<double>(labels.size());
    table.Append(std::array<double, 2>{x, 0.5}, labels[i]);
  }
  return std::make_shared<const Table>(std::move(table));
}

// Rows of class 0, or of the given classes.
inline std::shared_ptr<const Table> Points2D(const std::vector<std::array<double, 2>>& points,
                                             const std::vector<uint32_t>& labels = {}) {
  Table table(lab::SyntheticSchema());
  for (size_t i = 0; i < points.size(); ++i) {
    table.Append(points[i], labels.empty() ? 0 : labels[i]);
  }
  return std::make_shared<const Table>(std::move(table));
}

// One categorical feature of two values.
inline std::shared_ptr<const Table> Colours(const std::vector<double>& values) {
  Feature colour{.name = "colour", .type = FeatureType::kCategorical, .values = {"red", "blue"}};
  auto schema = std::make_shared<const Schema>(*Schema::Create({colour}, "label", {"0", "1"}));
  Table table(schema);
  for (const double value : values) table.Append(std::array<double, 1>{value}, 0);
  return std::make_shared<const Table>(std::move(table));
}

// x = 0, .1, ..., .8, three rows of each class in turn.
inline std::shared_ptr<const Table> ThreeClasses() {
  const Feature x{.name = "x", .min = 0, .max = 1, .values = {}};
  auto schema = std::make_shared<const Schema>(*Schema::Create({x}, "label", {"a", "b", "c"}));
  Table table(schema);
  for (uint32_t i = 0; i < 9; ++i) table.Append(std::array<double, 1>{i / 10.0}, i / 3);
  return std::make_shared<const Table>(std::move(table));
}

inline StatusOr<Answers> FitOnce(const Method& method, const lab::LabRows& rows,
                                 const std::string& epsilon, double setting) {
  FitOptions options{.epsilon = std::nullopt, .setting = setting};
  if (!epsilon.empty()) {
    COPPICE_ASSIGN_OR_RETURN(options.epsilon, Budget::Parse(epsilon));
  }
  PublicRandom public_random(7);
  OpenSslRandom noise;
  return method.Fit(rows, options, public_random, noise);
}

inline std::vector<uint32_t> LabelsOf(const Answers& answers) {
  std::vector<uint32_t> labels;
  for (size_t i = 0; i * answers.classes < answers.probabilities.size(); ++i) {
    const auto p = answers.of(i);
    labels.push_back(static_cast<uint32_t>(std::max_element(p.begin(), p.end()) - p.begin()));
  }
  return labels;
}

}  // namespace coppice::research

#endif  // COPPICE_TESTS_SERVER_RESEARCH_SMALL_ROWS_H_
