// Writes models of every algorithm in every format, with rows and our reader's answers to them.
//
//   sample_models FOLDER ROWS
//
// FOLDER/NAME has model.json, model.onnx, model.h, model.sql and model.xgboost.json (a format that
// refuses the model has its name with .refused instead); rows as users have them, "exact" in
// doubles and "single" in doubles that are float32 values; and for each, row by row, the label and
// the probabilities, or the number. Rows have missing values, values on thresholds, one ulp off and
// beyond bounds, fractions where whole numbers are due, and codes of no category.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/export/formats.h"
#include "common/schema/number.h"
#include "server/lab/simulation/experiment.h"
#include "server/trainers/registry.h"
#include "tests/runtimes/random_model.h"
#include "tests/support/schemas.h"
#include "tests/support/seeded_random.h"

namespace coppice {
namespace {

namespace fs = std::filesystem;
using testing::Categorical;
using testing::Numeric;
using testing::RandomModelMaker;
using testing::RandomModelOptions;
using testing::SeededRandom;
using testing::Whole;

constexpr size_t kTrainingRows = 3000;
constexpr char kHostile[] = "*/ \"yes\"\n?\?/ \xc3\xa9\\";

std::vector<Feature> Features() {
  return {Numeric("x1", 0, 1),
          Numeric("x2", -5, 5.5),
          Whole("age", 0, 100),
          Whole("change", -20, 20),
          Numeric("fixed", 3, 3),
          Numeric("big", 1e6, 1e9),
          Categorical("job", {"clerk", "nurse", "cook", kHostile})};
}

// `classes` is 2, 5, or 0 to predict a number.
std::shared_ptr<const Schema> SchemaOf(uint32_t classes) {
  if (classes == 0) {
    return std::make_shared<const Schema>(
        *Schema::CreateRegression(Features(), "price", {.min = -10, .max = 40}));
  }
  std::vector<std::string> names = {"no", kHostile, "maybe", "never", "c5"};
  names.resize(classes);
  return std::make_shared<const Schema>(*Schema::Create(Features(), "buys", names));
}

class Rows {
 public:
  explicit Rows(uint64_t seed) : engine_(seed) {}

  double Unit() { return std::uniform_real_distribution<>(0, 1)(engine_); }
  bool Chance(double p) { return Unit() < p; }
  size_t Below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(engine_);
  }

  double Valid(const Feature& feature) {
    if (Chance(0.05)) return kMissingValue;
    if (feature.type == FeatureType::kCategorical) {
      return static_cast<double>(Below(feature.values.size() + 1));
    }
    const double value = feature.min + Unit() * (feature.max - feature.min);
    return feature.integer ? std::round(value) : value;
  }

  Table Training(const std::shared_ptr<const Schema>& schema) {
    Table table(schema);
    for (size_t i = 0; i < kTrainingRows; ++i) {
      Row row;
      for (const Feature& feature : schema->features()) row.push_back(Valid(feature));
      const auto of = [&](size_t f) { return std::isnan(row[f]) ? 0.0 : row[f]; };
      const double number = 12 * of(0) + of(1) + of(2) / 20 + (of(6) == 1 ? 6 : 0) + 3 * Unit();
      if (schema->target()) {
        table.AppendTarget(row, std::clamp(number, -10.0, 40.0));
      } else {
        const double share = std::clamp(number / 26, 0.0, 0.999);
        table.Append(row, static_cast<uint32_t>(share * schema->num_classes()));
      }
    }
    return table;
  }

  // Draws a value as a user may have it. `single`: float32 values, and known codes or "other".
  double Raw(const Feature& feature, const std::vector<double>& cuts, bool single) {
    if (Chance(0.07)) return kMissingValue;
    if (feature.type == FeatureType::kCategorical) {
      if (single || Chance(0.8)) return static_cast<double>(Below(feature.values.size() + 1));
      return std::vector<double>{-1, 0.5, feature.other() + 1, 1e9, 2.25}[Below(5)];
    }
    double value = feature.min + (1.4 * Unit() - 0.2) * (feature.max - feature.min);
    if (feature.integer && Chance(0.5))
      value = std::floor(value) + 0.5 * static_cast<int>(Below(3));
    if (!cuts.empty() && Chance(0.3)) value = Beside(cuts[Below(cuts.size())], single);
    if (Chance(0.02)) value = Chance(0.5) ? 1e30 : -1e30;
    return single ? static_cast<float>(value) : value;
  }

