#include "tests/vectors/cases/sample_studies.h"

#include <memory>
#include <utility>

#include "common/base/text.h"
#include "common/terms/merkle.h"
#include "common/wire/proto/convert.h"
#include "tests/support/schemas.h"

namespace coppice::vectors {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;
using ::coppice::testing::Whole;

std::vector<Feature> ClinicFeatures() {
  Feature age = Numeric("age", 0, 100);
  age.unit = "years";
  return {age, Whole("visits", -2, 20), Categorical("region", {"north", "south", "east"})};
}

Schema ClinicSchema(const std::vector<std::string>& is_public) {
  const Schema schema = *Schema::Create(ClinicFeatures(), "sick", {"no", "mild", "severe"});
  return *schema.WithPublicFeatures(is_public);
}

Schema PressureSchema(const std::vector<std::string>& is_public) {
  const Target target = {.min = 40, .max = 240, .unit = "mmHg"};
  const Schema schema = *Schema::CreateRegression(ClinicFeatures(), "pressure", target);
  return *schema.WithPublicFeatures(is_public);
}

Node At(SplitKind kind, uint32_t feature, double threshold, bool missing_left, uint32_t left,
        uint32_t right) {
  return {.kind = kind,
          .missing_left = missing_left,
          .feature = feature,
          .threshold = threshold,
          .left = left,
          .right = right};
}

// Asks about every feature, with every kind of split; six leaves.
Tree BroadTree(const Schema& schema) {
  return *Tree::Create({At(SplitKind::kNumeric, 0, 50, true, 1, 4),
                        At(SplitKind::kCategory, 2, 1, false, 2, 3),
                        {},
                        {},
                        At(SplitKind::kMissing, 2, 0, false, 5, 6),
                        {},
                        At(SplitKind::kNumeric, 1, 3.5, false, 7, 8),
                        {},
                        At(SplitKind::kCategory, 2, 3, true, 9, 10),
                        {},
                        {}},
                       schema);
}

// Asks about one number; three leaves.
Tree NarrowTree(const Schema& schema, double cut) {
  return *Tree::Create({At(SplitKind::kNumeric, 1, cut, true, 1, 2),
                        {},
                        At(SplitKind::kNumeric, 0, 10 + cut / 2, false, 3, 4),
                        {},
                        {}},
                       schema);
}

SampleStudy MakeStudy(Terms terms, Forest forest) {
  std::vector<std::string> trees;
  for (const Tree& tree : forest) trees.push_back(ToProto(tree).SerializeAsString());
  terms.trees = static_cast<uint32_t>(forest.size());
  terms.forest_root = MakeMerkleTree(trees).root;
  return {.terms = std::move(terms), .forest = std::move(forest), .trees = std::move(trees)};
}

Terms MakeTerms(const std::string& name, const Schema& schema, uint64_t epsilon_nanos,
                MechanismKind mechanism) {
  return {.study = name,
          .schema = std::make_shared<const Schema>(schema),
          .epsilon = *Budget::FromNanos(epsilon_nanos),
          .mechanism = mechanism};
}

Forest ThreeTrees(const Schema& schema) {
  return {BroadTree(schema), NarrowTree(schema, 4.5), Tree::SingleLeaf()};
}

SampleStudy ClinicStudy(const std::string& name, const std::vector<std::string>& is_public,
                        uint64_t epsilon_nanos, MechanismKind mechanism) {
  const Schema schema = ClinicSchema(is_public);
  return MakeStudy(MakeTerms(name, schema, epsilon_nanos, mechanism), ThreeTrees(schema));
}

SampleStudy PressureStudy(const std::string& name, const std::vector<std::string>& is_public,
                          const NumberRange& rounding, MechanismKind mechanism) {
  const Schema schema = PressureSchema(is_public);
  Terms terms = MakeTerms(name, schema, 1'300'000'000, mechanism);
  terms.rounding = rounding;
  return MakeStudy(std::move(terms), {BroadTree(schema)});
}

SampleStudy WindowStudy() {
  SampleStudy study = PressureStudy("number-alone", {"age", "visits", "region"},
                                    {.low = 60, .high = 200}, MechanismKind::kWindowResponse);
  study.terms.window = Window{.reach = 24, .half_width = 9};
  return study;
}

SampleStudy JoinedStudy() {
  SampleStudy study = ClinicStudy("joined", {"age", "visits", "region"}, 1'000'000'000,
                                  MechanismKind::kSubsetSelection);
  study.terms.joined_by = "person";
  return study;
}

}  // namespace

std::vector<SampleStudy> SampleStudies() {
  return {
      ClinicStudy("private", {}, 1'000'000'000, MechanismKind::kLocalHashing),
      ClinicStudy("laplace", {}, 700'000'000, MechanismKind::kLaplaceJoint),
      ClinicStudy("some-public", {"region"}, 2'000'000'000, MechanismKind::kHadamardResponse),
      ClinicStudy("all-public", {"age", "visits", "region"}, 500'000'000, MechanismKind::kDirect),
      JoinedStudy(),
      PressureStudy("number", {}, {.low = 71.5, .high = 190.25}, MechanismKind::kOptimizedUnary),
      PressureStudy("number-public", {"age", "region"}, {.low = 20, .high = 300},
                    MechanismKind::kSignedHadamard),
      WindowStudy(),
  };
}

SampleStudy SampleStudyOfTrees(uint32_t trees) {
  const Schema schema = ClinicSchema({});
  Forest forest = {BroadTree(schema)};
  while (forest.size() < trees) {
    forest.push_back(NarrowTree(schema, static_cast<double>(forest.size())));
  }
  return MakeStudy(
      MakeTerms(StrCat("forest_of_", trees), schema, 1'000'000'000, MechanismKind::kSymmetricUnary),
      std::move(forest));
}

}  // namespace coppice::vectors
