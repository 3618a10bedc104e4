#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/lab/commands.h"
#include "server/lab/grid.h"
#include "server/lab/public_only.h"
#include "server/lab/report.h"
#include "server/lab/rows.h"
#include "server/lab/show_repetitions.h"
#include "server/lab/simulation/liars.h"
#include "server/trainers/curves/repetitions.h"

namespace coppice::lab {
namespace {

constexpr char kPaper[] = "lpct";
constexpr char kAuto[] = "auto";

// Unset flags default as in `coppice study create` and `coppice model build`, or to the paper's
// settings if these are asked for.
bool TakesPaper(const LocalFlags& flags) { return !flags.paper.empty() || flags.grid; }

// The estimator that the flags name; empty: none.
std::string EstimatorOf(const LocalFlags& flags) {
  if (!flags.estimator.empty()) return flags.estimator;
  if (!TakesPaper(flags) && flags.lambdas.empty()) return "";
  return std::string(curator::EstimatorName(curator::EstimatorKind::kWeighted));
}

// What the flags ask for; the curator chooses the rest, as it does for a study. An estimator that
// corrects nothing gets the forest that it was made for.
StatusOr<curator::PartitionRequest> AskedPartition(const LocalFlags& flags) {
  curator::PartitionRequest asked = {.trees = flags.trees,
                                     .use_labels = !flags.without_labels(),
                                     .from_schema = flags.without_rows()};
  const std::string estimator = EstimatorOf(flags);
  const bool corrects =
      estimator.empty() || estimator == curator::EstimatorName(curator::EstimatorKind::kSmooth);
  const bool is_open = flags.depths.empty() && flags.min_leaves.empty() && !flags.trees;
  COPPICE_ASSIGN_OR_RETURN(asked.criterion, curator::ParseCriterion(flags.criterion));
  if (!flags.split_rule.empty()) {
    COPPICE_ASSIGN_OR_RETURN(asked.rule, curator::ParseSplitRule(flags.split_rule));
  } else if (TakesPaper(flags)) {
    asked.rule = curator::SplitRule::kMaxEdge;
  } else if (!corrects && is_open) {
    asked.rule = curator::SplitRule::kHybrid;
  }
  if (!flags.depths.empty()) asked.max_depth = flags.depths.front();
  if (!flags.min_leaves.empty()) asked.min_leaf = flags.min_leaves.front();
  return asked;
}

StatusOr<double> ParseLambda(const std::string& text) {
  double lambda = 0;
  if (SimpleAtod(text, &lambda) && lambda >= 0) return lambda;
  return InvalidArgumentError("must be 0 (private only) or more, or inf (public only)");
}

// Parses the epsilon of one report; kNoPrivacy adds nothing to the counts.
StatusOr<std::optional<Budget>> ParseReportEpsilon(const std::string& text) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<Budget> epsilon, ParseEpsilonFlag(text));
  if (epsilon && (epsilon->nanos() < kMinEpsilonNanos || epsilon->nanos() > kMaxEpsilonNanos)) {
    return InvalidArgumentError("must be from 0.01 to 1000, or inf for no privacy");
  }
  return epsilon;
}

StatusOr<std::optional<MechanismKind>> ParseMechanismOrAuto(const std::string& name) {
  if (name == kAuto) return std::optional<MechanismKind>();
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind kind, ParseMechanism(name));
  return std::optional<MechanismKind>(kind);
}

// Makes a flag check that refuses what `parse` refuses, with its message.
template <typename Parse>
FlagCheck Accepted(Parse parse) {
  return [parse](const std::string& text) {
    const auto value = parse(text);
    return value.ok() ? std::string() : std::string(value.status().message());
  };
}

// The paper's search grids: section 7 for files, section 6 for the synthetic pair.
std::vector<uint32_t> PaperDepths(bool synthetic) {
  if (synthetic) return {1, 2, 3, 4, 5, 6, 7, 8};
  return {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16};
}
std::vector<uint32_t> PaperMinLeaves(bool synthetic) {
  if (synthetic) return {1, 5, 10, 50, 100};
  return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
}
std::vector<std::string> PaperLambdas(bool synthetic) {
  if (synthetic) {
    return {"0.01", "0.1", "0.5",  "1",    "2",    "5",    "10",   "50",  "100",
            "500",  "750", "1000", "1250", "1500", "2000", "4000", "8000"};
  }
  return {"0.01", "0.1", "0.5", "1",   "2",   "5",   "10",  "50",
          "100",  "200", "300", "400", "500", "750", "1000"};
}

