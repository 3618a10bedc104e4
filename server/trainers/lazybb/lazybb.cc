// lazybb: boosting by smooth re-weighting (lazy Bregman boosting). With more than two classes each
// in turn is boosted against the rest, and all of them share epsilon.
//
// Boosting asks for rules that are right a little more often than not, about rows that are weighted
// by how often earlier rules were wrong about them; the majority of the rules is then right about
// nearly all. AdaBoost's weights would come to rest on a few rows, and noise that hides one of them
// would hide them all. Smooth boosting never lets a row have more than 1 / (kappa n) of the whole,
// so every rule is about many rows. It is called lazy because the weights follow from all votes so
// far by a single projection, not by one a round: labels and released votes are enough to compute
// them again.
//
// Deviations from the paper: constants as corrected there; masses instead of a distribution, so no
// noise is scaled by the number of rows; permute and flip; rounds get epsilon by how far a row can
// move their measure, which is less in the first two.
//
// Source     the thesis "Private Boosted Decision Trees via Smooth Re-Weighting", Algorithms 1 to
//            3; Bun, Carmosino, Sorrell, "Efficient, noise-tolerant, and private learning via
//            boosting" (COLT 2020). docs/research/mechanisms.md#lazybb.
// Guarantee  epsilon-DP, or (epsilon, delta)-DP with a delta; add or remove one row. In each round
//            a weak learner sees the rows by a measure that follows from their labels and the votes
//            released before, and releases a rule; smooth_measure.h proves how far a row moves the
//            measure, weak_learners.h what a rule costs. Rounds add up as in composition.h. Their
//            number follows from a noisy number of rows, for a hundredth of epsilon, unless it is
//            set.

#include "server/trainers/lazybb/lazybb.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/shares.h"
#include "server/trainers/core/trainer_frame.h"
#include "server/trainers/lazybb/composition.h"
#include "server/trainers/lazybb/smooth_measure.h"
#include "server/trainers/lazybb/weak_learners.h"

