#include "server/trainers/registry.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/trainers/boosting/boosting.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/dpboost/dpboost.h"
#include "server/trainers/forests/forests.h"
#include "server/trainers/lazybb/lazybb.h"

namespace coppice::trainers {

absl::Span<const Trainer* const> AllTrainers() {
  static const std::array kTrainers = {
      &Auto(), &LazyBb(),   &DpBoost(),      &Spe(),       &Sspe1(), &Sspe2(),
      &Pte(),  &DiPriMe(),  &MedianForest(), &Rdt(),       &Dpert(), &MaxTree(),
      &Dpdf(), &Logistic(), &RandomForest(), &ExtraTrees()};
  return kTrainers;
}

absl::StatusOr<const Trainer*> FindTrainer(absl::string_view name) {
  for (const Trainer* trainer : AllTrainers()) {
    if (trainer->info().name == name) return trainer;
  }
  return absl::NotFoundError(
      absl::StrCat("there is no algorithm \"", name, "\"; there are ",
                   absl::StrJoin(AllTrainers(), ", ", [](std::string* out, const Trainer* trainer) {
                     absl::StrAppend(out, trainer->info().name);
                   })));
}

}  // namespace coppice::trainers
