// The interface of central trainers: a table in, a model out, and the exact list of releases.
//
// Control flow depends on private rows only through released values: no private count, range or
// label decides what is done next. The running time of Train() is not protected.
//
// Without an epsilon it is the same algorithm without noise, which always takes the best candidate;
// `auto` is then gradient_boosting. Only coppice-lab, curves and Python use that, for comparison.
// Its certificate lists no release.

#ifndef COPPICE_SERVER_TRAINERS_CORE_TRAINER_H_
#define COPPICE_SERVER_TRAINERS_CORE_TRAINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/certificate.h"
#include "common/model/model.h"
#include "common/privacy/budget.h"
#include "common/privacy/neighbours.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"
#include "common/table/row_blocks.h"
#include "common/table/table.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/core/settings.h"

namespace coppice::trainers {

struct AlgorithmInfo {
  std::string name;     // "spe"
  std::string summary;  // one line
  std::string source;   // paper and section
  Neighbours neighbours = Neighbours::kAddOrRemoveRow;
  bool delta = false;        // can use one
  bool public_rows = false;  // can start from them
  bool is_private = true;    // false: a reference that takes no epsilon, only for coppice-lab
  bool classification = true;
  bool regression = false;
  std::vector<Parameter> parameters;
};

struct TrainOptions {
  std::optional<Budget> epsilon;  // of everything; unset: no privacy
  uint64_t delta_atto = 0;        // in 1e-18; 0: pure epsilon-DP
  // With a delta, adds costs up as rho. An algorithm that can states a rho per release, at most the
  // largest that implies epsilon and delta, and keeps to it whatever it decides.
  bool concentrated = false;
  Settings settings{};  // missing ones have their defaults
  // How many threads may work on one tree. What is trained is the same for any number; algorithms
  // other than `auto` use one.
  uint32_t threads = 1;
  // Rows to start from that nothing protects, because everybody may see them; null: there are none.
  // That they are public is the owner's claim, which no program can check. They must not depend on
  // the private table in any way: neither on its labels or features, nor on who is in it. Their
  // schema is that of the private rows.
  std::shared_ptr<const Table> public_rows{};
};

// Called now and then with the finished share, 0 to 1; an error ends the training with that error.
using TrainProgress = std::function<Status(double done)>;

// Guarantee  Train() is epsilon-DP for the neighbours that info() names, where epsilon is the cost
//            of Plan()'s releases (certificate.h: TotalCost), at most options.epsilon; with a delta
//            it is (epsilon, delta)-DP. The plan follows from the schema and the options alone, so
//            a job's cost is known before it runs; the model's certificate lists exactly these
//            releases.
// Errors     InvalidArgument for a schema, an epsilon or a setting that the algorithm cannot use,
//            with what to change; what `progress` returns (a cancelled job); what the PrivateRandom
//            returns. Nothing was released then.
// Threads    immutable; Train() may run on several threads, each with its own random source.
class Trainer {
 public:
  virtual ~Trainer() = default;

  virtual const AlgorithmInfo& info() const = 0;

  // Returns everything that Train() would release. Checks the schema and the settings.
  virtual StatusOr<std::vector<Release>> Plan(const Schema& schema,
                                              const TrainOptions& options) const = 0;

  // Returns what the owner of a job should know first, such as that epsilon is too small to be
  // useful. Like the plan, it follows from the schema and the options alone.
  virtual StatusOr<std::vector<std::string>> Warnings(const Schema& schema,
                                                      const TrainOptions& options) const = 0;

  // Returns the most bytes that the model takes as a message; 0: not known. Like the plan, it
  // follows from the schema and the options alone.
  virtual StatusOr<uint64_t> MostModelBytes(const Schema& /*schema*/,
                                            const TrainOptions& /*options*/) const {
    return 0;
  }

  // What makes the model smaller, in words: "take fewer trees". Empty where MostModelBytes() is 0.
  virtual StatusOr<std::string> AdviceOnSize(const Schema& /*schema*/,
                                             const TrainOptions& /*options*/) const {
    return "";
  }

  // Returns the most bytes of memory that Train() takes for each row; a model, and the rows that
  // are read at a time, come on top. 0: not known. Like the plan, it follows from the schema and
  // the options alone.
  virtual StatusOr<uint64_t> MostBytesOfRow(const Schema& /*schema*/,
                                            const TrainOptions& /*options*/) const {
    return 0;
  }

  // `rows` may be empty. Rows that are kUnlabelled count wherever no label is needed. The rows are
  // read several times, the last time after something was released; no table of their numbers is
  // made.
  virtual StatusOr<Model> Train(const RowBlocks& rows, const TrainOptions& options,
                                PrivateRandom& random, const TrainProgress& progress) const = 0;

  // Trains with the caller's releaser, for example a test's that compares what is released with
  // what was asked for.
  virtual StatusOr<Model> TrainWith(const RowBlocks& rows, const TrainOptions& options,
                                    PrivateReleaser& releaser,
                                    const TrainProgress& progress) const {
    return Train(rows, options, releaser.random_, progress);
  }

  // Whether TrainWith() draws all noise and every coin by the releaser, and so comes to the same
  // releases in a second run that is given those of the first (resumable_releaser.h). A job of
  // such an algorithm goes on after a crash.
  virtual bool CanResume() const { return false; }

  // Trains on a table in memory.
  StatusOr<Model> Train(const Table& rows, const TrainOptions& options, PrivateRandom& random,
                        const TrainProgress& progress) const {
    return Train(BlocksOfTable(rows), options, random, progress);
  }
  StatusOr<Model> TrainWith(const Table& rows, const TrainOptions& options,
                            PrivateReleaser& releaser, const TrainProgress& progress) const {
    return TrainWith(BlocksOfTable(rows), options, releaser, progress);
  }
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_TRAINER_H_