namespace coppice::trainers {
namespace {

constexpr double kVoteCountShare = 0.01;
constexpr double kBoosterInformation = 6.5;  // of sqrt(n * epsilon), per round of a literal
constexpr double kTreeInformation = 20;      // of a tree, which divides it among its splits
constexpr uint32_t kMinRounds = 3, kMaxLazyRounds = 99;
// kappa, in thousandths; the second below kLittle of n * epsilon.
constexpr uint32_t kDensity = 350, kDensityForLittle = 500;
constexpr double kLittle = 500;

constexpr char kOneRule[] = "one_rule";
constexpr char kTopDown[] = "top_down";
constexpr char kBins[] = "bins";

struct LazyBbConfig {
  std::optional<uint32_t> rounds;   // if they were set
  std::optional<uint32_t> density;  // kappa, in thousandths, likewise
  uint32_t problems = 1;            // one class against the rest each; one for two classes
  double information = 0;           // that a round needs: see SizeFor()
  double rate = 0;                  // lambda
  BudgetShare count = BudgetShare::WithoutPrivacy();
  BudgetShare votes = BudgetShare::WithoutPrivacy();
  uint64_t delta_atto = 0;  // of the votes
  uint32_t selections = 1;  // of a round
  // For the largest possible number of rounds: those that were set, or else kMaxLazyRounds.
  std::vector<BudgetShare> least_shares;
  uint32_t cuts = 0;
  NumericLiterals literals = NumericLiterals::kCuts;
  std::optional<TopDownOptions> tree;    // for top_down
  std::unique_ptr<WeakLearner> divider;  // without bins, only to divide shares
  std::string rule;                      // in words
};

struct Size {
  uint32_t rounds = 0;
  uint32_t density = 0;
};

// Rounds are worth it while what rows say in one of them still grows with their number:
// `information` is how much of that exceeds the noise. A delta counts if the noise of rho is less.
double RoundsFor(double rows, double information, const LazyBbConfig& config) {
  const double pure = std::sqrt(information) / config.information;
  if (config.delta_atto == 0 || !config.votes.is_private()) return pure;
  const StatusOr<Rho> rho = Rho::Implying(config.votes.budget(), config.delta_atto);
  if (!rho.ok()) return pure;
  const double of_one = rho->ForSelection().epsilon() / kWorthOfPermuteAndFlip *
                        std::sqrt(config.selections / static_cast<double>(config.problems));
  const double concentrated =
      std::pow(rows * of_one / (config.information * config.information), 2.0 / 3);
  return std::max(pure, concentrated);
}

std::unique_ptr<WeakLearner> MakeLearner(const Schema& schema, const LazyBbConfig& config,
                                         std::vector<FeatureBins> bins) {
  return config.tree ? MakeTopDown(schema, std::move(bins), *config.tree)
                     : MakeOneRule(schema, std::move(bins), config.literals);
}

// Returns what was set, or follows from the released row count. Odd rounds avoid ties.
Size SizeFor(double rows, const LazyBbConfig& config) {
  const BudgetShare& votes = config.votes;
  rows = std::max(rows, 0.0);
  // Without privacy as with an epsilon so large that the noise does not show.
  const double epsilon = votes.is_private() ? votes.budget().epsilon() : 1000;
  const double information = rows * epsilon / config.problems;
  const double rounds = std::min<double>(RoundsFor(rows, information, config), kMaxLazyRounds);
  const double odd = 2 * std::round((rounds - 1) / 2) + 1;
  return {.rounds = config.rounds.value_or(
              static_cast<uint32_t>(std::clamp<double>(odd, kMinRounds, kMaxLazyRounds))),
          .density = config.density.value_or(information < kLittle ? kDensityForLittle : kDensity)};
}

// Returns how far a row can move the measure of each round, which noise must cover. It is the same
// for every class.
std::vector<uint64_t> MassChanges(const SmoothMeasure& measure) {
  std::vector<uint64_t> changes;
  for (uint32_t t = 0; t < measure.rounds(); ++t) changes.push_back(measure.MassChange(t));
  return changes;
}

// Returns what each round may spend, the same for every class: the less a row can move a round's
// measure, the less the round gets, so that all have the same noise.
StatusOr<std::vector<BudgetShare>> SharesOfRounds(const LazyBbConfig& config,
                                                  const SmoothMeasure& measure) {
  return SelectionShares(config.votes, config.delta_atto, MassChanges(measure), config.selections,
                         /*times=*/config.problems);
}

// Checks that rounds can pay, however shares are made of epsilon and delta. `shares` are those of
// SharesOfRounds().
Status CheckShares(const LazyBbConfig& config, const SmoothMeasure& measure,
                   std::vector<BudgetShare> shares) {
  COPPICE_ASSIGN_OR_RETURN(
      const std::vector<BudgetShare> pure,
      ProportionalShares(config.votes, MassChanges(measure), /*times=*/config.problems));
  shares.insert(shares.end(), pure.begin(), pure.end());
  for (const BudgetShare& share : shares)
    COPPICE_RETURN_IF_ERROR(config.divider->CheckShare(share));
  return OkStatus();
}

// Returns the epsilon of a selection that spends the whole share.
double EpsilonOf(const BudgetShare& share) {
  return (share.is_concentrated() ? share.rho().ForSelection() : share.budget()).epsilon();
}

// One class against the rest: the rows' margins, and the sums of the votes so far.
class Problem {
 public:
  Problem(absl::Span<const uint32_t> labels, uint32_t about, const SmoothMeasure& measure)
      : labels_(labels), about_(about), measure_(measure), sums_(labels.size()) {}

  StatusOr<WeakRule> Boost(const BinnedRows& rows, const WeakLearner& learner, uint32_t round,
                           const BudgetShare& share, PrivateReleaser& releaser) {
    const std::vector<int64_t> masses = Masses();
    COPPICE_ASSIGN_OR_RETURN(
        WeakRule rule, learner.Learn({.rows = rows, .masses = masses}, measure_.MassChange(round),
                                     share, releaser));
    for (size_t row = 0; row < sums_.size(); ++row) sums_[row] += rule.row_votes[row];
    return rule;
  }

 private:
  size_t PlaceOf(size_t row) const {
    const int64_t margin = labels_[row] == about_ ? sums_[row] : -sums_[row];
    return static_cast<size_t>(margin + measure_.rounds());
  }

  // Returns masses, negative for rows outside the class. Rows without a label count nothing.
  std::vector<int64_t> Masses() const {
    std::vector<uint64_t> counts(2 * size_t{measure_.rounds()} + 1);
    for (size_t row = 0; row < labels_.size(); ++row) {
      if (labels_[row] != kUnlabelled) ++counts[PlaceOf(row)];
    }
    const std::vector<int64_t> by_margin = measure_.MassByMargin(counts);
    std::vector<int64_t> masses(labels_.size());
    for (size_t row = 0; row < labels_.size(); ++row) {
      if (labels_[row] == kUnlabelled) continue;
      const int64_t mass = by_margin[PlaceOf(row)];
      masses[row] = labels_[row] == about_ ? mass : -mass;
    }
    return masses;
  }