template <typename T>
std::vector<T> ValuesOr(const std::vector<T>& given, bool grid, std::vector<T> of_paper,
                        T by_default) {
  if (!given.empty()) return given;
  return grid ? std::move(of_paper) : std::vector<T>{std::move(by_default)};
}

StatusOr<std::vector<curator::EstimatorOptions>> ResolveEstimators(
    const LocalFlags& flags, const curator::PartitionOptions& partition) {
  curator::EstimatorOptions options{.kind = curator::ChooseEstimator(partition)};
  if (const std::string named = EstimatorOf(flags); !named.empty()) {
    COPPICE_ASSIGN_OR_RETURN(options.kind, curator::ParseEstimator(named));
  }
  COPPICE_ASSIGN_OR_RETURN(options.evidence, curator::ParseEvidence(flags.evidence));
  if (flags.without_labels()) options.evidence = curator::Evidence::kReports;
  options.min_depth = flags.prune_min_depth;
  if (options.kind != curator::EstimatorKind::kWeighted)
    return std::vector<curator::EstimatorOptions>{options};
  std::vector<curator::EstimatorOptions> result;
  for (const std::string& text : ValuesOr<std::string>(
           flags.lambdas, flags.grid, PaperLambdas(!flags.synthetic.empty()), "1")) {
    COPPICE_ASSIGN_OR_RETURN(options.lambda, ParseLambda(text));
    result.push_back(options);
  }
  return result;
}

}  // namespace

StatusOr<RunOptions> ResolveLocalRun(const LocalFlags& flags) {
  const bool synthetic = !flags.synthetic.empty();
  RunOptions run;
  COPPICE_ASSIGN_OR_RETURN(const curator::PartitionRequest asked, AskedPartition(flags));
  const curator::PartitionChoice partition = curator::ChoosePartition(asked);
  run.collect.partition = partition.options;
  run.collect.choose_size = partition.choose_size && !flags.grid;
  COPPICE_ASSIGN_OR_RETURN(run.collect.mechanism, ParseMechanismOrAuto(flags.mechanism));
  COPPICE_ASSIGN_OR_RETURN(run.collect.epsilon, ParseReportEpsilon(flags.epsilon));
  if (!flags.attack.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const Attack attack, ParseAttack(flags.attack));
    COPPICE_ASSIGN_OR_RETURN(const Aim aim, ParseAim(flags.aim));
    COPPICE_ASSIGN_OR_RETURN(const Claim claim, ParseClaim(flags.claim));
    run.collect.liars = {
        .attack = attack, .share = flags.liars, .aim = aim, .target = flags.target, .claim = claim};
  }
  run.grid.depths =
      ValuesOr(flags.depths, flags.grid, PaperDepths(synthetic), partition.options.max_depth);
  run.grid.min_leaves =
      ValuesOr(flags.min_leaves, flags.grid, PaperMinLeaves(synthetic), partition.options.min_leaf);
  COPPICE_ASSIGN_OR_RETURN(run.grid.estimators, ResolveEstimators(flags, partition.options));
  if (!flags.rounding.empty()) {
    COPPICE_ASSIGN_OR_RETURN(run.collect.rounding, ParseNumberRange(flags.rounding));
  }
  run.repeats = flags.repeats;
  run.threads = flags.threads;
  run.seed = flags.seed;
  return run;
}

