// The frame of a trainer that first resolves what a job asks for: how many trees, which shares,
// what is released. Plan, warnings and training all follow from that, and so agree.
//
// Guarantee  what trainer.h says of Plan(), Warnings() and Train(), if Resolve() looks at the
// schema,
//            the settings and the options alone, as its signature has it.
// Threads    immutable.

#ifndef COPPICE_SERVER_TRAINERS_CORE_RESOLVING_TRAINER_H_
#define COPPICE_SERVER_TRAINERS_CORE_RESOLVING_TRAINER_H_

#include <string>
#include <vector>

#include "common/base/status_macros.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

template <typename Resolved>
class ResolvingTrainer : public Trainer {
 public:
  absl::StatusOr<std::vector<Release>> Plan(const Schema& schema,
                                            const TrainOptions& options) const final {
    COPPICE_ASSIGN_OR_RETURN(const Resolved resolved, CheckAndResolve(schema, options));
    return PlanOf(resolved);
  }

  absl::StatusOr<std::vector<std::string>> Warnings(const Schema& schema,
                                                    const TrainOptions& options) const final {
    COPPICE_ASSIGN_OR_RETURN(const Resolved resolved, CheckAndResolve(schema, options));
    return WarningsOf(resolved);
  }

  absl::StatusOr<Model> Train(const Table& rows, const TrainOptions& options, PrivateRandom& random,
                              const TrainProgress& progress) const final {
    COPPICE_ASSIGN_OR_RETURN(const Resolved resolved, CheckAndResolve(rows.schema(), options));
    return TrainAs(resolved, rows, options, random, progress);
  }

 private:
  // The schema is one of the algorithm's task, and the settings are those that it states.
  virtual absl::StatusOr<Resolved> Resolve(const Schema& schema, const CheckedSettings& settings,
                                           const TrainOptions& options) const = 0;
  virtual std::vector<Release> PlanOf(const Resolved& resolved) const = 0;
  virtual absl::StatusOr<std::vector<std::string>> WarningsOf(const Resolved& resolved) const = 0;
  virtual absl::StatusOr<Model> TrainAs(const Resolved& resolved, const Table& rows,
                                        const TrainOptions& options, PrivateRandom& random,
                                        const TrainProgress& progress) const = 0;

  absl::StatusOr<Resolved> CheckAndResolve(const Schema& schema,
                                           const TrainOptions& options) const {
    COPPICE_RETURN_IF_ERROR(CheckTask(info(), schema));
    COPPICE_ASSIGN_OR_RETURN(const CheckedSettings settings,
                             CheckedSettings::Create(info().parameters, options.settings));
    return Resolve(schema, settings, options);
  }
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_RESOLVING_TRAINER_H_
