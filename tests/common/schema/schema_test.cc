#include "common/schema/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::coppice::testing::Whole;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInf = std::numeric_limits<double>::infinity();

Schema MakeSchema() {
  return *Schema::Create({Numeric("age", 17, 90), Categorical("sex", {"Female", "Male"})}, "income",
                         {"low", "high"});
}

Status CreateWith(Feature feature) {
  return Schema::Create({std::move(feature)}, "y", {"a", "b"}).status();
}

TEST(SchemaTest, CreateNeedsAFeatureAndTwoClasses) {
  EXPECT_THAT(Schema::Create({}, "y", {"a", "b"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("one feature")));
  EXPECT_THAT(Schema::Create({Numeric("x", 0, 1)}, "y", {"a"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("two classes")));
}

TEST(SchemaTest, CreateRejectsEmptyAndRepeatedNames) {
  EXPECT_THAT(CreateWith(Numeric("", 0, 1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("name is empty")));
  EXPECT_THAT(CreateWith(Numeric("y", 0, 1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"y\" is listed twice")));
  EXPECT_THAT(Schema::Create({Numeric("x", 0, 1), Numeric("x", 0, 1)}, "y", {"a", "b"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"x\" is listed twice")));
  EXPECT_THAT(Schema::Create({Numeric("x", 0, 1)}, "", {"a", "b"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("name is empty")));
  EXPECT_THAT(Schema::Create({Numeric("x", 0, 1)}, "y", {"a", "a"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("class \"a\"")));
  EXPECT_THAT(Schema::Create({Numeric("x", 0, 1)}, "y", {"a", ""}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("class is empty")));
}

TEST(SchemaTest, CreateRejectsBoundsThatAreNotFiniteOrReversed) {
  for (const auto& [min, max] :
       {std::pair{0.0, kInf}, {-kInf, 0.0}, {kMissingValue, 1.0}, {-1.7e308, 1.7e308}}) {
    EXPECT_THAT(
        CreateWith(Numeric("x", min, max)),
        StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("\"x\""), HasSubstr("finite"))));
  }
  EXPECT_THAT(CreateWith(Numeric("x", 2, 1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("min must not exceed max")));
  EXPECT_OK(CreateWith(Numeric("x", 1, 1)));
}

TEST(SchemaTest, CreateRejectsEmptyAndRepeatedVocabularies) {
  EXPECT_THAT(CreateWith(Categorical("c", {})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("at least one value")));
  EXPECT_THAT(CreateWith(Categorical("c", {"u", "u"})),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("feature \"c\""), HasSubstr("listed twice"))));
  EXPECT_THAT(CreateWith(Categorical("c", {"u", ""})),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is empty")));
}

TEST(SchemaTest, RegressionHasATargetAndNoClasses) {
  ASSERT_OK_AND_ASSIGN(const Schema schema, Schema::CreateRegression({Numeric("x", 0, 1)}, "rings",
                                                                     {.min = 1, .max = 29}));
  EXPECT_EQ(schema.num_classes(), 0u);
  EXPECT_EQ(schema.num_outputs(), 2u) << "the ends of the range";
  ASSERT_OK_AND_ASSIGN(const EncodedField inside, schema.EncodeTarget("7.5"));
  EXPECT_EQ(inside.value, 7.5);
  ASSERT_OK_AND_ASSIGN(const EncodedField above, schema.EncodeTarget("40"));
  EXPECT_EQ(above.value, 29);
  EXPECT_EQ(above.note, FieldNote::kClamped);
  for (const char* bad : {"", "many", "nan"}) {
    EXPECT_THAT(schema.EncodeTarget(bad),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("rings")));
  }
}

TEST(SchemaTest, TargetBoundsMustIncreaseAndBeFinite) {
  for (const Target& bad : {Target{1, 1}, Target{2, 1}, Target{0, kInf}, Target{-1e308, 1e308}}) {
    EXPECT_THAT(Schema::CreateRegression({Numeric("x", 0, 1)}, "rings", bad),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("rings")));
  }
}

TEST(SchemaTest, EncodeClampsNumbersAndNotesIt) {
  const Schema schema = MakeSchema();
  EXPECT_EQ(schema.Encode(0, "40")->value, 40);
  EXPECT_EQ(schema.Encode(0, "40")->note, FieldNote::kNone);
  EXPECT_EQ(schema.Encode(0, "90")->note, FieldNote::kNone);
  EXPECT_EQ(schema.Encode(0, "90.5")->value, 90);
  EXPECT_EQ(schema.Encode(0, "90.5")->note, FieldNote::kClamped);
  EXPECT_EQ(schema.Encode(0, "-3")->value, 17);
}

TEST(SchemaTest, EncodeKeepsMissingAndOtherApart) {
  const Schema schema = MakeSchema();
  EXPECT_TRUE(IsMissing(schema.Encode(0, "")->value));
  EXPECT_TRUE(IsMissing(schema.Encode(1, "")->value));
  EXPECT_EQ(schema.Encode(1, "")->note, FieldNote::kMissing);
  EXPECT_EQ(schema.Encode(1, "Male")->value, 1);
  EXPECT_EQ(schema.Encode(1, "male")->value, 2);
  EXPECT_EQ(schema.Encode(1, "male")->note, FieldNote::kUnknownCategory);
}

TEST(SchemaTest, EncodeErrorNamesTheFeatureAndNeverTheValue) {
  EXPECT_THAT(MakeSchema().Encode(0, "31337x"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"age\""), HasSubstr("finite"), Not(HasSubstr("31337")))));
  EXPECT_THAT(MakeSchema().Encode(2, "1"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not below 2")));
}

TEST(SchemaTest, ClassOfFindsClassesByNameOnly) {
  EXPECT_EQ(*MakeSchema().ClassOf("high"), 1u);
  EXPECT_THAT(MakeSchema().ClassOf("secret"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"income\""), Not(HasSubstr("secret")))));
}

