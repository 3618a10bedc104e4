#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/write_file.h"
#include "common/pages/pages.h"
#include "common/privacy/delta.h"
#include "common/table/schema_file.h"
#include "server/lab/commands.h"
#include "server/lab/grid.h"
#include "server/lab/rows.h"
#include "server/lab/scores.h"
#include "server/lab/show_repetitions.h"
#include "server/trainers/curves/curve.h"
#include "server/trainers/curves/measure.h"
#include "server/trainers/curves/repetitions.h"
#include "server/trainers/registry.h"

namespace coppice::lab {
namespace {

constexpr char kStudy[] = "local";  // the algorithm name that means a study of devices
constexpr char kSvgFile[] = "curve.svg", kHtmlFile[] = "curve.html", kJsonFile[] = "curve.json";

StatusOr<Budget> ParseCurveEpsilon(const std::string& text) {
  const StatusOr<Budget> epsilon = Budget::Parse(text);
  if (epsilon.ok()) return epsilon;
  return InvalidArgumentError(
      StrCat(std::string(epsilon.status().message()),
             text == kNoPrivacy ? "; a run without privacy is always included" : ""));
}

bool HasStudies(const CurveFlags& flags) {
  return std::count(flags.algorithms.begin(), flags.algorithms.end(), kStudy) > 0;
}

// Whether the algorithm of this name, which is known, has a use for public rows.
bool TakesPublicRows(const std::string& name) {
  return name == kStudy || (*trainers::FindTrainer(name))->info().public_rows;
}

std::vector<Budget> BudgetsOf(const CurveFlags& flags) {
  std::vector<Budget> budgets;
  for (const std::string& text : flags.epsilons) budgets.push_back(*ParseCurveEpsilon(text));
  return curves::RisingBudgets(std::move(budgets));
}

// Runs every algorithm at every epsilon, over the same splits.
class CurveRuns {
 public:
  // `with_public` has the same rows, those of --public apart.
  CurveRuns(const CurveFlags& flags, const SchemaFile& file, RowSource rows, RowSource with_public)
      : flags_(flags),
        file_(file),
        rows_(std::move(rows)),
        with_public_(std::move(with_public)),
        budgets_(BudgetsOf(flags)) {}

  StatusOr<curves::Curve> Run() {
    COPPICE_RETURN_IF_ERROR(Begin());
    for (const std::string& name : flags_.algorithms) {
      if (name != kStudy) {
        COPPICE_RETURN_IF_ERROR(RunTrainer(name));
        continue;
      }
      for (const uint64_t devices : flags_.devices) COPPICE_RETURN_IF_ERROR(RunStudies(devices));
    }
    return std::move(curve_);
  }

 private:
  const Schema& schema() const { return *file_.schema; }

  // Sets what all runs share, and refuses what can be refused before any of them.
  Status Begin() {
    const LabRows first = rows_(0);
    curve_.label = schema().label();
    curve_.numbers = schema().target().has_value();
    curve_.test_rows = first.test_rows->num_rows();
    curve_.rows = first.private_rows->num_rows() + curve_.test_rows;
    curve_.delta = flags_.table.delta;
    uint64_t series = 0;
    for (const std::string& name : flags_.algorithms) {
      if (name == kStudy) {
        COPPICE_RETURN_IF_ERROR(BeginStudies());
        series += flags_.devices.size();
      } else {
        COPPICE_RETURN_IF_ERROR(CheckTrainer(name));
        ++series;
      }
    }
    total_ = static_cast<uint32_t>(series * (budgets_.size() + 1) * flags_.table.repeats);
    return OkStatus();
  }

  Status CheckTrainer(const std::string& name) const {
    COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* const trainer, trainers::FindTrainer(name));
    COPPICE_ASSIGN_OR_RETURN(const trainers::TrainOptions options,
                             TrainOptionsOf(*trainer, flags_.table, std::nullopt));
    return curves::CheckSeries(*trainer, schema(), budgets_, options);
  }

  Status BeginStudies() {
    if (curve_.numbers) {
      return InvalidArgumentError("--algorithm local: studies predict classes, not numbers");
    }
    const uint64_t most = *std::max_element(flags_.devices.begin(), flags_.devices.end());
    return StudyRows(with_public_, most).status();
  }

