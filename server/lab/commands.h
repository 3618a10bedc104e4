// The commands of coppice-lab. Each has a struct of its flags, declares them on `command` with
// their checks, and runs: it prints lines or one JSON object to stdout.
//
// A printed accuracy carries no guarantee: a score on private rows is itself a release. Models and
// sums are as private as the daemon's, from the same code and the same random source.
//
// Errors     Check...Flags(): InvalidArgument names flags that do not go together. Run...(): the
//            errors of reading, training and writing.

#ifndef COPPICE_SERVER_LAB_COMMANDS_H_
#define COPPICE_SERVER_LAB_COMMANDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/command_line/command_line.h"
#include "common/predictor/fitted_predictor.h"
#include "common/privacy/budget.h"
#include "server/lab/measure_epsilon/audit.h"
#include "server/lab/rows.h"

namespace coppice::lab {

// The value of --epsilon for no privacy, which experiments compare with.
inline constexpr char kNoPrivacy[] = "inf";

// None for kNoPrivacy. InvalidArgument if the text is neither that nor a budget.
inline StatusOr<std::optional<Budget>> ParseEpsilonFlag(const std::string& text) {
  if (text == kNoPrivacy) return std::optional<Budget>();
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(text));
  return std::optional<Budget>(epsilon);
}

// coppice-lab local: the accuracy that a local study would have, on files or the synthetic pair.
struct LocalFlags {
  std::string public_file, private_file, schema_file, test_file;
  std::string data_file;  // instead of public and private files: split at random
  size_t public_rows = 0, private_rows = 0;
  std::string synthetic;
  double holdout = 0.2;
  bool strict = false;

  std::string epsilon;
  std::string mechanism = "auto";
  std::string paper;       // empty: the product's settings
  std::string split_rule;  // empty: see SplitRuleOf() in local.cc
  std::string criterion = "gini";
  std::optional<uint32_t> trees;
  std::string estimator;  // empty: see EstimatorOf()
  std::string evidence = "both";
  std::string rounding;  // LOW:HIGH, for numbers; empty: chosen
  std::string public_labels = "as_given";
  bool public_shift = false;
  std::vector<std::string> public_features;  // none: as the schema marks them
  std::string attack;                        // empty: all devices are honest
  double liars = 0.01;
  std::string aim = "leaves";
  uint32_t target = 1;
  std::string claim = "own";
  // Several values only with `grid`; none: the paper's with `grid`, one default without.
  std::vector<uint32_t> depths, min_leaves;
  std::vector<std::string> lambdas;
  uint32_t prune_min_depth = 1;

  bool grid = false;
  uint32_t repeats = 20;
  uint32_t threads = 2;
  uint64_t seed = 1;
  bool per_repetition = false;
  bool json = false;

  bool without_rows() const { return public_file == kNone; }
  bool without_labels() const { return without_rows() || public_labels == kNone; }
};
void AddLocalFlags(const Command& command, LocalFlags& flags);
Status CheckLocalFlags(const LocalFlags& flags);
Status RunLocal(const LocalFlags& flags);
// What the flags ask to run (grid.h) on rows of the schema.
struct RunOptions;
StatusOr<RunOptions> ResolveLocalRun(const LocalFlags& flags);
// The flags above that name rows, for programs that run something else on the same splits.
// ResolveLocalRows() calls `warn` with the fields that it changed.
void AddLocalRowFlags(const Command& command, LocalFlags& flags);
Status CheckLocalRowFlags(const LocalFlags& flags);
StatusOr<RowSource> ResolveLocalRows(const LocalFlags& flags,
                                     const std::function<void(const std::string&)>& warn);

// coppice-lab central: the accuracy that a central trainer reaches on files, and at which epsilon.
// Trains and scores `repeats` times.
struct CentralFlags {
  std::string data_file, schema_file, test_file;
  std::string algorithm;
  std::string epsilon;
  std::string delta = "0";
  std::vector<std::string> settings;  // "name=value"
  std::string public_source;          // a file, or a share of the rows to train on; empty: none
  size_t public_rows = 0;             // that many of the rows to train on; 0: none
  double holdout = 0.1;
  bool strict = false;
  bool unlabelled = false;
  uint32_t repeats = 1;
  uint32_t threads = 1;
  uint64_t seed = 0;
  bool votes = false;
  bool per_repetition = false;
  bool json = false;
};
void AddCentralFlags(const Command& command, CentralFlags& flags);
Status RunCentral(const CentralFlags& flags);