void AddLocalFlags(const Command& command, LocalFlags& flags) {
  AddLocalRowFlags(command, flags);
  command.Add("--epsilon", flags.epsilon, "privacy of one report, 0.01 to 1000, or inf")
      .Required()
      .Check(Accepted(ParseReportEpsilon));
  command.Add("--mechanism", flags.mechanism, "local mechanism, or auto: the best there is")
      .Check(Accepted([](const std::string& name) { return ParseMechanismOrAuto(name); }))
      .ShowDefault();
  command
      .Add(
          "--paper", flags.paper,
          "a paper's settings for what is not given: lpct (max_edge, depth 6, weighted, lambda 1); "
          "--grid implies it")
      .OneOf({kPaper});
  command
      .Add(
          "--split-rule", flags.split_rule,
          "max_edge, random_max_edge, cart, hybrid or random_cut (default: as the curator chooses; "
          "hybrid with another --estimator than smooth, max_edge with --paper)")
      .Check(Accepted([](const std::string& name) { return curator::ParseSplitRule(name); }))
      .ForResearch();
  command.Add("--criterion", flags.criterion, "gini or entropy")
      .Check(Accepted([](const std::string& name) { return curator::ParseCriterion(name); }))
      .ShowDefault()
      .ForResearch();
  command.Add("--depth", flags.depths, "depth of the partition")
      .SplitAt(',')
      .InRange(0u, kMaxDepth)
      .ForResearch();
  command.Add("--min-leaf", flags.min_leaves, "minimum public rows in a cell")
      .SplitAt(',')
      .InRange(1u, 1u << 26)
      .ForResearch();
  command
      .Add("--trees", flags.trees,
           "public partitions; each device answers in one (default: as the curator chooses)")
      .InRange(1u, 1024u)
      .ForResearch();
  command
      .Add(
          "--estimator", flags.estimator,
          "smooth: what the public rows predict, corrected by the reports; pooled: all trees in "
          "one "
          "closed form; weighted or prune: tree by tree (default: as the curator chooses; weighted "
          "with --lambda or --paper)")
      .Check(Accepted([](const std::string& name) { return curator::ParseEstimator(name); }));
  command
      .Add("--public-features", flags.public_features,
           "features that devices send in the clear: names, all, or none, overriding the schema's "
           "marks; with all, reports are labels, and trees are boosted on them")
      .SplitAt(',');
  command
      .Add("--rounding", flags.rounding,
           "LOW:HIGH, for numbers: the range to which devices clamp a number before they round it "
           "to one of the ends (default: two standard deviations around the public mean; without "
           "labels, the target's bounds)")
      .Check(Accepted([](const std::string& text) { return ParseNumberRange(text); }));
  command.Add("--evidence", flags.evidence, "what pooled and smooth use: both, reports or public")
      .Check(Accepted([](const std::string& name) { return curator::ParseEvidence(name); }))
      .ShowDefault();
  command
      .Add("--public-labels", flags.public_labels,
           "as_given; none: partitions use only the features, and reports decide; flipped or "
           "random, to see what bad labels do")
      .Check(Accepted([](const std::string& name) -> StatusOr<PublicLabels> {
        if (name == kNone) return PublicLabels::kAsGiven;
        return ParsePublicLabels(name);
      }))
      .ShowDefault();
  command.Add("--lambda", flags.lambdas, "weight of a public row: 0 private only, inf public only")
      .SplitAt(',')
      .Check(Accepted(ParseLambda));
  command.Add("--prune-min-depth", flags.prune_min_depth, "depth at which prune's walk up ends")
      .ShowDefault();

  const Flag attack =
      command
          .Add("--attack", flags.attack,
               "some devices lie: label (about their class), given (they send what pushes "
               "most in the ticket's tree and column), chosen (as if the column were theirs "
               "to choose, which tickets prevent)")
          .Check(Accepted([](const std::string& name) { return ParseAttack(name); }));
  command.Add("--liars", flags.liars, "with --attack: share of the devices that lie")
      .InRange(0.0, 1.0)
      .Needs(attack)
      .ShowDefault();
  command
      .Add("--aim", flags.aim,
           "with --attack: leaves or rows (push the target class in all leaves alike, or by "
           "their public rows) or invert (push against each leaf's public majority)")
      .Check(Accepted([](const std::string& name) { return ParseAim(name); }))
      .Needs(attack)
      .ShowDefault();
  command.Add("--target", flags.target, "with --attack: number of the class that is pushed")
      .Needs(attack)
      .ShowDefault();
  command
      .Add("--claim", flags.claim,
           "with --attack given or chosen, where features are public: own (liars show their row's "
           "public values) or chosen (those of the public row with which they push most)")
      .Check(Accepted([](const std::string& name) { return ParseClaim(name); }))
      .Needs(attack)
      .ShowDefault();

  command.AddSwitch("--public-shift", flags.public_shift,
                    "draw public rows from another population, to see what that does: the upper "
                    "half of the first numeric feature four times as often");

  command.AddSwitch("--grid", flags.grid,
                    "search depth, minimal leaf and lambda for the best mean on the test rows");
  command.Add("--repeats", flags.repeats, "repetitions").InRange(1u, 1'000'000u).ShowDefault();
  command.Add("--threads", flags.threads, "repetitions at a time").InRange(1u, 256u).ShowDefault();
  command.Add("--seed", flags.seed, "seed seed of rows, splits and partitions; never of noise")
      .ShowDefault()
      .ForResearch();
  command.AddSwitch("--per-repetition", flags.per_repetition,
                    "with --json: also the scores of every repetition");
  command.AddSwitch("--json", flags.json, "one JSON object on stdout");
}