 private:
  double Beside(double cut, bool single) {
    const double to = static_cast<double>(Below(3)) - 1;  // -1, 0, 1
    if (to == 0) return cut;
    if (!single) return std::nextafter(cut, to * 1e300);
    return std::nextafter(static_cast<float>(cut), static_cast<float>(to) * 1e30f);
  }

  std::mt19937_64 engine_;
};

// Returns the values that each feature is compared with in the whole model.
std::vector<std::vector<double>> CutsOf(const Model& model) {
  std::vector<std::set<double>> cuts(model.tree_schema().num_features());
  for (const Tree& tree : model.forest()) {
    for (const Node& node : tree.nodes()) {
      if (node.kind == SplitKind::kNumeric) cuts[node.feature].insert(node.threshold);
    }
  }
  std::vector<std::vector<double>> lists;
  for (const std::set<double>& of_feature : cuts) {
    lists.emplace_back(of_feature.begin(), of_feature.end());
  }
  return lists;
}

// Encodes as every text is encoded for the model.
double Encode(const Schema& schema, size_t feature, double raw) {
  if (IsMissing(raw)) return raw;
  const Feature& f = schema.features()[feature];
  if (f.type == FeatureType::kNumeric) return schema.Encode(feature, ShortestNumber(raw))->value;
  const bool is_code = raw >= 0 && raw < f.other() && raw == std::floor(raw);
  return is_code ? raw : f.other();
}

void Write(const fs::path& path, const std::vector<double>& numbers) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(numbers.data()),
               static_cast<std::streamsize>(numbers.size() * sizeof(double)));
}

void WriteRows(const fs::path& folder, const Model& model, size_t count, bool single) {
  Rows rows(single ? 2 : 1);
  const std::vector<std::vector<double>> cuts = CutsOf(model);
  std::vector<double> raw, answers;
  Row row(model.schema().num_features());
  for (size_t i = 0; i < count; ++i) {
    for (size_t f = 0; f < row.size(); ++f) {
      raw.push_back(rows.Raw(model.schema().features()[f], cuts[f], single));
      row[f] = Encode(model.schema(), f, raw.back());
    }
    const Prediction prediction = model.Predict(row);
    if (model.schema().target()) {
      answers.push_back(prediction.value);
      continue;
    }
    answers.push_back(prediction.label);
    for (const double p : prediction.probabilities) answers.push_back(p);
  }
  const std::string name = single ? "single" : "exact";
  Write(folder / StrCat(name, ".rows"), raw);
  Write(folder / StrCat(name, ".answers"), answers);
}

class Samples {
 public:
  Samples(fs::path folder, size_t rows) : folder_(std::move(folder)), rows_(rows) {}

  void Add(const std::string& name, const StatusOr<Model>& model) {
    if (!model.ok()) {
      std::cerr << name << ": " << model.status().message() << "\n";
      failed_ = true;
      return;
    }
    const fs::path folder = folder_ / name;
    fs::create_directories(folder);
    for (const auto& [format, file] : {std::pair("json", "model.json"),
                                       {"onnx", "model.onnx"},
                                       {"c", "model.h"},
                                       {"sql", "model.sql"},
                                       {"xgboost", "model.xgboost.json"}}) {
      const StatusOr<std::string> bytes = formats::ExportModel(*model, "sample", format);
      const std::string ending = bytes.ok() ? "" : ".refused";
      std::ofstream(folder / StrCat(file, ending), std::ios::binary)
          << (bytes.ok() ? *bytes : std::string(bytes.status().message()));
    }
    WriteRows(folder, *model, rows_, /*single=*/false);
    WriteRows(folder, *model, rows_, /*single=*/true);
  }

  bool failed() const { return failed_; }

 private:
  const fs::path folder_;
  const size_t rows_;
  bool failed_ = false;
};

void AddTrained(const trainers::Trainer& trainer, uint32_t classes, Samples& samples) {
  const Table table = Rows(17 + classes).Training(SchemaOf(classes));
  trainers::TrainOptions options;
  if (trainer.info().is_private) options.epsilon = *Budget::FromEpsilon(4);
  // An algorithm for two classes only says so before it looks at a row.
  if (classes > 2 && !trainer.Plan(table.schema(), options).ok()) return;
  SeededRandom random(5);
  samples.Add(StrCat(trainer.info().name, "-", classes == 0 ? "number" : StrCat(classes)),
              trainer.Train(table, options, random, [](double) { return OkStatus(); }));
}

