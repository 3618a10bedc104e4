// Measures time and memory of one training on synthetic numeric rows, by number of rows: one
// process per size, so that each has its own peak. The rows are made anew whenever they are read,
// as a daemon reads them from its store. Prints rows, processor seconds without those of making
// rows, how many bytes a row the process grew by, and the processor seconds of the thread that
// trains, which waits for the others: how long a machine takes that has a core for each.
//
//   train_bench [--algorithm spe] [--features 18] [--set depth=5 ...] [--rows 50000,500000,5000000]
//               [--threads 2]

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/model/model.h"
#include "common/privacy/openssl_random.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/bench/uniform_rows.h"

namespace coppice {
namespace {

struct Flags {
  std::string algorithm = "spe";
  size_t features = 18;
  std::vector<std::string> settings = {};
  uint32_t threads = 1;
  std::vector<size_t> rows = {50'000, 160'000, 500'000, 1'600'000, 5'000'000};
};

// `whose` is RUSAGE_SELF or RUSAGE_THREAD.
double CpuSeconds(int whose) {
  rusage usage{};
  getrusage(whose, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

// Returns the most memory that the process had so far.
double PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

// The class is whether the first two numbers add up to more than one.
StatusOr<Model> Train(const Flags& flags, const UniformRows& rows) {
  COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* const trainer,
                           trainers::FindTrainer(flags.algorithm));
  trainers::TrainOptions options{.epsilon = *Budget::Parse("1"), .threads = flags.threads};
  for (const std::string& setting : flags.settings) {
    const size_t middle = std::min(setting.find('='), setting.size() - 1);
    options.settings[setting.substr(0, middle)] = setting.substr(middle + 1);
  }
  OpenSslRandom random;
  return trainer->Train(rows, options, random, [](double) { return OkStatus(); });
}

int Measure(const Flags& flags, size_t count) {
  const UniformRows rows(flags.features, count,
                         [](const Row& row) { return row[0] + row[1 % row.size()] > 1; });
  const double idle = PeakBytes();
  const double start = CpuSeconds(RUSAGE_SELF), start_of_thread = CpuSeconds(RUSAGE_THREAD);
  const StatusOr<Model> model = Train(flags, rows);
  const double seconds = CpuSeconds(RUSAGE_SELF) - start - rows.seconds();
  const double of_thread = CpuSeconds(RUSAGE_THREAD) - start_of_thread - rows.seconds();
  if (!model.ok()) {
    std::cerr << model.status() << "\n";
    return 1;
  }
  std::printf("%zu %.3f %.1f %.3f\n", count, seconds,
              (PeakBytes() - idle) / static_cast<double>(count), of_thread);
  return 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Time and memory of training as rows become more", "train_bench");
  app.add_option("--algorithm", flags.algorithm)->capture_default_str();
  app.add_option("--features", flags.features)->capture_default_str();
  app.add_option("--set", flags.settings, "a setting, NAME=VALUE");
  app.add_option("--rows", flags.rows)->delimiter(',');
  app.add_option("--threads", flags.threads, "that work on one model")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::printf("rows seconds bytes thread\n");
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
