// All algorithms. A new one must be listed in registry.cc.

#ifndef COPPICE_SERVER_TRAINERS_REGISTRY_H_
#define COPPICE_SERVER_TRAINERS_REGISTRY_H_

#include <string_view>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

// Returns every algorithm, each of which has a unique name.
absl::Span<const Trainer* const> AllTrainers();

// NotFound lists the names of the algorithms.
StatusOr<const Trainer*> FindTrainer(std::string_view name);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_REGISTRY_H_
