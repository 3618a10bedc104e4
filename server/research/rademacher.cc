#include "server/research/rademacher.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/lab/report.h"
#include "server/lab/show_repetitions.h"
#include "server/research/commands.h"
#include "server/research/features.h"
#include "server/research/method.h"
#include "server/trainers/curves/repetitions.h"
#include "server/trainers/registry.h"

namespace coppice::research {

double OneRuleComplexity(const OneHotRows& rows, size_t draws, PublicRandom& random) {
  double sum = 0;
  for (size_t draw = 0; draw < draws; ++draw) {
    std::vector<int64_t> with(rows.dimension());  // signs of the rows that have the column
    int64_t all = 0;
    for (size_t row = 0; row < rows.size(); ++row) {
      const int64_t sign = random.Below(2) == 0 ? 1 : -1;
      all += sign;
      for (const uint32_t column : rows.of(row)) with[column] += sign;
    }
    int64_t most = 0;
    for (const int64_t of_column : with) most = std::max(most, std::abs(2 * of_column - all));
    sum += static_cast<double>(most) / static_cast<double>(rows.size());
  }
  return sum / static_cast<double>(draws);
}

std::vector<double> MarginsOf(const Model& model, const Table& rows) {
  std::vector<double> margins;
  Row row;
  for (size_t i = 0; i < rows.num_rows(); ++i) {
    rows.CopyRow(i, row);
    double lead = 0, most = 0;
    for (size_t t = 0; t < model.forest().size(); ++t) {
      const double vote = model.leaves()[t][model.forest()[t].FindLeaf(row)].probabilities[1];
      lead += vote;
      most += std::abs(vote);
    }
    margins.push_back(most > 0 ? (rows.label(i) == 1 ? lead : -lead) / most : 0);
  }
  return margins;
}

MarginPromise PromiseOfMargins(absl::Span<const double> margins, double complexity, double delta) {
  constexpr int kThetas = 200;
  const auto rows = static_cast<double>(margins.size());
  const double chance = 3 * std::sqrt(std::log(2 / delta) / (2 * rows));
  MarginPromise best;
  for (int i = 1; i <= kThetas; ++i) {
    const double theta = static_cast<double>(i) / kThetas;
    const auto below = std::count_if(margins.begin(), margins.end(),
                                     [&](double margin) { return margin <= theta; });
    const double accuracy = 1 - static_cast<double>(below) / rows - 2 * complexity / theta - chance;
    if (accuracy > best.accuracy) best = {.accuracy = accuracy, .theta = theta};
  }
  return best;
}

namespace {

using RademacherJson = nlohmann::ordered_json;

constexpr double kConfidence = 0.95;
constexpr size_t kSignDraws = 20;

struct RademacherRuns {  // a value for each repetition
  std::vector<double> complexity, promised, theta, accuracy;
};

// One-rules in the thesis' bins, with the trainer's own rounds and densities.
StatusOr<Model> BoostOneRules(const Table& rows, const Budget& epsilon, PrivateRandom& noise) {
  COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* trainer, trainers::FindTrainer("lazybb"));
  const trainers::TrainOptions options{.epsilon = epsilon,
                                       .settings = {{"literals", "bins"}, {"cuts", "9"}}};
  return trainer->Train(rows, options, noise, [](double) { return OkStatus(); });
}

double VotesAccuracy(const Model& model, const Table& rows) {
  const std::vector<double> margins = MarginsOf(model, rows);
  const auto right = std::count_if(margins.begin(), margins.end(), [](double x) { return x > 0; });
  return static_cast<double>(right) / static_cast<double>(margins.size());
}

RademacherJson SummaryOf(const std::vector<double>& values) {
  const curves::Summary summary = curves::Summarize(values);
  return {{"mean", summary.mean}, {"std", summary.deviation}, {"n", summary.n}};
}

}  // namespace

void AddRademacherFlags(const Command& command, RademacherFlags& flags) {
  lab::AddLocalRowFlags(command, flags.rows);
  command.Add("--epsilon", flags.epsilon, "of the boosted one-rules, 0.01 to 1000").ShowDefault();
  flags.rows.repeats = 3;
  command.Add("--repeats", flags.rows.repeats, "repetitions").InRange(1u, 1000u).ShowDefault();
  command.Add("--seed", flags.rows.seed, "seed of rows, splits and signs; never of noise")
      .ShowDefault();
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

Status CheckRademacherFlags(const RademacherFlags& flags) {
  COPPICE_RETURN_IF_ERROR(lab::CheckLocalRowFlags(flags.rows));
  return Budget::Parse(flags.epsilon).status();
}

Status MeasureRademacher(const RademacherFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(flags.epsilon));
  COPPICE_ASSIGN_OR_RETURN(const lab::RowSource source,
                           lab::ResolveLocalRows(flags.rows, [](const std::string& note) {
                             std::cerr << note << "\n";
                           }));
  RademacherRuns runs;
  for (auto* values : {&runs.complexity, &runs.promised, &runs.theta, &runs.accuracy}) {
    values->resize(flags.rows.repeats);
  }
  const auto run = [&](uint32_t repetition, PrivateRandom& noise) -> Status {
    PublicRandom seeds(flags.rows.seed, repetition);
    const lab::LabRows rows = source(seeds.Next());
    PublicRandom signs(seeds.Next());
    COPPICE_RETURN_IF_ERROR(CheckTwoClasses(rows.private_rows->schema()));
    COPPICE_RETURN_IF_ERROR(CheckLabelled(*rows.private_rows));
    COPPICE_ASSIGN_OR_RETURN(const OneHotRows points, OneHotRows::Create(*rows.private_rows));
    COPPICE_ASSIGN_OR_RETURN(const Model model, BoostOneRules(*rows.private_rows, epsilon, noise));
    runs.complexity[repetition] = OneRuleComplexity(points, kSignDraws, signs);
    const MarginPromise promise = PromiseOfMargins(MarginsOf(model, *rows.private_rows),
                                                   runs.complexity[repetition], 1 - kConfidence);
    runs.promised[repetition] = promise.accuracy;
    runs.theta[repetition] = promise.theta;
    runs.accuracy[repetition] = VotesAccuracy(model, *rows.test_rows);
    return OkStatus();
  };
  COPPICE_RETURN_IF_ERROR(curves::RunRepetitions(
      flags.rows.repeats, /*threads=*/1, run,
      [&](uint32_t finished) { lab::ShowRepetitions(finished, flags.rows.repeats); }));
  const RademacherJson report = {
      {"complexity", SummaryOf(runs.complexity)},
      {"promised_accuracy", SummaryOf(runs.promised)},
      {"theta", SummaryOf(runs.theta)},
      {"confidence", kConfidence},
      {"accuracy", SummaryOf(runs.accuracy)},
      {"standard_error", curves::Summarize(runs.accuracy).standard_error()},
      {"epsilon", epsilon.epsilon()},
      {"guarantee", kAsPublished},
      {"reason",
       "the votes are epsilon-DP; complexity and margins are read off the rows as they are"},
      {"release", "no release: a reference for comparison"}};
  std::cout << (flags.json ? report.dump() + "\n" : lab::ReportText(report)) << std::flush;
  return std::cout ? OkStatus() : UnavailableError("the result could not be written to stdout");
}

}  // namespace coppice::research
