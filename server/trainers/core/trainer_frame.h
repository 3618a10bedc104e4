// The frame of a trainer that first turns a job's request into a configuration: how many trees,
// which shares, what is released. Plan, warnings and training all use it, and therefore agree.

#ifndef COPPICE_SERVER_TRAINERS_CORE_TRAINER_FRAME_H_
#define COPPICE_SERVER_TRAINERS_CORE_TRAINER_FRAME_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/table/row_blocks.h"
#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

// Guarantee  what trainer.h says of Plan(), Warnings() and Train(), if Configure() uses only the
//            schema, the settings and the options, as its signature says.
// Threads    immutable.
template <typename Config>
class TrainerFrame : public Trainer {
 public:
  using Trainer::Train;
  using Trainer::TrainWith;

  StatusOr<std::vector<Release>> Plan(const Schema& schema,
                                      const TrainOptions& options) const final {
    COPPICE_ASSIGN_OR_RETURN(const Config config, CheckAndConfigure(schema, options));
    return PlanOf(config);
  }

  StatusOr<std::vector<std::string>> Warnings(const Schema& schema,
                                              const TrainOptions& options) const final {
    COPPICE_ASSIGN_OR_RETURN(const Config config, CheckAndConfigure(schema, options));
    COPPICE_ASSIGN_OR_RETURN(std::vector<std::string> warnings, WarningsOf(config));
    for (std::string& warning : WarnOfSize(ShapeOf(config, schema), schema)) {
      warnings.push_back(std::move(warning));
    }
    return warnings;
  }

  StatusOr<uint64_t> MostModelBytes(const Schema& schema, const TrainOptions& options) const final {
    COPPICE_ASSIGN_OR_RETURN(const Config config, CheckAndConfigure(schema, options));
    return trainers::MostModelBytes(ShapeOf(config, schema), schema);
  }

  StatusOr<std::string> AdviceOnSize(const Schema& schema,
                                     const TrainOptions& options) const final {
    COPPICE_ASSIGN_OR_RETURN(const Config config, CheckAndConfigure(schema, options));
    return ShapeOf(config, schema).advice;
  }

  StatusOr<uint64_t> MostBytesOfRow(const Schema& schema, const TrainOptions& options) const final {
    COPPICE_ASSIGN_OR_RETURN(const Config config, CheckAndConfigure(schema, options));
    return BytesOfRow(config, schema);
  }

  StatusOr<Model> Train(const RowBlocks& rows, const TrainOptions& options, PrivateRandom& random,
                        const TrainProgress& progress) const final {
    PrivateReleaser releaser(random);
    return TrainWith(rows, options, releaser, progress);
  }

  StatusOr<Model> TrainWith(const RowBlocks& rows, const TrainOptions& options,
                            PrivateReleaser& releaser, const TrainProgress& progress) const final {
    COPPICE_ASSIGN_OR_RETURN(const Config config, CheckAndConfigure(rows.schema(), options));
    return TrainAs(config, rows, options, releaser, progress);
  }

  // TrainAs() has a releaser and no source of noise.
  bool CanResume() const final { return true; }

 private:
  // The schema fits the algorithm's task, and the settings are those that it states.
  virtual StatusOr<Config> Configure(const Schema& schema, const CheckedSettings& settings,
                                     const TrainOptions& options) const = 0;
  virtual std::vector<Release> PlanOf(const Config& config) const = 0;
  virtual StatusOr<std::vector<std::string>> WarningsOf(const Config& config) const = 0;
  // As MostBytesOfRow().
  virtual StatusOr<uint64_t> BytesOfRow(const Config& /*config*/, const Schema& /*schema*/) const {
    return 0;
  }
  // The most that a model of this configuration may have.
  virtual ModelShape ShapeOf(const Config& /*config*/, const Schema& /*schema*/) const {
    return {};
  }
  virtual StatusOr<Model> TrainAs(const Config& config, const RowBlocks& rows,
                                  const TrainOptions& options, PrivateReleaser& releaser,
                                  const TrainProgress& progress) const = 0;

  StatusOr<Config> CheckAndConfigure(const Schema& schema, const TrainOptions& options) const {
    COPPICE_RETURN_IF_ERROR(CheckTask(info(), schema));
    COPPICE_RETURN_IF_ERROR(CheckTakesPublicRows(info(), options));
    COPPICE_ASSIGN_OR_RETURN(const CheckedSettings settings,
                             CheckedSettings::Create(info().parameters, options.settings));
    return Configure(schema, settings, options);
  }
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_TRAINER_FRAME_H_
