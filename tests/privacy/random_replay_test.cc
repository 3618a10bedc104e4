// Runs every trainer twice, as in replayed_trainer_test, on neighbours drawn at random: schemas,
// rows, settings, epsilon, delta, and the place of the extra row: front, middle or end. A residual
// that depends on a row's position moves for all rows after the extra one, which an appended row
// does not show.
//
//   export COPPICE_REPLAYS=10000 COPPICE_REPLAY_SEED=1
//   build/release/tests/privacy_tests --file=random_replay_test
//
// Run i has the seed COPPICE_REPLAY_SEED + i, which a failure prints; with COPPICE_REPLAYS=1 that
// seed repeats the run.

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/concentrated.h"
#include "common/privacy/noisy_sums.h"
#include "server/trainers/boosting/public/public_start.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/privacy/replayed_releases.h"
#include "tests/server/trainers/tables.h"
#include "tests/support/seeded_random.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using testing::Categorical;
using testing::Numeric;
using testing::PartOfSensitivity;
using testing::RandomValue;
using testing::Recorder;
using testing::ReleaseRequest;
using testing::SeededRandom;

constexpr uint64_t kFixedReplays = 2000;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  uint64_t number = otherwise;
  if (text != nullptr && !SimpleAtoi(text, &number)) {
    ADD_FAILURE() << name << " must be a whole number, not \"" << text << "\"";
  }
  return number;
}

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}

  int Whole(int from, int to) { return std::uniform_int_distribution<>(from, to)(engine_); }
  double Share() { return std::uniform_real_distribution<>(0, 1)(engine_); }
  bool Chance(double probability) { return Share() < probability; }
  template <typename T>
  T OneOf(std::initializer_list<T> values) {
    return values.begin()[Whole(0, static_cast<int>(values.size()) - 1)];
  }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

enum class Place { kFront, kMiddle, kEnd };

// Bounds of the coins that assign rows to parts, one coin per row, in the settings below. No other
// coin has such a bound before all rows have theirs.
constexpr uint64_t kGroups = 13;
constexpr uint64_t kTwoBoostedTrees = (uint64_t{1} << 40) + (uint64_t{1} << 39);
constexpr uint64_t kMillionths = 1'000'000;

// Tells which coin is the extra row's: number `row` of each round of `rows` coins below `bound`, or
// of the first round alone unless `again`.
struct ExtraCoin {
  uint64_t bound = 0;
  uint64_t row = 0;
  uint64_t rows = 0;
  bool again = false;
};

// Coins below each bound are a stream of their own, and so are the extra row's, so all other rows
// get the same coins with it and without it. This couples two runs of one seed as the proof does,
// which fixes the coins of the rows that both tables have.
class CoupledCoins final : public PrivateRandom {
 public:
  CoupledCoins(uint64_t seed, std::optional<ExtraCoin> extra) : seed_(seed), extra_(extra) {}

  StatusOr<uint64_t> UniformBelow(uint64_t bound) override {
    if (bound == 0) return InvalidArgumentError("bound");
    if (extra_ && extra_->bound == bound) {
      const uint64_t number = drawn_++;
      if (number % extra_->rows == extra_->row && (extra_->again || number < extra_->rows)) {
        return StreamOf(0).UniformBelow(bound);
      }
    }
    return StreamOf(bound).UniformBelow(bound);
  }
  StatusOr<bool> Bernoulli(uint64_t numerator, uint64_t denominator) override {
    if (denominator == 0 || numerator > denominator) return InvalidArgumentError("fraction");
    return *UniformBelow(denominator) < numerator;
  }
  StatusOr<uint64_t> Binomial(uint64_t, uint32_t) override {
    return UnimplementedError("no trainer draws it");
  }
  Status Geometric(const GeometricTable&, absl::Span<SignedSteps>) override {
    return UnimplementedError("no trainer draws it");
  }

 private:
  SeededRandom& StreamOf(uint64_t bound) {
    return streams_.try_emplace(bound, seed_ * 1'000'003 + bound).first->second;
  }

  const uint64_t seed_;
  const std::optional<ExtraCoin> extra_;
  std::map<uint64_t, SeededRandom> streams_;
  uint64_t drawn_ = 0;
};

struct Example {
  Row row;
  uint32_t label = 0;
  double target = 0;
};

