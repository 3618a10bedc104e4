// What trainers of several trees share: their parameters, which rows each tree sees, and the
// certificate.
//
// With rows=groups each row is in one tree, drawn uniformly and independently of the other rows:
// all trees together then cost what one costs (docs/research/mechanisms.md#groups; groups of fixed
// sizes would cost more). With rows=all each tree sees all rows and gets an equal share of epsilon.
//
// Threads    plain values.

#ifndef COPPICE_SERVER_TRAINERS_CORE_ENSEMBLE_H_
#define COPPICE_SERVER_TRAINERS_CORE_ENSEMBLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/grower.h"
#include "server/trainers/core/leaves.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/core/settings.h"
#include "server/trainers/core/split_sums.h"
#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

struct EnsembleOptions {
  uint32_t trees = 1;
  bool groups = true;
  bool average = false;  // trees vote by their leaves' probabilities instead of their weights
  uint32_t cuts = 0;
  SelectionRule selection = SelectionRule::kPermuteAndFlip;
};

// A trainer's defaults for unset parameters.
struct EnsembleDefaults {
  const char* trees = "10";
  const char* rows = "groups";
  const char* vote = "pooled";
  const char* cuts = "255";
  bool selects = true;  // whether it has a parameter for the selection rule
};

// Returns trees, rows, vote, cuts and, if it selects, selection.
std::vector<Parameter> EnsembleParameters(const EnsembleDefaults& defaults);
EnsembleOptions ReadEnsemble(const CheckedSettings& settings);

// Returns depth; the default is chosen from the schema if `default_value` is empty.
Parameter DepthParameter(std::string default_value, std::string description);
// Returns structure: the part of a tree's epsilon that pays for its splits, not its leaves.
Parameter StructureParameter(std::string default_value);
// Returns score: what a good split is, for classes.
Parameter ScoreParameter(std::string default_value);
StatusOr<SplitScore> ScoreOf(const CheckedSettings& settings, const Schema& schema);

// InvalidArgument if the algorithm cannot do the schema's task, or a feature has too many
// categories.
Status CheckTask(const AlgorithmInfo& info, const Schema& schema);

// InvalidArgument if a reference without privacy is asked for an epsilon.
Status CheckHasNoEpsilon(const AlgorithmInfo& info, const TrainOptions& options);

// InvalidArgument if there are public rows that the algorithm cannot start from, or no epsilon:
// then nothing is gained by them.
Status CheckTakesPublicRows(const AlgorithmInfo& info, const TrainOptions& options);

// InvalidArgument if this many trees with this many levels would not fit into memory.
Status CheckSize(const EnsembleOptions& options, uint32_t depth);

// The most that a model may have. It follows from the schema and the settings alone, as a plan
// does.
struct ModelShape {
  uint64_t trees = 0;
  uint64_t leaves = 0;      // of all trees; 0: not known
  bool scores = false;      // leaves hold scores and what is known of their noise, not counts
  std::string advice = "";  // what makes the model smaller: "take fewer trees"
};

// The most bytes that a model of this shape takes as a message; 0 if the shape is not known.
uint64_t MostModelBytes(const ModelShape& shape, const Schema& schema);

// Returns the set depth. If none is set, as many levels as there are features, at most
// kMaxTrainedDepth, and no more than a model of so many trees has room for in kUsualModelBytes.
uint32_t DepthOf(const CheckedSettings& settings, const Schema& schema, uint32_t trees);
// A little less than a daemon takes by default (63 MiB): a default must not be refused. Ten trees
// of two classes and 16 levels take half of it; of nine classes they would take more.
inline constexpr uint64_t kUsualModelBytes = uint64_t{60} << 20;

// Warns of a model that is large as a message, and several times that as a file of text.
std::vector<std::string> WarnOfSize(const ModelShape& shape, const Schema& schema);

