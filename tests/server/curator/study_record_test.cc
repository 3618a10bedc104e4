// Opening a store whose records are damaged, missing, or of another version.

#include "server/curator/study/study_record.h"

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/store/models/model_record.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::HasSubstr;

class StudyRecordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store_, models_));
    ASSERT_OK_AND_ASSIGN(const StudyInfo study, studies->Create(Spec("one", /*trees=*/2)));
    ASSERT_OK(SendAndWait(*studies, study, HonestReports(*studies, study, 30)));
    ASSERT_OK(studies->BuildModel("one", "model", {}));
  }

  void Put(std::string key, std::string value) {
    storage::StoreBatch batch;
    batch.Put(std::move(key), std::move(value));
    ASSERT_OK(store_.Apply(batch));
  }

  void Remove(const std::string& key) {
    storage::StoreBatch batch;
    batch.DeletePrefix(key);
    ASSERT_OK(store_.Apply(batch));
  }

  template <typename Record>
  Record Stored(const std::string& key) const {
    Record record;
    EXPECT_TRUE(record.ParseFromString(store_.Get(key)->value()));
    return record;
  }

  void ExpectDataLoss(const std::string& key, const std::string& why) {
    EXPECT_THAT(OpenStudies(store_, models_),
                StatusIs(StatusCode::kDataLoss,
                         AllOf(HasSubstr(key), HasSubstr(why), HasSubstr("Restore a copy"))));
  }

  MemoryStore store_;
  std::optional<models::Models> models_;
};

TEST_F(StudyRecordTest, RecordsThatDoNotParseAreDataLoss) {
  for (const std::string& key :
       {StudyKey("one"), CountsKey("one"), SumsKey("one", 0),
        models::SummaryKey(models::ModelKey("studies/one", "model")), TombstoneKey("two")}) {
    const auto before = store_.Get(key)->value_or("");
    Put(key, "\xff\xff");
    ExpectDataLoss(key, "does not parse");
    if (before.empty()) {
      Remove(key);
    } else {
      Put(key, before);
    }
  }
  EXPECT_OK(OpenStudies(store_, models_));
}

// The trees of a model are read when somebody asks for them.
TEST_F(StudyRecordTest, AModelThatDoesNotParseIsDataLossForItsReadersAlone) {
  Put(models::ModelKey("studies/one", "model"), "\xff\xff");
  ASSERT_OK(OpenStudies(store_, models_));
  EXPECT_THAT(models_->Get("model"), StatusIs(StatusCode::kDataLoss, HasSubstr("does not parse")));
}

TEST_F(StudyRecordTest, ReportsThatDoNotAddUpAreDataLoss) {
  auto counts = Stored<v1::CountsRecord>(CountsKey("one"));
  counts.set_accepted(29);
  Put(CountsKey("one"), counts.SerializeAsString());
  ExpectDataLoss(CountsKey("one"), "does not add up");
}

// Accepted and duplicate reports have fields of their own, so they are no rejections.
TEST_F(StudyRecordTest, ARejectionHasANumberThatIsUsed) {
  const auto with_rejected = [&](int outcome) {
    v1::CountsRecord counts;
    v1::ReportCount& rejected = *counts.add_rejected();
    rejected.set_outcome(static_cast<v1::ReportOutcome>(outcome));
    rejected.set_reports(5);
    counts.set_received(5);
    return DecodeCounts("count/one/", counts.SerializeAsString());
  };
  for (const int used : {3, 8, 9, 10}) {
    ASSERT_OK_AND_ASSIGN(const Counts counts, with_rejected(used));
    EXPECT_EQ(counts.outcomes[static_cast<size_t>(used)], 5u);
    EXPECT_EQ(DecodeCounts("", EncodeCounts(counts))->outcomes, counts.outcomes);
  }
  for (const int unused : {0, 1, 2, 11}) {
    EXPECT_THAT(with_rejected(unused), StatusIs(StatusCode::kDataLoss, HasSubstr("count/")));
  }
}

TEST_F(StudyRecordTest, LostRecordsAreDataLoss) {
  const std::string sums = store_.Get(SumsKey("one", 1))->value();
  Remove(SumsKey("one", 1));
  ExpectDataLoss(CountsKey("one"), "does not add up");
  Put(SumsKey("one", 1), sums);
  Remove(CountsKey("one"));
  ExpectDataLoss(CountsKey("one"), "is missing");
}

