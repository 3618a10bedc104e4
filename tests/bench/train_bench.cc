// Measures time and memory of one training on synthetic numeric rows, by number of rows: one
// process per size, so that each has its own peak. Prints rows, processor seconds, and peak memory
// as a multiple of the table's columns.
//
//   train_bench [--algorithm spe] [--features 18] [--depth 5] [--rows 50000,500000,5000000]

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/bench/uniform_rows.h"

namespace coppice {
namespace {

struct Flags {
  std::string algorithm = "spe";
  size_t features = 18;
  std::string depth = "5";
  std::vector<size_t> rows = {50'000, 160'000, 500'000, 1'600'000, 5'000'000};
};

// The class is whether the first two numbers add up to more than one.
Table MakeRows(size_t features, size_t rows) {
  return MakeUniformRows(features, rows,
                         [](const Row& row) { return row[0] + row[1 % row.size()] > 1; });
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

int Measure(const Flags& flags, size_t rows) {
  const Table table = MakeRows(flags.features, rows);
  OpenSslRandom random;
  const double start = CpuSeconds();
  const auto model =
      (*trainers::FindTrainer(flags.algorithm))
          ->Train(table, {.epsilon = *Budget::Parse("1"), .settings = {{"depth", flags.depth}}},
                  random, [](double) { return OkStatus(); });
  const double seconds = CpuSeconds() - start;
  if (!model.ok()) {
    std::cerr << model.status() << "\n";
    return 1;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double table_kib = static_cast<double>(rows * flags.features * sizeof(double)) / 1024;
  std::printf("%zu %.3f %.2f\n", rows, seconds, static_cast<double>(usage.ru_maxrss) / table_kib);
  return 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Time and memory of training as rows become more", "train_bench");
  app.add_option("--algorithm", flags.algorithm)->capture_default_str();
  app.add_option("--features", flags.features)->capture_default_str();
  app.add_option("--depth", flags.depth)->capture_default_str();
  app.add_option("--rows", flags.rows)->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  std::printf("rows seconds memory\n");
  for (const size_t rows : flags.rows) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      const int failed = Measure(flags, rows);
      std::fflush(stdout);
      _exit(failed);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