// coppice-lab curve: the accuracy that an epsilon buys. Runs algorithms, also local studies, at
// several epsilons and without privacy over the same splits of one table; prints a table and
// conclusions in sentences, and writes a drawing and a page.
struct CurveFlags {
  CentralFlags table;  // without its algorithm and epsilon
  std::vector<std::string> algorithms = {"auto"};
  std::vector<std::string> epsilons = {"0.1", "0.5", "1", "2", "4"};
  std::vector<uint64_t> devices;  // in local studies
  std::string public_source;      // for local studies and auto: a file, or a share of the rows
  std::string output_dir;         // empty: nothing is written
  bool force = false;
};
void AddCurveFlags(const Command& command, CurveFlags& flags);
Status CheckCurveFlags(const CurveFlags& flags);
Status RunCurve(const CurveFlags& flags);

// coppice-lab plan: the accuracy to expect of a study, from public rows alone, before any device is
// asked. Prints a table over epsilon and the number of devices, draws it on request (with gnuplot,
// which must be installed), and finds the epsilon or the number of devices that an accuracy needs.
struct PlanFlags {
  std::string public_file, schema_file;
  std::string public_labels = "as_given";
  std::string rounding;  // LOW:HIGH, for numbers; empty: chosen
  std::vector<std::string> epsilons = {"0.25", "0.5", "1", "2", "4", "8"};
  std::vector<uint64_t> devices = {1'000, 10'000, 100'000, 1'000'000};
  std::string mechanism = "auto";  // or "all"
  size_t max_payload = 0;
  double accuracy = 0;          // the wanted one; 0: not asked
  uint64_t min_batch = 0;       // of a relay; 0: no relay
  std::string delta;            // of its batches; empty: DefaultShuffleDelta()
  std::string central_epsilon;  // the wanted one, of its batches; empty: not asked
  std::string plot_file;
  std::string html_file;
  bool force = false;  // replace the page of `html_file`
  uint64_t seed = 1;
  bool strict = false;
  bool json = false;
};
void AddPlanFlags(const Command& command, PlanFlags& flags);
Status CheckPlanFlags(const PlanFlags& flags);
Status RunPlan(const PlanFlags& flags);

// coppice-lab public: what public rows alone predict, on a file of other rows. Nothing here is
// private.
struct PublicFlags {
  std::string public_file, test_file, schema_file;
  std::string predictions_file;  // empty: not written
  PredictorOptions options;
  bool strict = false;
  bool json = false;
};
void AddPublicFlags(const Command& command, PublicFlags& flags);
Status RunPublic(const PublicFlags& flags);

// coppice-lab synthesize: writes the synthetic pair as files, for trying the daemon and the command
// line: public.csv, private.csv, test.csv and schema.json, in a folder that is made if needed.
// AlreadyExists if one of them exists.
struct SynthesizeFlags {
  std::string synthetic = "gamma=0.5,private=10000,public=50,test=2000";
  std::string output_dir;
  uint64_t seed = 1;
};
void AddSynthesizeFlags(const Command& command, SynthesizeFlags& flags);
Status RunSynthesize(const SynthesizeFlags& flags);

// coppice-lab audit: measures how much privacy this binary's mechanisms and trainers lose at least.
// FailedPrecondition if the bound exceeds the claim: the mechanism is broken, or an event of
// probability 1 - confidence has happened.
struct AuditFlags {
  std::string mechanism;  // one of the two is set
  std::string algorithm;
  std::string epsilon;
  uint32_t leaves = 2;
  uint32_t classes = 2;
  uint32_t reports = 0;  // 0: audits one report
  std::string delta;     // empty: DefaultShuffleDelta()
  AuditOptions options;
  bool json = false;
};
void AddAuditFlags(const Command& command, AuditFlags& flags);
Status CheckAuditFlags(const AuditFlags& flags);
Status RunAuditCommand(const AuditFlags& flags);

// coppice-lab amplify: the central epsilon of local reports towards anyone who sees which ticket
// got which answer but not which device had it, or the largest local epsilon for a central one
// (docs/research/mechanisms.md#amplification). Needs no rows.
struct AmplifyFlags {
  std::vector<std::string> epsilons;  // one of the two is set
  std::string central_epsilon;
  std::vector<uint64_t> reports;
  std::string delta;  // empty: DefaultShuffleDelta()
  std::string mechanism = "generic";
  uint32_t leaves = 1;
  uint32_t classes = 2;
  double dishonest = 0;
  bool json = false;
};
void AddAmplifyFlags(const Command& command, AmplifyFlags& flags);
Status CheckAmplifyFlags(const AmplifyFlags& flags);
Status RunAmplify(const AmplifyFlags& flags);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_COMMANDS_H_
