#include "server/lab/scores.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/delta.h"
#include "common/table/read_table.h"
#include "server/trainers/registry.h"

namespace coppice::lab {
namespace {

StatusOr<trainers::Settings> ParseSettings(const std::vector<std::string>& texts) {
  trainers::Settings settings;
  for (const std::string& text : texts) {
    const std::pair<std::string, std::string> parts = StrSplit(text, MaxSplits('=', 1));
    if (parts.first.empty() || !settings.emplace(parts).second) {
      return InvalidArgumentError(StrCat("--set ", text, ": must be name=value, each name once"));
    }
  }
  return settings;
}

}  // namespace

void AddFileFlags(const Command& command, CentralFlags& flags) {
  command.Add("--data", flags.data_file, "rows to train on (CSV, LIBSVM)").Required();
  command.Add("--schema", flags.schema_file, "schema of all files (JSON)").Required();
}

void AddRunFlags(const Command& command, CentralFlags& flags) {
  command
      .Add("--delta", flags.delta,
           "the same for delta, of algorithms that can use one; 0: pure epsilon-DP")
      .Check(
          [](const std::string& text) { return std::string(ParseDelta(text).status().message()); })
      .ShowDefault();
  command.Add("--set", flags.settings,
              "name=value, a parameter of the algorithm; coppice train algorithms describes them");
  const Flag test = command.Add("--test", flags.test_file, "rows to score on");
  command.Add("--holdout", flags.holdout, "share of the rows to score on instead")
      .InRange(0.0, 1.0)
      .Excludes(test)
      .ShowDefault();
  command.AddSwitch("--strict", flags.strict, "refuse values outside the schema");
  command.AddSwitch("--unlabelled", flags.unlabelled, "accept empty labels as rows without one");
  command.Add("--repeats", flags.repeats, "repetitions").InRange(1u, 1'000'000u).ShowDefault();
  command
      .Add(
          "--threads", flags.threads,
          "repetitions at a time; if there are more threads than repetitions, several work on each "
          "model of auto")
      .InRange(1u, 256u)
      .ShowDefault();
  command.Add("--seed", flags.seed, "seed seed of how rows are split; never of noise or groups")
      .ShowDefault();
}

std::string TrainerNames() {
  return StrJoin(trainers::AllTrainers(), ", ",
                 [](std::string* out, const trainers::Trainer* trainer) {
                   StrAppend(out, trainer->info().name);
                 });
}

StatusOr<std::shared_ptr<const Table>> ReadLabRows(const std::string& path,
                                                   const SchemaFile& schema,
                                                   const CentralFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(TableFile file, ReadTable(path, schema.schema,
                                                     {.strict = flags.strict,
                                                      .allow_unlabelled = flags.unlabelled,
                                                      .format = schema.format}));
  const std::string notes = file.notes.Summary();
  if (!notes.empty()) std::cerr << path << ": " << notes << "\n";
  return std::make_shared<const Table>(std::move(file.table));
}

namespace {

StatusOr<RowSource> WithPublicSource(RowSource rows, const SchemaFile& schema,
                                     const CentralFlags& flags) {
  double share = 0;
  if (SimpleAtod(flags.public_source, &share)) {
    if (!(share > 0 && share < 1)) {
      return InvalidArgumentError("--public: a share must be above 0 and below 1");
    }
    return WithPublicShare(std::move(rows), share);
  }
  COPPICE_ASSIGN_OR_RETURN(const auto public_rows, ReadLabRows(flags.public_source, schema, flags));
  return RowSource([rows = std::move(rows), public_rows](uint64_t seed) {
    LabRows drawn = rows(seed);
    drawn.public_rows = public_rows;
    return drawn;
  });
}

}  // namespace

StatusOr<RowSource> ResolveTableRows(const CentralFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile schema, ReadSchema(flags.schema_file));
  COPPICE_ASSIGN_OR_RETURN(const auto rows, ReadLabRows(flags.data_file, schema, flags));
  RowSource source;
  if (flags.test_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(source, HoldOut(nullptr, rows, flags.holdout));
  } else {
    COPPICE_ASSIGN_OR_RETURN(const auto test, ReadLabRows(flags.test_file, schema, flags));
    source = FixedRows({.public_rows = nullptr, .private_rows = rows, .test_rows = test});
  }
  if (flags.public_rows > 0) return WithPublicRows(std::move(source), flags.public_rows);
  if (flags.public_source.empty()) return source;
  return WithPublicSource(std::move(source), schema, flags);
}

StatusOr<trainers::TrainOptions> TrainOptionsOf(const trainers::Trainer& trainer,
                                                const CentralFlags& flags,
                                                std::optional<Budget> epsilon) {
  trainers::TrainOptions options{.epsilon = epsilon,
                                 .threads = std::max(1u, flags.threads / flags.repeats)};
  COPPICE_ASSIGN_OR_RETURN(options.settings, ParseSettings(flags.settings));
  COPPICE_ASSIGN_OR_RETURN(options.delta_atto, ParseDelta(flags.delta));
  if (options.delta_atto > 0 && !trainer.info().delta) {
    return InvalidArgumentError(StrCat("--delta: ", trainer.info().name,
                                       " is pure epsilon-DP and takes no delta; leave it out"));
  }
  return options;
}

curves::Runs RunsOf(const CentralFlags& flags) {
  return {
      .repeats = flags.repeats, .threads = flags.threads, .seed = flags.seed, .votes = flags.votes};
}

curves::SplitSource SplitsOf(RowSource rows) {
  return [rows = std::move(rows)](uint64_t seed) {
    LabRows drawn = rows(seed);
    return curves::Split{.train = std::move(drawn.private_rows),
                         .test = std::move(drawn.test_rows),
                         .public_rows = std::move(drawn.public_rows)};
  };
}

}  // namespace coppice::lab
