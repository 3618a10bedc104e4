// Every algorithm that the daemon offers, as a job.

#include "server/datasets/jobs.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::central {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.

std::shared_ptr<const Schema> SchemaOf(bool regression) {
  const std::vector<Feature> features = {Numeric("age", 0, 100), Categorical("town", {"a", "b"})};
  return std::make_shared<const Schema>(
      regression ? *Schema::CreateRegression(features, "price", {.min = 0, .max = 10})
                 : *Schema::Create(features, "label", {"no", "yes"}));
}

v1::RowBlock BlockFor(bool regression) {
  v1::RowBlock block = Block(500);
  if (!regression) return block;
  for (int i = 0; i < block.labels_size(); ++i) block.add_targets(i % 10);
  block.clear_labels();
  return block;
}

TEST(AlgorithmsTest, EachOneMakesAModelThatCostsWhatWasPlanned) {
  const std::vector<const trainers::Trainer*> trainers(trainers::AllTrainers().begin(),
                                                       trainers::AllTrainers().end());
  MemoryStore store;
  ASSERT_OK_AND_ASSIGN(const Central central, OpenCentral(store, trainers));
  const std::vector<const trainers::AlgorithmInfo*> offered = central.jobs->Algorithms();
  EXPECT_FALSE(offered.empty());
  for (const trainers::AlgorithmInfo* algorithm : offered) {
    for (const bool regression : {false, true}) {
      if (regression ? !algorithm->regression : !algorithm->classification) continue;
      SCOPED_TRACE(algorithm->name + (regression ? " of numbers" : " of classes"));
      const std::string id = algorithm->name + (regression ? "-numbers" : "-classes");
      DatasetSpec spec = SpecOf(id, kEpsilon);
      spec.schema = SchemaOf(regression);
      spec.cap.neighbours = algorithm->neighbours;
      ASSERT_OK(central.datasets->Create(spec));
      ASSERT_OK(UploadBlock(*central.datasets, id, 0, BlockFor(regression), true));
      JobRequest request = RequestOf(id, kEpsilon, id);
      request.spec.algorithm = algorithm->name;
      ASSERT_OK(central.jobs->Submit(request));
      const JobInfo ended = AwaitEnd(*central.jobs, id);
      ASSERT_EQ(ended.state, JobState::kDone) << ended.reason;
      ASSERT_OK_AND_ASSIGN(const models::ModelInfo model, central.models->Get(id));
      EXPECT_EQ(model.model->certificate().epsilon_nanos, ended.cost.epsilon_nanos);
      EXPECT_LE(ended.cost.epsilon_nanos, kEpsilon);
      model.model->Predict(Row{50, 1});
    }
  }
}

}  // namespace
}  // namespace coppice::central