TEST(SchemaTest, ValidateAcceptsExactlyWhatEncodeReturns) {
  const Schema schema = MakeSchema();
  EXPECT_OK(schema.Validate({17, 0}));
  EXPECT_OK(schema.Validate({90, 2}));
  EXPECT_OK(schema.Validate({kMissingValue, kMissingValue}));
  EXPECT_THAT(schema.Validate({17}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("2 values, not 1")));
  for (const double age : {16.9, 90.1, kInf, -kInf}) {
    EXPECT_THAT(schema.Validate({age, 0}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("in [17, 90]")));
  }
  for (const double sex : {-1.0, 0.5, 3.0, kInf}) {
    EXPECT_THAT(schema.Validate({20, sex}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("from 0 to 2")));
  }
}

TEST(SchemaTest, EncodesEveryRowThereIs) {
  const Schema schema = MakeSchema();
  const auto encode = [&](const TextRow& text) {
    LabelledRow row = schema.EncodeTotally(text);
    EXPECT_OK(schema.Validate(row.row));
    return row;
  };
  const LabelledRow fits = encode({{"age", "20"}, {"sex", "Male"}, {"income", "high"}});
  EXPECT_EQ(fits.row, (Row{20, 1}));
  EXPECT_EQ(fits.label, 1u);

  const LabelledRow unfit = encode({{"age", "twenty"}, {"sex", "?"}, {"income", "secret"}});
  EXPECT_TRUE(IsMissing(unfit.row[0]));
  EXPECT_EQ(unfit.row[1], 2);
  EXPECT_EQ(unfit.label, kUnlabelled);
  EXPECT_EQ(encode({{"age", "1e400"}}).label, kUnlabelled);
  EXPECT_TRUE(IsMissing(encode({}).row[1]));
  for (const char* odd : {"nan", "inf", "-0x1p9", "", " 20", "20\n"}) encode({{"age", odd}});
}