  std::function<void(uint32_t)> Progress() {
    return [this](uint32_t finished) { ShowRepetitions(done_ + finished, total_); };
  }

  // The baseline depends only on the test rows, so it is the same for every run.
  void TakeBaseline(const std::vector<double>& baseline, const std::vector<uint32_t>& majority) {
    curve_.baseline = baseline;
    if (!majority.empty()) curve_.majority_class = schema().classes()[majority[0]];
    done_ += flags_.table.repeats;
  }

  Status RunTrainer(const std::string& name) {
    COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* const trainer, trainers::FindTrainer(name));
    COPPICE_ASSIGN_OR_RETURN(const trainers::TrainOptions options,
                             TrainOptionsOf(*trainer, flags_.table, std::nullopt));
    const curves::Runs runs = RunsOf(flags_.table);
    const RowSource& rows = TakesPublicRows(name) ? with_public_ : rows_;
    COPPICE_ASSIGN_OR_RETURN(
        curves::MeasuredSeries measured,
        curves::MeasureSeries(*trainer, budgets_, options, SplitsOf(rows), runs, Progress()));
    curve_.baseline = std::move(measured.baseline);
    curve_.majority_class = std::move(measured.majority_class);
    curve_.series.push_back(std::move(measured.series));
    done_ += curves::RepetitionsOf(budgets_, runs);
    return OkStatus();
  }

  StatusOr<curves::CurveScores> StudyOnce(const RowSource& rows, const std::string& epsilon) {
    LocalFlags local;
    local.epsilon = epsilon;
    local.repeats = flags_.table.repeats;
    local.threads = flags_.table.threads;
    local.seed = flags_.table.seed;
    COPPICE_ASSIGN_OR_RETURN(const RunOptions options, ResolveLocalRun(local));
    COPPICE_ASSIGN_OR_RETURN(const RunResult result, RunGrid(rows, options, Progress()));
    const curves::RepeatedClassScores& scores = BestCell(result).scores;  // the grid has one cell
    TakeBaseline(scores.majority, scores.majority_class);
    return curves::ScoresOf(scores);
  }

  Status RunStudies(uint64_t devices) {
    COPPICE_ASSIGN_OR_RETURN(const RowSource rows, StudyRows(with_public_, devices));
    curves::CurveSeries series{.algorithm = kStudy,
                               .neighbours = "any two rows that a device may hold",
                               .devices = devices,
                               .points = {}};
    for (const Budget& budget : budgets_) {
      COPPICE_ASSIGN_OR_RETURN(curves::CurveScores scores, StudyOnce(rows, budget.ToString()));
      series.points.push_back({.epsilon = budget.epsilon(), .scores = std::move(scores)});
    }
    COPPICE_ASSIGN_OR_RETURN(series.non_private, StudyOnce(rows, kNoPrivacy));
    curve_.series.push_back(std::move(series));
    return OkStatus();
  }

  const CurveFlags& flags_;
  const SchemaFile& file_;
  const RowSource rows_, with_public_;
  const std::vector<Budget> budgets_;
  uint32_t done_ = 0, total_ = 0;  // repetitions
  curves::Curve curve_;
};

std::string PathOf(const CurveFlags& flags, const char* file) {
  return (std::filesystem::path(flags.output_dir) / file).string();
}

// Runs before anything else, so that a long run does not end with a refusal.
Status PrepareFolder(const CurveFlags& flags) {
  std::error_code error;
  std::filesystem::create_directories(flags.output_dir, error);
  if (error) {
    return UnavailableError(
        StrCat("cannot make the folder ", flags.output_dir, ": ", error.message()));
  }
  for (const char* file : {kSvgFile, kHtmlFile, kJsonFile}) {
    if (!flags.force && std::filesystem::exists(PathOf(flags, file), error)) {
      return AlreadyExistsError(
          StrCat(PathOf(flags, file), " exists already; --force replaces it"));
    }
  }
  return OkStatus();
}

Status WriteFiles(const CurveFlags& flags, const nlohmann::ordered_json& curve) {
  const WriteOptions options{.replace = flags.force};
  COPPICE_RETURN_IF_ERROR(WriteFileAtomically(
      PathOf(flags, kSvgFile), report::CurveDrawing(curve, report::ChartUse::kFile), options));
  COPPICE_RETURN_IF_ERROR(
      WriteFileAtomically(PathOf(flags, kHtmlFile), report::CurvePage(curve), options));
  return WriteFileAtomically(PathOf(flags, kJsonFile), curve.dump(2) + "\n", options);
}