  absl::Span<const uint32_t> labels_;
  uint32_t about_;
  const SmoothMeasure& measure_;
  std::vector<int32_t> sums_;  // of the votes
};

// A rule of thumb: how much more mass a good rule gets right than wrong, relative to all mass.
constexpr double kEdge = 0.3;

// Returns how likely noise turned a vote, the sign of a margin of masses, around: the vote was
// chosen with odds of exp(epsilon * margin / change), and every margin up to twice that of a good
// rule, either way, is equally likely a priori. A half for no mass at all. Unset if the number of
// rows was not released.
StatusOr<std::optional<double>> ChanceOfWrongVote(const LazyBbConfig& config,
                                                  const BudgetShare& share,
                                                  std::optional<double> rows, const Size& size,
                                                  uint64_t mass_change, const WeakRule& rule) {
  if (!share.is_private()) return 0.0;
  if (!rows) return std::nullopt;
  COPPICE_ASSIGN_OR_RETURN(const BudgetShare votes, config.divider->ShareOfVotes(share));
  const double mass = std::max(*rows, 0.0) * size.density / kDensityUnit * kMassUnit;
  const double of_vote = config.selections > 1 ? mass / rule.tree.num_leaves() : mass;
  const double most = 2 * kEdge * of_vote;
  const double reach = EpsilonOf(votes) * most / static_cast<double>(mass_change);
  return reach > 0 ? (std::log(2.0) - std::log1p(std::exp(-reach))) / reach : 0.5;
}

// Returns what noise is expected to have added to a vote that it turned around with this chance.
OutputNoise NoiseOfVote(double vote, double wrong) {
  return {.mean = 2 * wrong * vote, .variance = 4 * wrong * (1 - wrong) * vote * vote};
}

// With two classes a vote for one is a vote against the other. `wrong` is the chance that noise
// turned a vote around, if that is known.
TrainedTree ToTrained(WeakRule rule, uint32_t about, uint32_t classes,
                      std::optional<double> wrong) {
  TrainedTree trained;
  for (uint32_t leaf = 0; leaf < rule.leaf_votes.size(); ++leaf) {
    const double vote = rule.leaf_votes[leaf];
    std::vector<double> scores(classes);
    scores[about] = vote;
    if (classes == 2) scores[1 - about] = -vote;
    std::vector<OutputNoise> noise;
    for (const double score : scores) {
      if (wrong) noise.push_back(NoiseOfVote(score, *wrong));
    }
    trained.leaves.push_back(
        ScoreLeaf(std::move(scores), std::move(noise), rule.tree.leaf_node(leaf)));
  }
  trained.tree = std::move(rule.tree);
  return trained;
}

class LazyBbTrainer final : public TrainerFrame<LazyBbConfig> {
 public:
  const AlgorithmInfo& info() const override { return info_; }

 private:
  StatusOr<LazyBbConfig> Configure(const Schema& schema, const CheckedSettings& settings,
                                   const TrainOptions& options) const override;
  std::vector<Release> PlanOf(const LazyBbConfig& config) const override {
    return ReleasesOf(config, config.rounds);
  }
  // A rule of thumb: a good rule gets about a third of the mass more right than wrong, and that
  // must exceed the noise.
  StatusOr<std::vector<std::string>> WarningsOf(const LazyBbConfig& config) const override {
    constexpr double kFew = 300;
    if (!config.votes.is_private()) return std::vector<std::string>();
    const uint32_t density = config.density.value_or(kDensity);
    const SmoothMeasure measure(config.rate, density, config.rounds.value_or(kMinRounds));
    std::vector<BudgetShare> shares = config.least_shares;
    if (!config.rounds) {
      COPPICE_ASSIGN_OR_RETURN(shares, SharesOfRounds(config, measure));
    }
    const double noise =
        static_cast<double>(measure.MassChange(0)) / kMassUnit / EpsilonOf(shares[0]);
    const double rows = noise / (kEdge * density / kDensityUnit);
    if (rows < kFew) return std::vector<std::string>();
    return std::vector<std::string>{
        StrCat("below about ", std::llround(rows),
               " rows, noise hides which rule is best: expect little better than always giving the "
               "most frequent answer. A larger epsilon or fewer rounds help")};
  }