TEST(SchemaTest, FitsEveryRowThereIs) {
  const Schema schema = MakeSchema();
  for (Row row : {Row{}, Row{kInf, kInf}, Row{1000, 0.5}, Row{20}, Row{20, 1, 7}}) {
    schema.Fit(row);
    EXPECT_OK(schema.Validate(row));
  }
  Row row = {20, 1, 7};
  schema.Fit(row);
  EXPECT_EQ(row, (Row{20, 1}));
}

TEST(SchemaTest, AgreesWithAnOwnSchemaThatHasAllItsColumns) {
  const auto with = [](std::vector<Feature> features, std::vector<std::string> classes) {
    return *Schema::Create(std::move(features), "income", std::move(classes));
  };
  const Schema own = MakeSchema();
  EXPECT_OK(own.CheckAgreesWith(own));
  EXPECT_OK(with({Numeric("age", 17, 90)}, {"low", "high"}).CheckAgreesWith(own));
  EXPECT_THAT(with({Numeric("height", 0, 2)}, {"low", "high"}).CheckAgreesWith(own),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("\"height\" is not in this device's own schema; it has: age, ")));
  for (const Feature& other :
       {Numeric("age", 17, 91), Categorical("age", {"17"}), Numeric("sex", 0, 1)}) {
    EXPECT_THAT(with({other}, {"low", "high"}).CheckAgreesWith(own),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has a different type")));
  }
  for (const std::vector<std::string>& classes :
       {std::vector<std::string>{"high", "low"}, {"low", "high", "hiv"}}) {
    EXPECT_THAT(with({Numeric("age", 17, 90)}, classes).CheckAgreesWith(own),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr("classes")));
  }
}

// Has an age in years, or in another unit, and a number to predict, in a unit of its own.
Schema WithUnits(const std::string& unit, const std::string& target_unit = "") {
  Feature age = Numeric("age", 17, 90);
  age.unit = unit;
  return *Schema::CreateRegression({age}, "wage", {.min = 0, .max = 9, .unit = target_unit});
}

TEST(SchemaTest, UnitsAgreeUnlessBothAreSaidAndDiffer) {
  const Schema unsaid = WithUnits(""), years = WithUnits("years"), months = WithUnits("months");
  EXPECT_NE(years, unsaid);
  for (const Schema& other : {unsaid, years}) {
    EXPECT_TRUE(years.IsSameButForUnsaidUnits(other));
    EXPECT_TRUE(other.IsSameButForUnsaidUnits(years));
    EXPECT_OK(years.CheckAgreesWith(other));
    EXPECT_OK(other.CheckAgreesWith(years));
  }
  EXPECT_FALSE(years.IsSameButForUnsaidUnits(months));
  EXPECT_FALSE(WithUnits("", "EUR").IsSameButForUnsaidUnits(WithUnits("", "USD")));
  EXPECT_FALSE(
      years.IsSameButForUnsaidUnits(*Schema::Create({Numeric("age", 17, 90)}, "wage", {"a", "b"})));
  EXPECT_THAT(months.CheckAgreesWith(years),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("unit: [17, 90] months, and in this device's own schema [17, 90] "
                                 "years")));
  EXPECT_THAT(WithUnits("", "EUR").CheckAgreesWith(WithUnits("", "USD")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("label \"wage\"")));
}

