#include "server/trainers/registry.h"

#include <array>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/trainers/boosting/boosting.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/dpboost/dpboost.h"
#include "server/trainers/forests/forests.h"
#include "server/trainers/lazybb/lazybb.h"

namespace coppice::trainers {

absl::Span<const Trainer* const> AllTrainers() {
  static const std::array kTrainers = {
      &Auto(), &LazyBb(),   &DpBoost(),      &Spe(),        &Sspe1(),           &Sspe2(),
      &Pte(),  &DiPriMe(),  &MedianForest(), &Rdt(),        &Dpert(),           &MaxTree(),
      &Dpdf(), &Logistic(), &RandomForest(), &ExtraTrees(), &GradientBoosting()};
  return kTrainers;
}

StatusOr<const Trainer*> FindTrainer(std::string_view name) {
  for (const Trainer* trainer : AllTrainers()) {
    if (trainer->info().name == name) return trainer;
  }
  return NotFoundError(
      StrCat("there is no algorithm \"", name, "\"; there are ",
             StrJoin(AllTrainers(), ", ", [](std::string* out, const Trainer* trainer) {
               StrAppend(out, trainer->info().name);
             })));
}

}  // namespace coppice::trainers
