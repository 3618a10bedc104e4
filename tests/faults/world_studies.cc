#include "common/base/status.h"
#include "common/base/text.h"
#include "server/curator/estimation/counts/estimator.h"
#include "tests/faults/books.h"
#include "tests/faults/world_impl.h"

namespace coppice::testing {
namespace {

constexpr int64_t kLifetime = 5400;  // of studies that expire, in seconds

std::vector<LeafPrediction> LeavesOf(const curator::StudyInfo& study, const Books& books,
                                     const curator::EstimatorOptions& options) {
  const Tree& tree = (*study.forest)[0];
  const auto mechanisms = *MakeMechanisms(*study.terms, *study.forest);
  const curator::PublicCounts none{.classes = 2,
                                   .leaf = std::vector<uint64_t>(tree.num_leaves()),
                                   .label = std::vector<uint64_t>(2 * tree.num_leaves())};
  return *curator::EstimateTree(tree, *mechanisms[0],
                                {.sums = books.sums, .reports = books.reports}, none, options);
}

}  // namespace

std::string World::StudyOf(uint32_t slot) const {
  return StrCat("slot", slot, "-", generation_.at(slot));
}

// A study seals itself once its time is over, even if the clock is set back later.
bool World::MayHaveExpired(const StudyTruth& truth) const {
  return truth.expires > 0 && latest_ >= truth.expires;
}

void World::NextGeneration(const std::string& gone) {
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (StudyOf(slot) == gone) NextGeneration(slot);
  }
}

void World::MakeStudy(uint32_t slot) {
  if (!up() || slow_) return;
  const std::string id = StudyOf(slot);
  StudyTruth& truth = truths_[id];
  if (truth.made == Done::kYes) return;
  if (slot == kExpiringSlot && truth.expires == 0) truth.expires = now_ + kLifetime;
  curator::StudySpec spec = FleetStudy(id, slot);
  spec.settings.expires_unix_seconds = truth.expires;
  truth.retention_days = spec.settings.retention_days;
  truth.latest = now_;
  specs_.insert_or_assign(id, spec);
  const StatusOr<curator::StudyInfo> made = studies().Create(spec);
  if (IsInvalidArgument(made.status()) && truth.expires > 0 && truth.expires <= now_) {
    return NextGeneration(slot);  // the time was over before the study could be made
  }
  if (made.ok() && !disk_.stopped()) {
    truth.made = Done::kYes;
  } else if (made.ok() || IsExcused(made.status())) {
    truth.made = Done::kUnclear;
  } else {
    Violation(StrCat("making ", id, ": ", made.status().ToString()));
  }
}

void World::Seal(uint32_t slot) {
  if (!up()) return;
  Flow();
  StudyTruth& truth = truths_[StudyOf(slot)];
  const Status sealed = studies().Seal(StudyOf(slot)).status();
  if (truth.made != Done::kYes || truth.sealed == Done::kYes) return;
  if (sealed.ok() && !disk_.stopped()) {
    truth.sealed = Done::kYes;
  } else if (sealed.ok() || IsExcused(sealed)) {
    truth.sealed = Done::kUnclear;
  } else {
    Violation(StrCat("sealing: ", sealed.ToString()));
  }
}

void World::Remake(uint32_t slot) {
  if (!up()) return;
  Flow();
  const std::string id = StudyOf(slot);
  StudyTruth& truth = truths_[id];
  const Status gone = studies().Delete(id);
  if (truth.made != Done::kYes) return;
  if (gone.ok() && !disk_.stopped()) {
    truth.deleted = Done::kYes;
    NextGeneration(id);
    MakeStudy(slot);
  } else if (gone.ok() || IsExcused(gone)) {
    truth.deleted = Done::kUnclear;
  } else {
    Violation(StrCat("deleting: ", gone.ToString()));
  }
}

void World::BuildModel(uint32_t slot) {
  if (!up()) return;
  Flow();
  const std::string id = StudyOf(slot);
  const StatusOr<Books> books = ReadBooks(curator_.disk_store(), id);
  const curator::EstimatorOptions options{.kind = curator::EstimatorKind::kWeighted, .lambda = 0};
  const StatusOr<models::ModelInfo> built =
      studies().BuildModel(id, StrCat("model", models_built_++), options);
  if (disk_.stopped() || !books.ok()) return;
  const bool has_sums =
      books->accepted >= FleetStudy(id, slot).settings.min_reports && !books->retired;
  if (built.ok()) {
    if (!has_sums) Violation("a model of a study that is retired, or has too few reports");
    return CheckModel(id, *books, *built->model, options);
  }
  if (IsFailedPrecondition(built.status()) && !has_sums) return;
  if (!IsExcused(built.status()) && !IsNotFound(built.status())) Expect(built.status());
}

// A model must rest on exactly what was accepted.
void World::CheckModel(const std::string& study, const Books& books, const Model& model,
                       const curator::EstimatorOptions& options) {
  if (model.certificate().reports != books.accepted) {
    Violation(StrCat("a model rests on ", model.certificate().reports, " reports, accepted are ",
                     books.accepted));
  }
  if (model.leaves()[0] != LeavesOf(*studies().Get(study), books, options)) {
    Violation("a model's leaves are not those of the sums");
  }
}

// A sweep must have done all that time alone brings about.
void World::Sweep() {
  if (const Status swept = studies().Sweep(); !swept.ok()) {
    if (!IsExcused(swept)) Expect(swept);
    return;
  }
  if (disk_.stopped()) return;
  for (const auto& [id, truth] : truths_) {
    const StatusOr<Books> books = ReadBooks(curator_.disk_store(), id);
    if (!books.ok()) continue;
    const std::optional<int64_t> retires = RetiresAt(*books, truth);
    if (retires.has_value() && now_ >= *retires && !books->retired) {
      Violation(StrCat(id, " is not retired, and its time has come"));
    }
    if (books->retired && !truth.retired) ++tally_.retired;
  }
}

}  // namespace coppice::testing