// Warns below how many rows noise hides most of what leaves say, and what to expect then; empty if
// that number is small. A rule of thumb: then an average leaf, summed over the trees that see
// different rows, holds fewer rows than a sixth of the noise's deviation.
std::vector<std::string> WarnOfNoise(const EnsembleOptions& options, uint32_t depth,
                                     const BudgetShare& leaves);

// Returns the share that one tree may spend.
StatusOr<BudgetShare> ShareOfTree(const EnsembleOptions& options, const BudgetShare& whole);

// Collects what every tree of an ensemble releases.
class Releases {
 public:
  explicit Releases(const EnsembleOptions& options);
  // `rows` names the rows that trees see ("rows"): each tree sees a group of them, or all.
  Releases(const EnsembleOptions& options, std::string_view rows);

  // Adds nothing without privacy. `times` counts for one tree. `share` must be of epsilon.
  // `rho_pico` is 0 if no rho is stated.
  void Add(std::string what, std::string_view mechanism, const BudgetShare& share,
           uint64_t times = 1, uint64_t delta_atto = 0, uint64_t rho_pico = 0);
  std::vector<Release> Take() && { return std::move(releases_); }

 private:
  uint64_t trees_;  // the number that see the same rows
  std::string part_;
  std::vector<Release> releases_;
};
std::string_view SelectionName(SelectionRule rule);

inline constexpr char kDiscreteLaplace[] = "discrete_laplace";
inline constexpr char kLeafSums[] = "sums of the classes (or of the target) in every leaf";
// Adds a median at every node of a level, one release per level.
void AddMedians(const std::vector<BudgetShare>& levels, SelectionRule rule, Releases& releases);

// Draws which positions in `rows` each tree sees.
StatusOr<std::vector<std::vector<uint32_t>>> DrawGroups(const std::vector<uint32_t>& rows,
                                                        const EnsembleOptions& options,
                                                        PrivateReleaser& releaser);
std::vector<uint32_t> AllRows(size_t count);

// A trained tree.
struct TrainedTree {
  Tree tree = Tree::SingleLeaf();
  std::vector<LeafPrediction> leaves;  // with weights
};

// Makes a leaf of a model of summed scores (LeafKind::kScores); its label is that of the largest
// output. `noise` is that of the outputs.
LeafPrediction ScoreLeaf(std::vector<double> outputs, std::vector<OutputNoise> noise,
                         uint32_t node);

// Releases the leaves of a grown tree.
StatusOr<TrainedTree> TrainLeaves(const BinnedRows& rows, const GrownTree& grown,
                                  Neighbours neighbours, const BudgetShare& share,
                                  PrivateReleaser& releaser);

StatusOr<Model> MakeModel(const Schema& schema, std::vector<TrainedTree> trees, bool average,
                          const AlgorithmInfo& info, const TrainOptions& options,
                          std::vector<Release> releases);
// Keeps the leaves as they are. `chosen` says in words what the algorithm decided from what it
// released.
StatusOr<Model> MakeModel(const Schema& schema, std::vector<TrainedTree> trees, LeafKind leaf_kind,
                          std::vector<DerivedFeature> derived, const AlgorithmInfo& info,
                          const TrainOptions& options, std::vector<Release> releases,
                          std::string chosen = "", SharedNoise shared_noise = {});

// Runs a whole trainer whose trees differ only in how they are grown: bins, groups, trees, leaves,
// model. `grow` grows one tree on the rows that it is given.
using GrowOne = std::function<StatusOr<GrownTree>(
    const BinnedRows& binned, const std::vector<uint32_t>& group, PrivateReleaser& releaser)>;
StatusOr<Model> TrainEnsemble(const RowBlocks& rows, const EnsembleOptions& ensemble,
                              const AlgorithmInfo& info, const TrainOptions& options,
                              const BudgetShare& leaves, std::vector<Release> releases,
                              const GrowOne& grow, PrivateReleaser& releaser,
                              const TrainProgress& progress);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_ENSEMBLE_H_