// Opening the store finds every ticket spent, in any order and from any run.
TEST_F(StudyRecordTest, SerialsOfAllKindsAreReadBack) {
  const TicketSerial other_run = absl::MakeUint128(~uint64_t{0}, 0);
  std::vector<TicketSerial> serials = {7, 6, other_run + 5, 1, absl::Uint128Max(), other_run, 0};
  while (serials.size() < 30) serials.push_back(absl::MakeUint128(9, 1'000'000 * serials.size()));
  Put(SpentKey("one", 0), EncodeSpent(serials));
  EXPECT_OK(OpenStudies(store_, models_));
  serials.push_back(other_run + 5);
  Put(SpentKey("one", 0), EncodeSpent(serials));
  ExpectDataLoss(SpentKey("one", 0), "counts a ticket twice");
}

TEST_F(StudyRecordTest, TicketsInARowTakeAByteEach) {
  std::vector<TicketSerial> serials;
  for (uint64_t i = 0; i < 1000; ++i) serials.push_back(absl::MakeUint128(1, (1ull << 40) + i));
  EXPECT_LT(EncodeSpent(serials).size(), 1030u);
  EXPECT_EQ(EncodeSpent({}), "");
}

TEST_F(StudyRecordTest, TicketsThatDoNotFitTheReportsAreDataLoss) {
  const std::string spent = store_.Get(SpentKey("one", 0))->value();
  Remove(SpentKey("one", 0));
  ExpectDataLoss(SpentPrefix("one"), "does not have one ticket a counted report");
  Put(SpentKey("one", 0), "\xff\xff");
  ExpectDataLoss(SpentKey("one", 0), "does not parse");
}

TEST_F(StudyRecordTest, ASettingThatIsNotKnownIsDataLoss) {
  auto record = Stored<v1::StudyRecord>(StudyKey("one"));
  v1::StudySettings& settings = *record.mutable_settings();
  settings.GetReflection()->MutableUnknownFields(&settings)->AddVarint(1000, 1);
  Put(StudyKey("one"), record.SerializeAsString());
  ExpectDataLoss(StudyKey("one"), "does not know");
}

TEST_F(StudyRecordTest, SumsOfAnotherShapeAreDataLoss) {
  const auto sums = Stored<v1::SumsRecord>(SumsKey("one", 0));
  auto shorter = sums;
  shorter.mutable_sums()->RemoveLast();
  Put(SumsKey("one", 0), shorter.SerializeAsString());
  ExpectDataLoss(SumsKey("one", 0), "wrong number of sums");
  Put(SumsKey("one", 0), sums.SerializeAsString());
  Put(SumsKey("one", 2), sums.SerializeAsString());
  ExpectDataLoss(SumsKey("one", 2), "a tree that the study does not have");
}

TEST_F(StudyRecordTest, StudyUnderAnotherKeyIsDataLoss) {
  Put(StudyKey("two"), store_.Get(StudyKey("one"))->value());
  ExpectDataLoss(StudyKey("two"), "terms of another study");
}

TEST_F(StudyRecordTest, UnknownStateOrTermsAreDataLoss) {
  const auto record = Stored<v1::StudyRecord>(StudyKey("one"));
  auto changed = record;
  changed.clear_state();
  Put(StudyKey("one"), changed.SerializeAsString());
  ExpectDataLoss(StudyKey("one"), "unknown state");
  changed = record;
  changed.clear_terms();
  Put(StudyKey("one"), changed.SerializeAsString());
  ExpectDataLoss(StudyKey("one"), "terms");
  changed = record;
  changed.mutable_partition()->clear_rule();
  Put(StudyKey("one"), changed.SerializeAsString());
  ExpectDataLoss(StudyKey("one"), "split rule");
}

TEST_F(StudyRecordTest, AForestThatIsNotTheTermsIsDataLoss) {
  const auto record = Stored<v1::StudyRecord>(StudyKey("one"));
  ASSERT_EQ(record.trees_size(), 2);
  auto changed = record;
  changed.mutable_trees()->RemoveLast();
  Put(StudyKey("one"), changed.SerializeAsString());
  ExpectDataLoss(StudyKey("one"), "are not the 2 trees");
  changed = record;
  changed.add_trees(changed.trees(0));
  Put(StudyKey("one"), changed.SerializeAsString());
  ExpectDataLoss(StudyKey("one"), "are not the 2 trees");
  changed = record;
  changed.mutable_trees(1)->back() ^= 1;
  Put(StudyKey("one"), changed.SerializeAsString());
  ExpectDataLoss(StudyKey("one"), "are not the 2 trees");
  Put(StudyKey("one"), record.SerializeAsString());
  EXPECT_OK(OpenStudies(store_, models_));
}