// Two tables and a job, all drawn from one seed.
class RandomCase {
 public:
  RandomCase(const trainers::Trainer& trainer, uint64_t seed, std::optional<Place> place)
      : info_(trainer.info()), seed_(seed), dice_(seed) {
    const bool regression = !info_.classification || (info_.regression && dice_.Chance(0.35));
    classes_ = dice_.OneOf({2, 2, 2, dice_.Whole(3, 5), dice_.Whole(6, 20)});
    schema_ = DrawSchema(regression);
    usual_ = DrawRow();
    skewed_ = dice_.Chance(0.4);
    const size_t rows = DrawSize();
    for (size_t i = 0; i < rows; ++i) examples_.push_back(DrawExample());
    place_ = place.value_or(dice_.OneOf({Place::kFront, Place::kMiddle, Place::kEnd}));
    at_ = place_ == Place::kFront ? 0
          : place_ == Place::kEnd ? rows
                                  : static_cast<size_t>(dice_.Whole(0, static_cast<int>(rows)));
    extra_ = DrawExample();
    DrawOptions();
  }

  Place place() const { return place_; }
  const trainers::TrainOptions& options() const { return options_; }
  bool with_delta() const { return options_.delta_atto > 0; }

  // The table without the extra row, or with its first label.
  Table Base() const {
    std::vector<Example> examples = examples_;
    if (changes_label()) examples.insert(examples.begin() + Offset(), extra_);
    return ToTable(examples);
  }
  // The table with the extra row, or with its other label.
  Table Neighbour() const {
    std::vector<Example> examples = examples_;
    Example extra = extra_;
    if (changes_label()) extra.label = (extra.label + 1) % static_cast<uint32_t>(classes_);
    examples.insert(examples.begin() + Offset(), extra);
    return ToTable(examples);
  }
  CoupledCoins BaseCoins() const { return {seed_, std::nullopt}; }
  CoupledCoins NeighbourCoins() const { return {seed_, changes_label() ? std::nullopt : coin_}; }

  std::string Description() const {
    std::string text =
        StrCat(info_.name, ", seed ", seed_, ", ", examples_.size(), " rows, the extra one at ",
               at_, ", ", classes_, " classes, epsilon ", options_.epsilon->ToString(), ", delta ",
               options_.delta_atto, "e-18");
    for (const auto& [name, value] : options_.settings) {
      StrAppend(&text, ", ", name, "=", value);
    }
    if (options_.public_rows) {
      StrAppend(&text, ", ", options_.public_rows->num_rows(), " public rows");
    }
    if (options_.concentrated) StrAppend(&text, ", in rho");
    return text;
  }

 private:
  bool changes_label() const { return info_.neighbours == Neighbours::kChangeLabel; }
  bool States(std::string_view name) const {
    return std::any_of(
        info_.parameters.begin(), info_.parameters.end(),
        [name](const trainers::Parameter& parameter) { return parameter.name == name; });
  }
  std::ptrdiff_t Offset() const { return static_cast<std::ptrdiff_t>(at_); }

  Feature DrawFeature(const std::string& name, double categorical) {
    if (dice_.Chance(categorical)) {
      std::vector<std::string> values;
      for (int v = dice_.Whole(1, 12); v > 0; --v) values.push_back(StrCat("v", v));
      return Categorical(name, values);
    }
    const auto [min, max] =
        dice_.OneOf<std::pair<double, double>>({{-1, 1}, {0, 100}, {3, 3}, {-7, 2}, {1e-9, 2e-9}});
    return Numeric(name, min, max);
  }
  std::shared_ptr<const Schema> DrawSchema(bool regression) {
    const double categorical = dice_.OneOf({0.0, 0.5, 0.9});
    std::vector<Feature> features;
    for (int f = dice_.Whole(1, 6); f > 0; --f) {
      features.push_back(DrawFeature(StrCat("f", f), categorical));
    }
    if (regression) {
      return std::make_shared<const Schema>(
          *Schema::CreateRegression(features, "y", {.min = -2, .max = 6}));
    }
    std::vector<std::string> classes;
    for (int c = 0; c < classes_; ++c) classes.push_back(StrCat("c", c));
    return std::make_shared<const Schema>(*Schema::Create(features, "y", classes));
  }
  size_t DrawSize() {
    const double kind = dice_.Share();
    if (kind < 0.15) return static_cast<size_t>(dice_.Whole(0, 3));
    if (kind < 0.75) return static_cast<size_t>(dice_.Whole(4, 60));
    return static_cast<size_t>(kind < 0.95 ? dice_.Whole(100, 1500) : dice_.Whole(1500, 6000));
  }
  Row DrawRow() {
    Row row;
    for (const Feature& feature : schema_->features()) {
      row.push_back(RandomValue(feature, /*missing=*/0.08, dice_.engine()));
    }
    return row;
  }
  // Draws some rows alike, some numbers at an end of their range, and some labels missing.
  Example DrawExample() {
    Example example{.row = dice_.Chance(0.3) ? usual_ : DrawRow()};
    example.target = dice_.OneOf({-2.0, 6.0, -2 + 8 * dice_.Share(), -2 + 8 * dice_.Share()});
    example.label =
        skewed_ && dice_.Chance(0.95) ? 0 : static_cast<uint32_t>(dice_.Whole(0, classes_ - 1));
    if (!changes_label() && dice_.Chance(0.07)) example.label = kUnlabelled;
    return example;
  }