void PrintCurve(const curves::Curve& curve, bool json) {
  if (json) {
    for (const nlohmann::ordered_json& line : curves::CurveLines(curve))
      std::cout << line.dump() << "\n";
    return;
  }
  std::cout << curves::CurveTable(curve) << "\n";
  for (const std::string& sentence : curves::CurveSentences(curve)) std::cout << sentence << "\n";
}

}  // namespace

void AddCurveFlags(const Command& command, CurveFlags& flags) {
  flags.table.repeats = 10;
  flags.table.holdout = 0.2;
  AddFileFlags(command, flags.table);
  command
      .Add("--algorithm", flags.algorithms,
           StrCat("several by commas: local (a study of devices), ", TrainerNames()))
      .SplitAt(',')
      .Check([](const std::string& name) {
        return name == kStudy ? std::string()
                              : std::string(trainers::FindTrainer(name).status().message());
      })
      .ShowDefault();
  command
      .Add("--epsilon", flags.epsilons,
           "several, separated by commas; a run without privacy is always added")
      .SplitAt(',')
      .Check([](const std::string& text) {
        return std::string(ParseCurveEpsilon(text).status().message());
      })
      .ShowDefault();
  command
      .Add("--devices", flags.devices,
           "of local studies: number of devices; several, separated by commas")
      .SplitAt(',')
      .InRange(uint64_t{1}, uint64_t{10'000'000'000});
  command.Add(
      "--public", flags.public_source,
      "public rows, for local studies, which need some, and for auto, which then starts from "
      "them: a file, or the share of the rows to train on; other algorithms train on all rows");
  AddRunFlags(command, flags.table);
  command.Add("--output-dir", flags.output_dir,
              "folder for curve.svg, curve.html and curve.json; created if missing");
  command.AddSwitch("--force", flags.force, "replace the files that are there");
  command.AddSwitch("--json", flags.table.json,
                    "one JSON object per line, for each algorithm and epsilon");
}

Status CheckCurveFlags(const CurveFlags& flags) {
  const bool studies = HasStudies(flags);
  if (studies && (flags.devices.empty() || flags.public_source.empty())) {
    return InvalidArgumentError("--algorithm local needs --devices and --public");
  }
  if (!studies && !flags.devices.empty()) {
    return InvalidArgumentError("--devices is for --algorithm local");
  }
  if (!flags.public_source.empty() &&
      std::none_of(flags.algorithms.begin(), flags.algorithms.end(), TakesPublicRows)) {
    return InvalidArgumentError(
        "--public: none of these algorithms has a use for public rows; auto has");
  }
  if (studies && flags.table.unlabelled) {
    return InvalidArgumentError("--unlabelled is not for --algorithm local");
  }
  if (!flags.table.settings.empty() && flags.algorithms.size() > 1) {
    return InvalidArgumentError("--set is for one algorithm at a time");
  }
  if (flags.force && flags.output_dir.empty()) {
    return InvalidArgumentError("--force needs --output-dir");
  }
  return OkStatus();
}

Status RunCurve(const CurveFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile file, ReadSchema(flags.table.schema_file));
  COPPICE_ASSIGN_OR_RETURN(RowSource rows, ResolveTableRows(flags.table));
  RowSource with_public = rows;
  if (!flags.public_source.empty()) {
    CentralFlags table = flags.table;
    table.public_source = flags.public_source;
    COPPICE_ASSIGN_OR_RETURN(with_public, ResolveTableRows(table));
  }
  if (!flags.output_dir.empty()) COPPICE_RETURN_IF_ERROR(PrepareFolder(flags));
  COPPICE_ASSIGN_OR_RETURN(const curves::Curve curve,
                           CurveRuns(flags, file, std::move(rows), std::move(with_public)).Run());
  PrintCurve(curve, flags.table.json);
  if (!std::cout.flush()) {
    return UnavailableError("the curve could not be written to stdout");
  }
  return flags.output_dir.empty() ? OkStatus() : WriteFiles(flags, curves::CurveJson(curve));
}

}  // namespace coppice::lab