TEST_F(StudyRecordTest, DamagedPublicRowsAreDataLossOfTheModel) {
  auto rows = Stored<v1::PublicRowsRecord>(RowsKey("one"));
  rows.set_values(0, 7);
  Put(RowsKey("one"), rows.SerializeAsString());
  ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store_, models_));
  EXPECT_THAT(studies->BuildModel("one", "other", {}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("bad row 0")));
  rows.mutable_labels()->RemoveLast();
  Put(RowsKey("one"), rows.SerializeAsString());
  EXPECT_THAT(studies->BuildModel("one", "other", {}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("wrong number of values")));
}

// The fixture's places, with their x as the number.
StudySpec NumberSpec(std::string id) {
  const std::shared_ptr<const Table> given = PublicRows();
  auto rows = std::make_shared<Table>(std::make_shared<const Schema>(
      *Schema::CreateRegression(given->schema().features(), "price", {.min = 0, .max = 2})));
  for (size_t i = 0; i < given->num_rows(); ++i) {
    rows->AppendTarget(given->row(i), given->value(i, 0));
  }
  StudySpec spec = Spec(std::move(id), /*trees=*/2);
  spec.public_rows = std::move(rows);
  spec.partition.rule = SplitRule::kHybrid;
  spec.mechanism = MechanismKind::kSignedHadamard;
  return spec;
}

TEST_F(StudyRecordTest, NumbersOutliveTheProgramAndTheirDamageIsFound) {
  ASSERT_OK_AND_ASSIGN(auto studies, OpenStudies(store_, models_));
  StudySpec spec = NumberSpec("two");
  spec.rounding = NumberRange{.low = 0.25, .high = 0.75};
  ASSERT_OK_AND_ASSIGN(const StudyInfo study, studies->Create(spec));
  EXPECT_EQ(study.terms->rounding, spec.rounding);
  ASSERT_OK(studies->Create(spec)) << "the same request";
  spec.rounding = NumberRange{.low = 0, .high = 1};
  EXPECT_FALSE(studies->Create(spec).ok()) << "another range is another request";
  studies.reset();
  ASSERT_OK_AND_ASSIGN(studies, OpenStudies(store_, models_));
  EXPECT_EQ((*studies->Get("two")).terms->rounding, (NumberRange{.low = 0.25, .high = 0.75}));
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo model,
                       studies->BuildModel("two", "number", {.kind = EstimatorKind::kPooled}));
  EXPECT_TRUE(model.model->schema().target().has_value());
  EXPECT_THAT(studies->BuildModel("two", "other", {.kind = EstimatorKind::kWeighted}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("take pooled")));

  auto rows = Stored<v1::PublicRowsRecord>(RowsKey("two"));
  rows.set_numbers(3, 2.5);
  Put(RowsKey("two"), rows.SerializeAsString());
  EXPECT_THAT(studies->BuildModel("two", "again", {.kind = EstimatorKind::kPooled}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("bad row 3")));
  rows.mutable_numbers()->RemoveLast();
  Put(RowsKey("two"), rows.SerializeAsString());
  EXPECT_THAT(studies->BuildModel("two", "again", {.kind = EstimatorKind::kPooled}),
              StatusIs(StatusCode::kDataLoss, HasSubstr("wrong number of values")));
}

TEST_F(StudyRecordTest, ARangeIsForNumbersAndMeetsTheirBounds) {
  ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(store_, models_));
  StudySpec classes = Spec("two");
  classes.rounding = NumberRange{.low = 0, .high = 1};
  EXPECT_THAT(studies->Create(classes),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rounding: is for numbers")));
  StudySpec outside = NumberSpec("two");
  outside.rounding = NumberRange{.low = 3, .high = 4};
  EXPECT_THAT(studies->Create(outside),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("and meet these, 0 to 2")));
}

TEST_F(StudyRecordTest, NewerFormatIsRefused) {
  Put("meta/format", "99");
  EXPECT_THAT(OpenStudies(store_, models_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("made by a newer version")));
}

TEST_F(StudyRecordTest, LostOrDamagedFormatIsDataLoss) {
  Put("meta/format", "one");
  ExpectDataLoss("meta/format", "is not a number");
  Remove("meta/format");
  ExpectDataLoss("meta/format", "is missing");
}

}  // namespace
}  // namespace coppice::curator