  void Set(const std::string& name, const std::string& value) { options_.settings[name] = value; }
  // Sets the value with probability one half, if the trainer has such a setting.
  void SetSome(const std::string& name, const std::string& value) {
    if (States(name) && dice_.Chance(0.5)) Set(name, value);
  }
  void DrawOptions() {
    options_.epsilon = *Budget::Parse(dice_.OneOf({"0.1", "1", "3", "20"}));
    if (info_.delta && dice_.Chance(0.5)) options_.delta_atto = 1'000'000'000'000;
    for (const trainers::Parameter& parameter : info_.parameters) {
      if (parameter.type == trainers::ParameterType::kChoice) {
        SetSome(parameter.name, parameter.choices[static_cast<size_t>(dice_.Whole(
                                    0, static_cast<int>(parameter.choices.size()) - 1))]);
      }
    }
    SetSome("cuts", StrCat(dice_.Whole(1, 40)));
    SetSome("features", StrCat(dice_.Whole(1, 3)));
    SetSome("bins", StrCat(dice_.Whole(1, 40)));
    SetSome("steps", StrCat(dice_.Whole(1, 12)));
    SetSome("lines", StrCat(0.05 + 0.8 * dice_.Share()));
    SetSome("rounds", StrCat(dice_.Whole(1, 25)));
    SetSome("splits", StrCat(dice_.Whole(1, 6)));
    SetSome("kappa", StrCat(dice_.Chance(0.3) ? 1 : 0.05 + 0.9 * dice_.Share()));
    SetSome("lambda", StrCat(0.05 + 3 * dice_.Share()));
    SetSome("structure", StrCat(0.1 + 0.8 * dice_.Share()));
    SetSome("medians", StrCat(0.1 + 0.8 * dice_.Share()));
    SetSome("learning_rate", StrCat(0.1 + 0.9 * dice_.Share()));
    SetSome("labelled", dice_.Chance(0.5) ? "1" : "0.5");
    if (States("depth")) Set("depth", StrCat(dice_.Whole(0, 4)));
    if (info_.name == "dpboost") {
      DrawBoosting();
    } else if (States("rows")) {
      DrawForest();
    }
    if (info_.public_rows && dice_.Chance(0.25)) DrawPublicRows();
  }
  // Enough for lines or not, or so few that they are refused.
  void DrawPublicRows() {
    std::vector<Example> examples;
    for (int row = dice_.Whole(18, 80); row > 0; --row) {
      Example& example = examples.emplace_back(DrawExample());
      example.label = static_cast<uint32_t>(dice_.Whole(0, classes_ - 1));
    }
    options_.public_rows = std::make_shared<const Table>(ToTable(examples));
    options_.concentrated = with_delta() && dice_.Chance(0.4);
  }
  void DrawBoosting() {
    if (options_.settings["filtering"] == "none") Set("filtering", "drop");  // not private
    if (schema_->target() || classes_ > 2) options_.settings.erase("loss");
    Set("scheme", dice_.OneOf({"seq", "dpboost", "para"}));
    if (options_.settings["scheme"] == "seq") {
      Set("trees", "6");
      return;
    }
    const int ensembles = dice_.Whole(1, 3);  // of two trees each, one coin per row
    Set("trees", StrCat(2 * ensembles));
    Set("ensembles", StrCat(ensembles));
    Set("learning_rate", "0.5");
    coin_ = {kTwoBoostedTrees, at_, examples_.size() + 1, /*again=*/true};
  }
  void DrawForest() {
    const bool groups = dice_.Chance(0.6);
    Set("rows", groups ? "groups" : "all");
    Set("trees", groups ? StrCat(kGroups) : "3");
    if (groups) coin_ = {kGroups, at_, examples_.size() + 1};
    if (info_.name != "sspe1") return;
    // sspe1 first divides rows into those whose label counts and the others, then each side into
    // groups: two coins per row. One of the two is made the same for all rows here.
    if (!groups) {
      coin_ = {kMillionths, at_, examples_.size() + 1};
      return;
    }
    Set("labelled", "1");
    coin_->row = PlaceAmongSides();
  }
  // The extra row's place if rows without a label come first.
  uint64_t PlaceAmongSides() const {
    const bool labelled = extra_.label != kUnlabelled || schema_->target();
    uint64_t place = 0;
    for (size_t i = 0; i < examples_.size(); ++i) {
      const bool other = examples_[i].label != kUnlabelled || schema_->target();
      if (other == labelled ? i < at_ : labelled) ++place;
    }
    return place;
  }