StatusOr<Model> BuildFromStudy(curator::EstimatorKind kind, uint32_t classes, uint32_t trees) {
  Rows rows(classes + 40);
  const std::shared_ptr<const Schema> schema = SchemaOf(classes);
  const Table public_rows = rows.Training(schema).Select(
      std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  const Table private_rows = rows.Training(schema);
  lab::CollectOptions options;
  options.partition.rule = curator::SplitRule::kHybrid;
  options.partition.trees = trees;
  options.epsilon = *Budget::FromEpsilon(4);
  options.mechanism = MechanismKind::kDirect;
  PublicRandom assignment(3);
  SeededRandom noise(4);
  StatusOr<lab::SimulatedStudy> study =
      lab::Collect(public_rows, private_rows, options, assignment, noise);
  if (!study.ok()) return study.status();
  curator::EstimatorOptions estimator;
  estimator.kind = kind;
  estimator.max_depth = 6;
  StatusOr<lab::ForestPredictions> leaves = lab::EstimateForest(*study, public_rows, estimator);
  if (!leaves.ok()) return leaves.status();
  const bool pooled = kind == curator::EstimatorKind::kPooled;
  return Model::Create(*schema, study->forest, *std::move(leaves), Certificate{},
                       pooled ? LeafKind::kAdditive : LeafKind::kProbabilities);
}

void AddRandom(const std::string& name, const RandomModelOptions& options, Samples& samples) {
  for (const uint32_t classes : {2u, 5u, 0u}) {
    const std::shared_ptr<const Schema> schema = SchemaOf(classes);
    samples.Add(StrCat("random-", name, "-", classes == 0 ? "number" : StrCat(classes)),
                RandomModelMaker(*schema, options).Make());
  }
}

void AddRandom(Samples& samples) {
  for (const auto& [name, kind] : {std::pair("probabilities", LeafKind::kProbabilities),
                                   {"additive", LeafKind::kAdditive},
                                   {"weights", LeafKind::kWeights},
                                   {"scores", LeafKind::kScores}}) {
    AddRandom(name, {.kind = kind}, samples);
    AddRandom(StrCat(name, "-derived"), {.kind = kind, .derived = true, .seed = 2}, samples);
  }
  AddRandom("one-tree", {.kind = LeafKind::kProbabilities, .trees = 1}, samples);
  AddRandom("one-leaf", {.trees = 1, .max_leaves = 1}, samples);
  AddRandom("chain", {.trees = 2, .max_leaves = kMaxModelDepth, .chain = true}, samples);
  AddRandom("large-scores", {.trees = 4, .scale = 2000}, samples);
  AddRandom("large-weights", {.kind = LeafKind::kWeights, .scale = 1e15}, samples);
}

void AddAll(Samples& samples) {
  AddRandom(samples);
  for (const trainers::Trainer* trainer : trainers::AllTrainers()) {
    // They are as large as random_forest's, and have nothing that those lack.
    if (trainer->info().name == "extra_trees") continue;
    if (trainer->info().classification) {
      AddTrained(*trainer, 2, samples);
      AddTrained(*trainer, 5, samples);
    }
    if (trainer->info().regression) AddTrained(*trainer, 0, samples);
  }
  using curator::EstimatorKind;
  for (const uint32_t classes : {2u, 5u}) {
    samples.Add(StrCat("study-weighted-", classes),
                BuildFromStudy(EstimatorKind::kWeighted, classes, 1));
    samples.Add(StrCat("study-prune-", classes), BuildFromStudy(EstimatorKind::kPrune, classes, 1));
    samples.Add(StrCat("study-forest-", classes),
                BuildFromStudy(EstimatorKind::kWeighted, classes, 16));
    samples.Add(StrCat("study-pooled-", classes),
                BuildFromStudy(EstimatorKind::kPooled, classes, 16));
  }
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) {
  size_t rows = 0;
  if (argc != 3 || !coppice::SimpleAtoi(argv[2], &rows)) {
    std::cerr << "usage: sample_models FOLDER ROWS\n";
    return 2;
  }
  coppice::Samples samples(argv[1], rows);
  coppice::AddAll(samples);
  return samples.failed() ? 1 : 0;
}