TEST(SchemaTest, WholeNumbersHaveWholeBoundsWithin2To53) {
  EXPECT_OK(CreateWith(Whole("x", -3, 12)));
  EXPECT_OK(CreateWith(Whole("x", -0x1p53, 0x1p53)));
  for (const Feature& feature :
       {Whole("x", 0.5, 3), Whole("x", 0, 3.5), Whole("x", 0, 0x1p54), Whole("x", -0x1p54, 0)}) {
    EXPECT_THAT(CreateWith(feature), StatusIs(StatusCode::kInvalidArgument,
                                              AllOf(HasSubstr("\"x\""), HasSubstr("whole"))));
  }
  Feature words = Categorical("c", {"u"});
  words.integer = true;
  EXPECT_THAT(CreateWith(words),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must not be integer")));
}

TEST(SchemaTest, EncodeRoundsToWholeNumbersAndNotesIt) {
  ASSERT_OK_AND_ASSIGN(const Schema schema, Schema::Create({Whole("x", -3, 12)}, "y", {"a", "b"}));
  EXPECT_EQ(schema.Encode(0, "4.0")->value, 4);
  EXPECT_EQ(schema.Encode(0, "4.0")->note, FieldNote::kNone);
  for (const auto& [text, value] : {std::pair("4.4", 4.0), {"4.5", 5.0}, {"-2.5", -3.0}}) {
    EXPECT_EQ(schema.Encode(0, text)->value, value) << text;
    EXPECT_EQ(schema.Encode(0, text)->note, FieldNote::kRounded) << text;
    EXPECT_EQ(schema.EncodeOrMissing(0, text).value, value) << text;
  }
  EXPECT_FALSE(std::signbit(schema.Encode(0, "-0.3")->value));
  EXPECT_EQ(schema.Encode(0, "12.3")->value, 12);
  EXPECT_EQ(schema.Encode(0, "12.3")->note, FieldNote::kClamped);
}

TEST(SchemaTest, ARowOfWholeNumbersHasNoOthers) {
  ASSERT_OK_AND_ASSIGN(const Schema schema, Schema::Create({Whole("x", -3, 12)}, "y", {"a", "b"}));
  EXPECT_OK(schema.Validate({4.0}));
  EXPECT_OK(schema.Validate({kMissingValue}));
  EXPECT_THAT(schema.Validate({4.5}), StatusIs(StatusCode::kInvalidArgument,
                                               HasSubstr("missing or a whole number in [-3, 12]")));
  Row row = {4.5};
  schema.Fit(row);
  EXPECT_TRUE(IsMissing(row[0]));
}

TEST(SchemaTest, WholeCutsPartWholeNumbersAsTheCutDoes) {
  for (const double cut : {-2.5, -2.0, std::nextafter(-2.0, 0), -0.5, 0.0, 0.5, 3.0,
                           std::nextafter(3.0, 4.0), 3.99, 0x1p53 - 1}) {
    const double whole = WholeCut(cut);
    for (const double value : {-3.0, -2.0, -1.0, 0.0, 1.0, 3.0, 4.0, 0x1p53 - 2, 0x1p53 - 1}) {
      EXPECT_EQ(value < whole, value < cut) << value << " below " << cut;
    }
    const double most = std::nextafter(whole, -0x1p54);
    EXPECT_EQ(most, std::floor(most)) << cut;
  }
}

TEST(SchemaTest, WholeNumbersAreNumbersForADeviceThatHasThem) {
  const auto with = [](Feature feature) {
    return *Schema::Create({std::move(feature)}, "y", {"a", "b"});
  };
  const Schema whole = with(Whole("x", 0, 9)), any = with(Numeric("x", 0, 9));
  EXPECT_NE(whole, any);
  EXPECT_FALSE(whole.IsSameButForUnsaidUnits(any));
  EXPECT_OK(any.CheckAgreesWith(whole));
  EXPECT_THAT(whole.CheckAgreesWith(any),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("[0, 9] whole, and in this device's own schema [0, 9]")));
}

TEST(SchemaTest, RefusesInvalidUnitsByName) {
  const auto create = [](Feature feature, std::string unit) {
    feature.unit = std::move(unit);
    return Schema::Create({std::move(feature)}, "y", {"a", "b"}).status();
  };
  EXPECT_OK(create(Numeric("x", 0, 1), "µm"));
  EXPECT_OK(create(Numeric("x", 0, 1), std::string(kMaxUnitBytes, 'm')));
  for (const Feature& feature : {Numeric("x", 0, 1), Categorical("x", {"a"})}) {
    for (const std::string& unit :
         {std::string(kMaxUnitBytes + 1, 'm'), std::string("\x1b[31m"), std::string("\xff")}) {
      EXPECT_THAT(create(feature, unit),
                  StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"x\"")));
    }
  }
  EXPECT_THAT(create(Categorical("x", {"a"}), "m"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must not have a unit")));
  EXPECT_THAT(
      Schema::CreateRegression({Numeric("x", 0, 1)}, "y", {.min = 0, .max = 1, .unit = "a\nb"}),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("target \"y\"")));
}