  Table ToTable(const std::vector<Example>& examples) const {
    Table table(schema_);
    for (const Example& example : examples) {
      if (schema_->target()) {
        table.AppendTarget(example.row, example.target);
      } else {
        table.Append(example.row, example.label);
      }
    }
    return table;
  }

  const trainers::AlgorithmInfo& info_;
  const uint64_t seed_;
  Dice dice_;
  int classes_ = 2;
  bool skewed_ = false;
  std::shared_ptr<const Schema> schema_;
  Row usual_;
  std::vector<Example> examples_;
  Example extra_;
  Place place_ = Place::kFront;
  size_t at_ = 0;
  trainers::TrainOptions options_;
  std::optional<ExtraCoin> coin_;
};

// How far two runs could be told apart.
struct ReplayResult {
  bool ran = false;  // else epsilon was too small to be divided, for both tables
  std::string wrong{};
  double largest_part = 0;  // of a release's sensitivity
  double epsilon = 0;       // of all releases, each weighed by how far it moved
  double rho = 0;
};

// The part of its budget that a job showed. Pure-epsilon releases that are composed through their
// delta (lazybb) are each checked alone: they may add up to more than epsilon.
double ShareOfBudget(const ReplayResult& seen, const RandomCase& random_case) {
  const Budget& epsilon = *random_case.options().epsilon;
  if (seen.rho == 0) return seen.epsilon / epsilon.epsilon();
  const auto spent = static_cast<uint64_t>(seen.epsilon * Budget::kNanosPerEpsilon);
  const auto left = Budget::FromNanos(epsilon.nanos() - std::min(spent, epsilon.nanos()));
  if (!left.ok()) return seen.epsilon / epsilon.epsilon() + 1;
  const auto most = Rho::Implying(*left, random_case.options().delta_atto);
  return most.ok() ? seen.rho * 1e12 / static_cast<double>(most->picos()) : 2;
}

void Compare(const ReleaseRequest& one, const ReleaseRequest& other, bool with_delta,
             ReplayResult& seen) {
  if (one.sums.size() != other.sums.size() || one.sensitivity != other.sensitivity ||
      one.amount != other.amount || one.in_rho != other.in_rho || one.selects != other.selects ||
      one.exponential != other.exponential) {
    seen.wrong = "the runs ask for different releases";
    return;
  }
  const double part = PartOfSensitivity(one, other);
  seen.largest_part = std::max(seen.largest_part, part);
  const double epsilon = static_cast<double>(one.amount) / Budget::kNanosPerEpsilon;
  if (one.in_rho) {
    seen.rho += part * static_cast<double>(one.amount) / 1e12;
  } else if (one.exponential && with_delta) {
    seen.rho += part * epsilon * part * epsilon / 8;
  } else {
    seen.epsilon += part * epsilon;
  }
}

ReplayResult Replay(const trainers::Trainer& trainer, const RandomCase& random_case,
                    Recorder& recorder) {
  const auto go_on = [](double) { return OkStatus(); };
  CoupledCoins coins = random_case.BaseCoins();
  const Status base =
      trainer.Train(random_case.Base(), random_case.options(), coins, go_on).status();
  const std::vector<ReleaseRequest> first = recorder.Replay();
  CoupledCoins more_coins = random_case.NeighbourCoins();
  const Status neighbour =
      trainer.Train(random_case.Neighbour(), random_case.options(), more_coins, go_on).status();
  const std::vector<ReleaseRequest> second = recorder.Replay();
  ReplayResult seen{.ran = base.ok()};
  if (base != neighbour) {
    seen.wrong = StrCat("one run: ", base.ToString(), ", the other: ", neighbour.ToString());
  } else if (first.size() != second.size()) {
    seen.wrong = "one run releases more often";
  }
  for (size_t i = 0; i < first.size() && seen.wrong.empty(); ++i) {
    Compare(first[i], second[i], random_case.with_delta(), seen);
  }
  if (seen.wrong.empty() && seen.largest_part > 1 + 1e-12) {
    seen.wrong = StrCat("a release moves by ", seen.largest_part, " of its sensitivity");
  }
  const bool composes_pure = random_case.with_delta() && seen.rho == 0;
  if (seen.wrong.empty() && !composes_pure && ShareOfBudget(seen, random_case) > 1 + 1e-9) {
    seen.wrong =
        StrCat("all releases show ", ShareOfBudget(seen, random_case), " of what was charged");
  }
  return seen;
}

