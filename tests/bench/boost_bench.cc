// Measures processor time per tree of a boosting trainer from its first report of progress, so
// without reading and binning rows. Prints trees, seconds per tree, and peak memory as a multiple
// of the table's columns. docs/research/boost_speed.sh compares it with XGBoost on the same bins,
// which --dump writes.
//
//   boost_bench [--algorithm dpboost] [--epsilon 1] [--set trees=50 ...] [--rows 1000000]
//               [--features 100] [--data FILE --schema FILE] [--dump FILE]

#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "server/trainers/boosting/boost_columns.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/bench/uniform_rows.h"

namespace coppice {
namespace {

struct Flags {
  std::string algorithm = "dpboost";
  std::string epsilon = "1";
  std::vector<std::string> settings;
  size_t rows = 1'000'000;
  size_t features = 100;
  uint32_t cuts = 31;
  std::string data, schema, dump;
};

// The class depends on ten numbers, most of all on the first.
Table MakeRows(size_t features, size_t rows) {
  return MakeUniformRows(features, rows, [](const Row& row) {
    double sum = 0;
    for (size_t f = 0; f < 10; ++f) sum += row[f % row.size()] * static_cast<double>(10 - f);
    return sum > 27.5;
  });
}

StatusOr<Table> RowsOf(const Flags& flags) {
  if (flags.data.empty()) return MakeRows(flags.features, flags.rows);
  const auto schema = ReadSchema(flags.schema);
  if (!schema.ok()) return schema.status();
  auto file = ReadTable(flags.data, schema->schema, {});
  if (!file.ok()) return file.status();
  return std::move(file->table);
}

// Writes rows, columns and bins as 64-bit numbers, then columns of 16-bit bins and 8-bit labels.
Status Dump(const Table& table, const Flags& flags) {
  auto bins = trainers::PublicBins(table.schema(), flags.cuts);
  if (!bins.ok()) return bins.status();
  std::vector<DerivedFeature> derived;
  if (flags.algorithm == "auto") {
    auto columns = trainers::PublicBoostColumns(table.schema(), trainers::kAllInformation);
    if (!columns.ok()) return columns.status();
    bins = std::move(columns->bins);
    derived = std::move(columns->derived);
  }
  const auto rows = trainers::BinnedRows::Create(table, *std::move(bins), derived);
  if (!rows.ok()) return rows.status();
  uint64_t most = 0;
  for (const trainers::FeatureBins& of_feature : rows->bins()) {
    most = std::max<uint64_t>(most, of_feature.size());
  }
  std::ofstream out(flags.dump, std::ios::binary);
  const uint64_t header[] = {rows->num_rows(), rows->num_features(), most};
  out.write(reinterpret_cast<const char*>(header), sizeof(header));
  for (size_t f = 0; f < rows->num_features(); ++f) {
    std::vector<uint16_t> column(rows->num_rows());
    rows->column(f).Get(0, absl::MakeSpan(column));
    out.write(reinterpret_cast<const char*>(column.data()),
              static_cast<std::streamsize>(column.size() * sizeof(uint16_t)));
  }
  for (const uint32_t label : rows->labels()) out.put(static_cast<char>(label));
  return out.flush() ? OkStatus() : UnknownError("cannot write " + flags.dump);
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

Status Measure(const Table& table, const Flags& flags) {
  trainers::TrainOptions options;
  if (flags.epsilon != "inf") {
    const auto epsilon = Budget::Parse(flags.epsilon);
    if (!epsilon.ok()) return epsilon.status();
    options.epsilon = *epsilon;
  }
  for (const std::string& setting : flags.settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) return InvalidArgumentError("--set takes NAME=VALUE");
    options.settings[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  const auto trainer = trainers::FindTrainer(flags.algorithm);
  if (!trainer.ok()) return trainer.status();
  OpenSslRandom random;
  double start = -1;
  const auto model = (*trainer)->Train(table, options, random, [&](double) {
    if (start < 0) start = CpuSeconds();
    return OkStatus();
  });
  const double end = CpuSeconds();
  if (!model.ok()) return model.status();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double table_kib =
      static_cast<double>(table.num_rows() * table.schema().num_features() * sizeof(double)) / 1024;
  const auto trees = static_cast<double>(model->forest().size());
  std::printf("%.0f %.6f %.2f\n", trees, (end - start) / trees,
              static_cast<double>(usage.ru_maxrss) / table_kib);
  return OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Time per tree of a boosting trainer", "boost_bench");
  app.add_option("--algorithm", flags.algorithm)->capture_default_str();
  app.add_option("--epsilon", flags.epsilon)->capture_default_str();
  app.add_option("--set", flags.settings, "NAME=VALUE");
  app.add_option("--rows", flags.rows)->capture_default_str();
  app.add_option("--features", flags.features)->capture_default_str();
  app.add_option("--cuts", flags.cuts, "of what --dump writes")->capture_default_str();
  app.add_option("--data", flags.data, "CSV instead of synthetic rows");
  app.add_option("--schema", flags.schema);
  app.add_option("--dump", flags.dump, "write the bins here instead of training");
  CLI11_PARSE(app, argc, argv);
  const auto table = RowsOf(flags);
  const Status status = !table.ok()          ? table.status()
                        : flags.dump.empty() ? Measure(*table, flags)
                                             : Dump(*table, flags);
  if (status.ok()) return 0;
  std::cerr << status << "\n";
  return 1;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