std::vector<Feature> ManyFeatures(size_t count) {
  std::vector<Feature> features;
  for (size_t i = 0; i < count; ++i) features.push_back(Numeric(StrCat("f", i), 0, 1));
  return features;
}

TEST(SchemaTest, AFeatureOrAClassTooManyIsRefusedWithTheLimit) {
  std::vector<std::string> classes;
  for (size_t i = 0; i < kMaxClasses; ++i) classes.push_back(StrCat("c", i));
  EXPECT_OK(Schema::Create(ManyFeatures(kMaxFeatures), "y", classes));
  const auto too_wide =
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr(StrCat("at most ", kMaxFeatures, " features, not ", kMaxFeatures + 1)));
  EXPECT_THAT(Schema::Create(ManyFeatures(kMaxFeatures + 1), "y", classes).status(), too_wide);
  EXPECT_THAT(Schema::CreateRegression(ManyFeatures(kMaxFeatures + 1), "y", {.max = 1}).status(),
              too_wide);
  classes.emplace_back("one more");
  EXPECT_THAT(
      Schema::Create(ManyFeatures(1), "y", classes).status(),
      StatusIs(StatusCode::kInvalidArgument,
               HasSubstr(StrCat("at most ", kMaxClasses, " classes, not ", kMaxClasses + 1))));
}

TEST(SchemaTest, RefusesMoreCategoriesInAllThanADeviceHasRoomFor) {
  std::vector<Feature> features(2);
  for (size_t i = 0; i < features.size(); ++i) {
    features[i].name = StrCat("f", i);
    features[i].type = FeatureType::kCategorical;
    for (size_t value = 0; value <= kMaxCategories / 2; ++value) {
      features[i].values.push_back(StrCat(value));
    }
  }
  EXPECT_THAT(Schema::Create(features, "y", {"no", "yes"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("categories in all")));
  for (Feature& feature : features) feature.values.pop_back();
  EXPECT_OK(Schema::Create(features, "y", {"no", "yes"}).status());
}

TEST(TextIndexTest, FindsEveryTextAndNoOther) {
  for (size_t size = 0; size < 40; ++size) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < size; ++i) texts.push_back(StrCat("x", i * 7));
    const TextIndex index(texts);
    for (size_t i = 0; i < size; ++i) EXPECT_EQ(index.Find(texts, texts[i]), i);
    for (const char* other : {"", "x", "x1", "y0", "x9999"}) {
      EXPECT_EQ(index.Find(texts, other), size) << other;
    }
  }
}

// A hostile curator's list of many values told the category by the time that a device took: of a
// hundred thousand, the last one took a thousand times as long as the first. The margin here is for
// noisy machines.
TEST(SchemaTest, FindsACategoryAsFastWhereverItStands) {
  std::vector<std::string> values = {"negative"};
  for (size_t i = 0; i < 100'000; ++i) values.push_back(StrCat("aaaaaaaa", i));
  values.push_back("positive");
  const Schema schema = *Schema::Create({Categorical("hiv", values)}, "y", {"no", "yes"});
  const auto processor_time = [&](const char* text) {
    const clock_t before = std::clock();
    for (int i = 0; i < 20'000; ++i) EXPECT_GE(schema.EncodeOrMissing(0, text).value, 0);
    return static_cast<double>(std::clock() - before + 1);
  };
  processor_time("negative");  // brings the list into memory
  const double first = processor_time("negative");
  EXPECT_LT(processor_time("positive"), 100 * first);
  EXPECT_LT(processor_time("no such value"), 100 * first);
}

}  // namespace
}  // namespace coppice