  // A literal about a run of bins has three cuts or questions at most, and so four leaves.
  ModelShape ShapeOf(const LazyBbConfig& config, const Schema& /*schema*/) const override {
    constexpr uint64_t kLeavesOfLiteral = 4;
    const uint64_t trees = uint64_t{config.rounds.value_or(kMaxLazyRounds)} * config.problems;
    const uint64_t leaves = std::max<uint64_t>(kLeavesOfLiteral, config.selections);
    return {.trees = trees,
            .leaves = trees * leaves,
            .scores = true,
            .advice = "use fewer rounds or splits, or fewer classes"};
  }

  // Bins; each problem's sums of votes, and the masses of one; a rule's votes; and a row's number
  // in the leaf that is split and in its children.
  StatusOr<uint64_t> BytesOfRow(const LazyBbConfig& config, const Schema& schema) const override {
    const std::vector<FeatureBins> bins = MostPublicBins(schema, config.cuts);
    return BytesOfBinnedRow(bins) + config.problems * sizeof(int32_t) + sizeof(int64_t) +
           sizeof(int8_t) + 6 * sizeof(uint32_t);
  }
  StatusOr<Model> TrainAs(const LazyBbConfig& config, const RowBlocks& rows,
                          const TrainOptions& options, PrivateReleaser& releaser,
                          const TrainProgress& progress) const override;

  // `rounds` is unset in a plan that does not know them. The cost is the same for any number.
  static std::vector<Release> ReleasesOf(const LazyBbConfig& config,
                                         std::optional<uint32_t> rounds) {
    Releases releases(EnsembleOptions{.trees = 1, .groups = false});
    releases.Add("the number of rows", kDiscreteLaplace, config.count);
    const std::string classes =
        config.problems == 1 ? "" : StrCat(" for each of ", config.problems, " classes");
    releases.Add(rounds ? StrCat(*rounds, " rounds", classes, ", each ", config.rule)
                        : StrCat("the rounds", classes, ", at most, each ", config.rule,
                                 ": how many follows from the noisy number"),
                 config.delta_atto == 0 ? "permute_and_flip" : "permute_and_flip or exponential",
                 config.votes, /*times=*/1, config.delta_atto);
    return std::move(releases).Take();
  }