Status CheckLocalFlags(const LocalFlags& flags) {
  COPPICE_RETURN_IF_ERROR(CheckLocalRowFlags(flags));
  if (!flags.grid &&
      (flags.depths.size() > 1 || flags.min_leaves.size() > 1 || flags.lambdas.size() > 1)) {
    return InvalidArgumentError(
        "--depth, --min-leaf and --lambda take several values only with --grid");
  }
  const std::string estimator = EstimatorOf(flags);
  COPPICE_ASSIGN_OR_RETURN(const curator::PartitionRequest asked, AskedPartition(flags));
  const std::string_view rule =
      curator::SplitRuleName(curator::ChoosePartition(asked).options.rule);
  if (estimator != curator::EstimatorName(curator::EstimatorKind::kWeighted) &&
      !flags.lambdas.empty()) {
    return InvalidArgumentError(
        "--lambda is for --estimator weighted; prune finds its own, and the others have none");
  }
  bool takes_forest = true;  // as the curator's choice does
  if (!estimator.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const curator::EstimatorKind kind, curator::ParseEstimator(estimator));
    takes_forest = curator::TakesForest(kind);
  }
  if (!takes_forest && (flags.evidence != curator::EvidenceName(curator::Evidence::kBoth))) {
    return InvalidArgumentError("--evidence is for --estimator pooled or smooth");
  }
  const bool hybrid = rule == curator::SplitRuleName(curator::SplitRule::kHybrid);
  if (flags.without_rows() && !takes_forest) {
    return InvalidArgumentError("--public none needs --estimator pooled or smooth");
  }
  if (flags.without_labels() && !flags.without_rows() && !(takes_forest && hybrid)) {
    return InvalidArgumentError(
        "--public-labels none needs --split-rule hybrid and --estimator pooled or smooth");
  }
  if (!flags.attack.empty() && flags.epsilon == kNoPrivacy) {
    return InvalidArgumentError("--attack needs an --epsilon that is not inf");
  }
  if (flags.attack == AttackName(Attack::kLabel) && flags.claim != ClaimName(Claim::kOwn)) {
    return InvalidArgumentError("--claim chosen is for --attack given or chosen");
  }
  return OkStatus();
}

// Refuses flags that studies of numbers do not support.
Status CheckNumberFlags(const LocalFlags& flags, const RunOptions& options) {
  if (flags.grid || !curator::TakesForest(options.grid.estimators[0].kind)) {
    return InvalidArgumentError(
        "for numbers use --estimator pooled or smooth, without --grid and --paper");
  }
  if (!flags.attack.empty()) {
    return InvalidArgumentError("--attack is for classes: liars push one of them");
  }
  return OkStatus();
}

Status RunLocal(const LocalFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(
      const RowSource rows,
      ResolveLocalRows(flags, [](const std::string& note) { std::cerr << note << "\n"; }));
  const std::shared_ptr<const Schema> schema = rows(flags.seed).private_rows->shared_schema();
  COPPICE_ASSIGN_OR_RETURN(const RunOptions options, ResolveLocalRun(flags));
  if (schema->target()) {
    COPPICE_RETURN_IF_ERROR(CheckNumberFlags(flags, options));
  } else if (!flags.rounding.empty()) {
    return InvalidArgumentError("--rounding is for numbers; the schema has classes");
  }
  COPPICE_ASSIGN_OR_RETURN(const RunResult result, RunGrid(rows, options, [&](uint32_t finished) {
                             ShowRepetitions(finished, options.repeats);
                           }));
  nlohmann::ordered_json report = LocalReport(options, result, flags.grid);
  if (schema->target() && options.collect.partition.use_labels) {
    COPPICE_ASSIGN_OR_RETURN(
        report["public_only"],
        ScorePublicOnly(
            rows, {.repeats = options.repeats, .threads = options.threads, .seed = options.seed}));
  }
  if (flags.per_repetition && flags.json) {
    const GridCell& best = BestCell(result);
    if (result.classes.empty()) {
      AddRepetitions(best.numbers, report);
    } else {
      AddRepetitions(best.scores, report);
    }
  }
  std::cout << (flags.json ? report.dump() + "\n" : ReportText(report)) << std::flush;
  if (!std::cout) return UnavailableError("the result could not be written to stdout");
  return OkStatus();
}

}  // namespace coppice::lab