ReplayResult Replay(const trainers::Trainer& trainer, const RandomCase& random_case,
                    uint64_t seed) {
  Recorder recorder(seed);
  if (seed % 3 == 0) recorder.SelectAnything();
  return Replay(trainer, random_case, recorder);
}

std::vector<const trainers::Trainer*> PrivateTrainers() {
  std::vector<const trainers::Trainer*> trainers;
  for (const trainers::Trainer* trainer : trainers::AllTrainers()) {
    if (trainer->info().is_private) trainers.push_back(trainer);
  }
  return trainers;
}

TEST(RandomReplayTest, NoTrainerLosesMoreThanItsChargeWhereverTheRowStands) {
  const uint64_t replays = FromEnvironment("COPPICE_REPLAYS", kFixedReplays);
  const uint64_t first_seed = FromEnvironment("COPPICE_REPLAY_SEED", 1);
  std::cout << replays << " replays from seed " << first_seed << "\n";
  const std::vector<const trainers::Trainer*> trainers = PrivateTrainers();
  ASSERT_GT(trainers.size(), 10u);
  std::map<std::string, double> largest;
  std::map<std::string, std::set<Place>> places;
  for (uint64_t seed = first_seed; seed < first_seed + replays; ++seed) {
    const trainers::Trainer& trainer = *trainers[seed % trainers.size()];
    const RandomCase random_case(trainer, seed, /*place=*/std::nullopt);
    const ReplayResult seen = Replay(trainer, random_case, seed);
    EXPECT_EQ(seen.wrong, "") << random_case.Description();
    if (!seen.ran) continue;
    double& most = largest[trainer.info().name];
    most = std::max(most, seen.largest_part);
    places[trainer.info().name].insert(random_case.place());
  }
  for (const auto& [name, most] : largest) std::cout << name << ": " << most << "\n";
  if (replays < kFixedReplays) return;  // too few runs to have seen everything
  for (const trainers::Trainer* trainer : trainers) {
    const std::string& name = trainer->info().name;
    EXPECT_EQ(places[name].size(), 3u) << name;
    EXPECT_GT(largest[name], 0.6) << name << ": the rows drawn show little of what one can do";
  }
}

// Releases one sum of a residual that depends on the parity of a row's number: noise for a change
// by one suffices only if rows are appended.
class PositionDependentTrainer final : public trainers::Trainer {
 public:
  const trainers::AlgorithmInfo& info() const override { return info_; }
  StatusOr<std::vector<Release>> Plan(const Schema&, const trainers::TrainOptions&) const override {
    return std::vector<Release>();
  }
  StatusOr<std::vector<std::string>> Warnings(const Schema&,
                                              const trainers::TrainOptions&) const override {
    return std::vector<std::string>();
  }
  StatusOr<Model> Train(const RowBlocks& rows, const trainers::TrainOptions& options,
                        PrivateRandom& random, const trainers::TrainProgress&) const override {
    COPPICE_ASSIGN_OR_RETURN(const std::vector<uint32_t> labels, ReadLabels(rows));
    int64_t sum = 0;
    for (size_t row = 0; row < labels.size(); ++row) {
      sum += (row % 2 == 0 ? 1 : -1) * (labels[row] == 0 ? 1 : -1);
    }
    const auto released = ReleaseSums({sum}, /*sensitivity=*/1, *options.epsilon, random);
    if (!released.ok()) return released.status();
    return InternalError("makes no model");
  }

 private:
  trainers::AlgorithmInfo info_ = {
      .name = "position dependent", .summary = "", .source = "", .parameters = {}};
};

size_t CountFound(std::optional<Place> place) {
  const PositionDependentTrainer trainer;
  size_t found = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const ReplayResult seen = Replay(trainer, RandomCase(trainer, seed, place), seed);
    found += seen.wrong.empty() ? 0 : 1;
  }
  return found;
}

TEST(RandomReplayTest, AResidualThatDependsOnWhereARowStandsIsFound) {
  EXPECT_GT(CountFound(/*place=*/std::nullopt), 15u);
  EXPECT_GT(CountFound(Place::kFront), 30u);
  EXPECT_EQ(CountFound(Place::kEnd), 0u) << "which is why rows are not only appended";
}

}  // namespace
}  // namespace coppice
