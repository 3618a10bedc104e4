// A device in a study of numbers alone, whose reports are whole numbers in a window: the law of
// what it sends, in the terms' range and around a leaf's centre, and what it declines.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/walking_random.h"

namespace coppice {
namespace {

using ::coppice::testing::Law;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::coppice::testing::WalkAllBranches;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kRentEpsilon = 2;

Terms RentTerms(const std::string& joined_by = "") {
  const Schema schema =
      *Schema::CreateRegression({Numeric("rooms", 0, 10)}, "rent", {.min = 0, .max = 1000});
  return {.study = "s",
          .schema = std::make_shared<const Schema>(schema.WithAllPublic()),
          .trees = 1,
          .epsilon = *Budget::FromEpsilon(kRentEpsilon),
          .mechanism = MechanismKind::kWindowResponse,
          .rounding = NumberRange{.low = 100, .high = 500},
          .joined_by = joined_by,
          .window = Window{.reach = 12, .half_width = 4}};
}

// rooms < 3 ? leaf 0 : leaf 1
Tree ByRooms() {
  return *Tree::Create(
      {{.kind = SplitKind::kNumeric, .threshold = 3, .left = 1, .right = 2}, {}, {}},
      *RentTerms().schema);
}

Tree WithCentres(std::vector<double> of_leaf, double half_range) {
  return *ByRooms().WithCentres({.of_leaf = std::move(of_leaf), .half_range = half_range});
}

StatusOr<Privatizer> RentDevice(const Terms& terms, const Tree& tree) {
  return Privatizer::Create(terms, {}, AllTrees({tree}));
}

Law<std::string> RentReport(const Tree& tree, const LabelledRow& row) {
  const Privatizer device = *RentDevice(RentTerms(), tree);
  return WalkAllBranches<std::string>(
      {.cut_off = 0}, [&](PrivateRandom& random) -> StatusOr<std::string> {
        COPPICE_ASSIGN_OR_RETURN(const PrivateReport report,
                                 device.Privatize(row, Ticket(), random));
        return report.payload;
      });
}

// The place of the number in its range that reports with this law have for their mean.
double MeanPlace(const Law<std::string>& law) {
  const auto mechanism = *MakeMechanism(RentTerms(), 1);
  double mean = 0;
  for (const auto& [payload, p] : law.probability) {
    std::vector<int64_t> sums(mechanism->sum_size());
    EXPECT_OK(mechanism->Add(payload, 0, absl::MakeSpan(sums)));
    mean += p * mechanism->Estimate(sums, 1).at(0, 1);
  }
  return mean;
}

TEST(WindowStudyTest, ReportsHaveTheNumberAsTheirMean) {
  for (const auto& [rent, place] : {std::pair{100.0, 0.0},
                                    {133.0, 33.0 / 400},
                                    {300.0, 0.5},
                                    {499.0, 399.0 / 400},
                                    {5000.0, 1.0},
                                    {-7.0, 0.0},
                                    {kMissingValue, 0.5}}) {
    EXPECT_NEAR(MeanPlace(RentReport(ByRooms(), {.row = {2}, .number = rent})), place, 1e-9)
        << rent;
  }
}

TEST(WindowStudyTest, ANumberIsPlacedAroundTheCentreOfItsLeaf) {
  const Tree tree = WithCentres({200, 700}, 50);
  for (const auto& [rooms, rent, place] :
       std::vector<std::tuple<double, double, double>>{{1, 200, 0.5},
                                                       {1, 225, 0.75},
                                                       {1, 700, 1},
                                                       {5, 700, 0.5},
                                                       {5, 680, 0.3},
                                                       {5, 200, 0},
                                                       {kMissingValue, 700, 0.5},
                                                       {1, kMissingValue, 0.5}}) {
    EXPECT_NEAR(MeanPlace(RentReport(tree, {.row = {rooms}, .number = rent})), place, 1e-9)
        << rooms << " " << rent;
  }
}

// Neighbours: any number for any other, at any place in any leaf's range, and none.
TEST(WindowStudyTest, ReportsOfAnyTwoNumbersStayWithinEpsilon) {
  std::vector<Law<std::string>> laws;
  for (const Tree& tree : {ByRooms(), WithCentres({200, 700}, 50)}) {
    for (const double rooms : {1.0, 5.0}) {
      for (const double rent : {-1e9, 150.0, 215.0, 300.0, 555.5, 705.0, 1e9, kMissingValue}) {
        laws.push_back(RentReport(tree, {.row = {rooms}, .number = rent}));
        EXPECT_NEAR(laws.back().total(), 1, 1e-9);
      }
    }
  }
  double worst = 0;
  for (const Law<std::string>& a : laws) {
    for (const Law<std::string>& b : laws) {
      for (const auto& [payload, p] : a.probability) {
        worst = std::max(worst, std::log(p / b.at(payload)));
      }
    }
  }
  EXPECT_LE(worst, kRentEpsilon + 1e-9);
  EXPECT_GE(worst, 0.99 * kRentEpsilon);
}

// A hostile curator's centres are declined for every row alike, when the offer is read: were only
// the rows of one leaf to fail, silence would tell who is in it.
TEST(WindowStudyTest, BadCentresAreDeclinedBeforeARowIsRead) {
  const auto refused = [](std::vector<double> of_leaf, double half_range) {
    return ByRooms()
        .WithCentres({.of_leaf = std::move(of_leaf), .half_range = half_range})
        .status();
  };
  const auto invalid = [](const char* words) {
    return StatusIs(StatusCode::kInvalidArgument, HasSubstr(words));
  };
  EXPECT_THAT(refused({200}, 50), invalid("centres: must be 2, one a leaf, are 1"));
  EXPECT_THAT(refused({200, 1, 2}, 50), invalid("centres: must be 2"));
  EXPECT_THAT(refused({200, NAN}, 50), invalid("centres[1]: must be finite"));
  EXPECT_THAT(refused({-INFINITY, 200}, 50), invalid("centres[0]: must be finite"));
  for (const double half_range : {0.0, -1.0, static_cast<double>(NAN), HUGE_VAL}) {
    EXPECT_THAT(refused({200, 700}, half_range), invalid("half_range: must be finite and above 0"));
  }
  const auto declined = [](std::vector<double> of_leaf, double half_range) {
    return RentDevice(RentTerms(), WithCentres(std::move(of_leaf), half_range)).status();
  };
  EXPECT_OK(declined({200, 700}, 50));
  EXPECT_OK(declined({-40, 1040}, 50)) << "each range meets the bounds";
  EXPECT_THAT(declined({200, 1050}, 50), invalid("centres[1]: rounding"));
  EXPECT_THAT(declined({-50, 200}, 50), invalid("centres[0]: rounding"));
  EXPECT_THAT(declined({200, 700}, 1e9), invalid("a million times"));
  EXPECT_THAT(declined({200, 700}, 1e-300), AllOf(invalid("centres[0]"), invalid("greater")))
      << "too small to be told from the centre";
}

TEST(WindowStudyTest, CentresNeedNumbersAndARowWhoseLeafIsKnown) {
  const Tree tree = WithCentres({200, 700}, 50);
  EXPECT_THAT(RentDevice(RentTerms("customer"), tree),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("joined by an id")));
  Terms classes = RentTerms();
  classes.schema = std::make_shared<const Schema>(
      Schema::Create({Numeric("rooms", 0, 10)}, "rent", {"low", "high"})->WithAllPublic());
  classes.mechanism = MechanismKind::kDirect;
  classes.rounding.reset();
  classes.window.reset();
  EXPECT_THAT(RentDevice(classes, tree),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("centres: are for numbers")));
}

TEST(WindowStudyTest, ADeviceJoinedByAnIdSendsItsNumberTheSameWay) {
  const Privatizer device = *RentDevice(RentTerms("customer"), ByRooms());
  const Law<std::string> law = WalkAllBranches<std::string>(
      {.cut_off = 0}, [&](PrivateRandom& random) -> StatusOr<std::string> {
        COPPICE_ASSIGN_OR_RETURN(
            const PrivateReport report,
            device.Privatize({.row = {}, .number = 225, .id = "c-7"}, Ticket(), random));
        EXPECT_EQ(report.public_values, "c-7");
        return report.payload;
      });
  EXPECT_EQ(law.probability, RentReport(ByRooms(), {.row = {2}, .number = 225}).probability);
}

TEST(WindowStudyTest, OneByteIsSent) {
  for (const auto& [payload, p] : RentReport(ByRooms(), {.row = {2}, .number = 225}).probability) {
    EXPECT_EQ(payload.size(), 1u);
  }
}

}  // namespace
}  // namespace coppice