  AlgorithmInfo info_ = {
      .name = "lazybb",
      .summary = "smooth boosting: a vote of a few simple rules, which can be read",
      .source = "Private Boosted Decision Trees via Smooth Re-Weighting, Algorithms 1 to 3",
      .delta = true,
      .parameters = {
          ChoiceParameter("learner", {kOneRule, kTopDown}, kOneRule,
                          "one_rule: each round adds one question about one feature; top_down: a "
                          "small tree, which divides the round's epsilon among its splits"),
          IntegerParameter("rounds", 1, 999, "",
                           "how many rules vote; for each class, if there are more than two. More "
                           "rules say more, but each gets less of epsilon. By default as many as a "
                           "noisy number of rows supports, for a hundredth of epsilon"),
          RealParameter("kappa", 0.001, 1, "",
                        "smoothness: the smallest part of the rows that a round looks at. A "
                        "smaller part concentrates on rows that are wrong so far, with more noise. "
                        "By default 0.35, or 0.5 where rows times epsilon is small"),
          RealParameter(
              "lambda", 0.001, 10, "0.35",
              "learning rate: how much less a row counts once the vote is right about it"),
          ChoiceParameter(
              "literals", {"cuts", kBins}, "cuts",
              "what one_rule asks about a number: whether it is below a cut, or in a bin"),
          IntegerParameter("cuts", 1, 4096, "31",
                           "public cut points of a numeric feature, from its declared bounds"),
          IntegerParameter("splits", 1, 64, "3", "of each tree of top_down"),
          RealParameter("structure", 0.01, 0.99, "0.75",
                        "part of a round's epsilon that goes to the splits of top_down; the rest "
                        "goes to the votes of its leaves")}};
};

StatusOr<LazyBbConfig> LazyBbTrainer::Configure(const Schema& schema,
                                                const CheckedSettings& settings,
                                                const TrainOptions& options) const {
  LazyBbConfig config;
  config.problems = schema.num_classes() == 2 ? 1 : schema.num_classes();
  config.rate = settings.Real("lambda");
  if (settings.Has("kappa")) {
    config.density = static_cast<uint32_t>(std::lround(settings.Real("kappa") * kDensityUnit));
  }
  config.votes = BudgetShare::Of(options.epsilon);
  config.delta_atto = options.delta_atto;
  if (settings.Has("rounds")) {
    config.rounds = static_cast<uint32_t>(settings.Integer("rounds"));
  } else {
    COPPICE_ASSIGN_OR_RETURN(const TwoShares shares, Divide(config.votes, kVoteCountShare));
    config.count = shares.part;
    config.votes = shares.rest;
  }
  // Checks vocabularies. A plan needs no cuts, of which there may be a hundred million.
  COPPICE_RETURN_IF_ERROR(PublicBins(schema, /*cuts=*/0).status());
  config.cuts = static_cast<uint32_t>(settings.Integer("cuts"));
  if (settings.Choice("learner") == kOneRule) {
    config.rule = "a literal";
    config.information = kBoosterInformation;
    if (settings.Choice("literals") == kBins) config.literals = NumericLiterals::kBins;
  } else {
    const TopDownOptions tree{.splits = static_cast<uint32_t>(settings.Integer("splits")),
                              .structure = settings.Real("structure")};
    config.information = kTreeInformation;
    config.rule = StrCat("a tree of at most ", tree.splits, " splits");
    config.selections = tree.splits + 1;
    config.tree = tree;
  }
  config.divider = MakeLearner(schema, config, {});
  // The largest possible number of rounds must be able to pay. The first round has the least, and
  // less of it for a smaller kappa.
  const SmoothMeasure most(config.rate, config.density.value_or(kDensity),
                           config.rounds.value_or(kMaxLazyRounds));
  COPPICE_ASSIGN_OR_RETURN(config.least_shares, SharesOfRounds(config, most));
  COPPICE_RETURN_IF_ERROR(CheckShares(config, most, config.least_shares));
  return config;
}

StatusOr<Model> LazyBbTrainer::TrainAs(const LazyBbConfig& config, const RowBlocks& rows,
                                       const TrainOptions& options, PrivateReleaser& releaser,
                                       const TrainProgress& progress) const {
  const Schema& schema = rows.schema();
  if (rows.num_rows() > kMaxRows) {
    return InvalidArgumentError(StrCat("lazybb takes at most ", kMaxRows, " rows"));
  }
  Size size{.rounds = config.rounds.value_or(0), .density = config.density.value_or(kDensity)};
  std::optional<double> counted_rows;
  if (!config.rounds) {
    COPPICE_ASSIGN_OR_RETURN(
        const std::vector<int64_t> counted,
        releaser.Sums({static_cast<int64_t>(rows.num_rows())}, 1, config.count));
    counted_rows = static_cast<double>(counted[0]);
    size = SizeFor(*counted_rows, config);
  }
  const SmoothMeasure measure(config.rate, size.density, size.rounds);
  COPPICE_ASSIGN_OR_RETURN(const std::vector<BudgetShare> shares, SharesOfRounds(config, measure));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<FeatureBins> bins, PublicBins(schema, config.cuts));
  COPPICE_ASSIGN_OR_RETURN(const BinnedRows binned, BinnedRows::Create(rows, bins));
  const std::unique_ptr<WeakLearner> learner = MakeLearner(schema, config, bins);
  std::vector<Problem> problems;
  const uint32_t first = config.problems == 1 ? 1 : 0;  // for two classes the second
  for (uint32_t p = 0; p < config.problems; ++p) {
    problems.emplace_back(binned.labels(), first + p, measure);
  }
  std::vector<TrainedTree> trees;
  for (uint32_t round = 0; round < size.rounds; ++round) {
    for (uint32_t p = 0; p < config.problems; ++p) {
      // A round trains a rule for each of up to thousands of classes.
      const double rounds = round + p / static_cast<double>(config.problems);
      COPPICE_RETURN_IF_ERROR(progress(rounds / size.rounds));
      COPPICE_ASSIGN_OR_RETURN(WeakRule rule,
                               problems[p].Boost(binned, *learner, round, shares[round], releaser));
      COPPICE_ASSIGN_OR_RETURN(const std::optional<double> wrong,
                               ChanceOfWrongVote(config, shares[round], counted_rows, size,
                                                 measure.MassChange(round), rule));
      trees.push_back(ToTrained(std::move(rule), first + p, schema.num_classes(), wrong));
    }
  }
  return MakeModel(schema, std::move(trees), LeafKind::kScores, /*derived=*/{}, info_, options,
                   ReleasesOf(config, size.rounds));
}

}  // namespace

const Trainer& LazyBb() {
  static const LazyBbTrainer kTrainer;
  return kTrainer;
}

}  // namespace coppice::trainers
