// A study that is joined by ids: the operator brings features, and devices an id and a label.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/public_values.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/partition/from_schema.h"
#include "server/curator/study/join_rows.h"
#include "server/curator/study/label_record.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/support/memory_store.h"
#include "tests/support/temp_dir.h"

namespace coppice::curator {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the fixture's.
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kPastRetention = int64_t{2} * 24 * 60 * 60;
constexpr ReportOutcome kAccepted = ReportOutcome::kAccepted;
constexpr ReportOutcome kDuplicate = ReportOutcome::kDuplicate;

std::shared_ptr<const Schema> CustomerSchema() {
  return std::make_shared<const Schema>(PublicRows()->schema().WithAllPublic());
}

// The fixture's public rows say x > 1/2; customers have y > 1/2 as their label.
StudySpec JoinedSpec() {
  StudySpec spec = Spec("one", /*trees=*/4);
  spec.public_rows = std::make_shared<const Table>(PublicRows()->WithSchema(CustomerSchema()));
  spec.partition.rule = SplitRule::kHybrid;
  spec.mechanism = MechanismKind::kDirect;
  spec.settings.retention_days = 1;
  spec.joined_by = "customer";
  return spec;
}

// A study without labelled public rows.
StudySpec FromSchemaSpec() {
  StudySpec spec = JoinedSpec();
  spec.public_rows = std::make_shared<const Table>(*RowsFromSchema(CustomerSchema(), 1));
  spec.partition.use_labels = false;
  spec.partition.from_schema = true;
  return spec;
}

class JoinedStudyTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin(JoinedSpec()); }

  void Begin(const StudySpec& spec) {
    Reopen();
    ASSERT_OK_AND_ASSIGN(study_, studies_->Create(spec));
  }

  void Reopen() {
    studies_.reset();
    ASSERT_OK_AND_ASSIGN(studies_, OpenStudies(store_, models_, [this] { return now_; }));
  }

  // Customers `begin` to `end`, at places that follow from their numbers.
  static Row RowOf(uint32_t customer) {
    PublicRandom random(customer + 1);
    const double x = random.Unit();
    return {x, random.Unit()};
  }
  static std::string IdOf(uint32_t customer) { return StrCat("customer ", customer); }
  static std::vector<JoinRow> Customers(uint32_t begin, uint32_t end) {
    std::vector<JoinRow> rows;
    for (uint32_t i = begin; i < end; ++i) rows.push_back({.id = IdOf(i), .row = RowOf(i)});
    return rows;
  }

  ReportBatch ReportsOf(const std::vector<std::string>& ids, uint32_t label = 1) {
    ReportBatch batch;
    const auto offer = *studies_->MakeOffer("one", static_cast<uint32_t>(ids.size()));
    for (size_t i = 0; i < ids.size(); ++i) Add(offer.tickets[i], ids[i], label, batch);
    return batch;
  }

  // Reports of these customers, each with its own label.
  ReportBatch ReportsOf(uint32_t begin, uint32_t end) {
    ReportBatch batch;
    const auto offer = *studies_->MakeOffer("one", end - begin);
    for (uint32_t i = begin; i < end; ++i) {
      Add(offer.tickets[i - begin], IdOf(i), RowOf(i)[1] > 0.5 ? 1 : 0, batch);
    }
    return batch;
  }

  void Add(const Ticket& ticket, const std::string& id, uint32_t label, ReportBatch& batch) {
    const auto mechanism = *MakeMechanism(*study_.terms, 1);
    batch.Add(ticket.ToBytes(),
              *mechanism->Randomize({.leaf = 0, .label = label},
                                    DrawOf(ticket).Column(mechanism->columns()), noise_),
              id);
  }

  Answer Submit(ReportBatch reports) {
    std::promise<Answer> promise;
    studies_->Submit("one", Bytes(study_.fingerprint), std::move(reports),
                     [&promise](Answer answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  }

  // Adds this many customers, and a report of each.
  void AddAndAnswer(uint32_t customers) {
    for (uint32_t i = 0; i < customers; i += 1000) {
      ASSERT_OK(studies_->AddJoinRows("one", Customers(i, i + 1000)));
      ASSERT_THAT(*Submit(ReportsOf(i, i + 1000)), Each(kAccepted));
    }
  }

  StatusOr<models::ModelInfo> Build(Evidence evidence = Evidence::kBoth) {
    return studies_->BuildModel("one", "", {.kind = EstimatorKind::kPooled, .evidence = evidence});
  }

  // How often the model correctly says whether y > 1/2.
  static double Hits(const Model& model) {
    double hits = 0;
    for (uint32_t i = 100'000; i < 101'000; ++i) {
      const Row row = RowOf(i);
      hits += (model.Predict(row).label == 1) == (row[1] > 0.5) ? 1 : 0;
    }
    return hits / 1000;
  }

  size_t Keys(const std::string& prefix) const {
    size_t keys = 0;
    EXPECT_OK(store_.Scan(prefix, [&](std::string_view, std::string_view) {
      ++keys;
      return OkStatus();
    }));
    return keys;
  }
  uint64_t Rows() const { return studies_->List({})[0].join_rows; }

  int64_t now_ = 1000;
  MemoryStore store_;
  std::optional<models::Models> models_;
  std::unique_ptr<Studies> studies_;
  StudyInfo study_;
  OpenSslRandom noise_;
};

TEST_F(JoinedStudyTest, AModelLearnsFeaturesOfTheCuratorAndLabelsOfDevices) {
  AddAndAnswer(6000);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo of_public, Build(Evidence::kPublic));
  EXPECT_LT(Hits(*of_public.model), 0.6);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo both, Build());
  EXPECT_GT(Hits(*both.model), 0.9);
  const Certificate& certificate = both.model->certificate();
  EXPECT_EQ(certificate.reports, 6000u);
  EXPECT_THAT(certificate.releases[0].what, HasSubstr("its label"));
  EXPECT_THAT(
      certificate.neighbouring,
      AllOf(HasSubstr("any label of one device for any other, its customer"), HasSubstr("x, y")));
  EXPECT_THAT(certificate.public_inputs.back(), HasSubstr("the id customer"));
  Reopen();
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo after, Build());
  EXPECT_EQ(*after.model, *both.model);
}

// Sums by leaf, for counts and alarms, use the joined features too.
TEST_F(JoinedStudyTest, SumsAreOfTheLeavesOfTheJoinedRows) {
  AddAndAnswer(1000);
  CountsRequest request;
  request.choice.depth = 0;
  ASSERT_OK_AND_ASSIGN(const StudyCounts counts, studies_->GetCounts("one", request));
  EXPECT_EQ(counts.reports, 1000u);
}

TEST_F(JoinedStudyTest, AddingTheSameAgainChangesNothing) {
  EXPECT_EQ(Rows(), 0u);
  ASSERT_OK_AND_ASSIGN(const uint64_t rows, studies_->AddJoinRows("one", Customers(0, 10)));
  EXPECT_EQ(rows, 10u);
  const size_t writes = store_.writes();
  EXPECT_EQ(*studies_->AddJoinRows("one", Customers(0, 10)), 10u);
  EXPECT_EQ(store_.writes(), writes);
  // Known ids, new ids, and one of the new ids twice.
  std::vector<JoinRow> more = Customers(5, 12);
  more.push_back(more.back());
  EXPECT_EQ(*studies_->AddJoinRows("one", more), 12u);
  EXPECT_EQ(Keys(JoinPrefix("one")), 13u);  // and the record of their number
  Reopen();
  EXPECT_EQ(Rows(), 12u);
  EXPECT_EQ(studies_->Get("one")->join_rows, 12u);
}

TEST_F(JoinedStudyTest, OtherFeaturesOfAnIdRefuseTheWholeCall) {
  ASSERT_OK(studies_->AddJoinRows("one", Customers(0, 3)));
  std::vector<JoinRow> rows = Customers(3, 6);
  rows.push_back({.id = IdOf(1), .row = {0, kMissingValue}});
  EXPECT_THAT(studies_->AddJoinRows("one", rows),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("rows[3]"), HasSubstr("\"customer 1\""))));
  rows[3] = {.id = IdOf(5), .row = {0, 0}};  // the id is in the call twice
  EXPECT_THAT(studies_->AddJoinRows("one", rows),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"customer 5\"")));
  EXPECT_EQ(Rows(), 3u);
  EXPECT_EQ(Keys(JoinPrefix("one")), 4u);
}

TEST_F(JoinedStudyTest, BadRowsAreRefusedByNumberAndWithoutTheirValues) {
  const auto expect = [&](const std::vector<JoinRow>& rows, const char* what) {
    EXPECT_THAT(
        studies_->AddJoinRows("one", rows),
        StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr(what), Not(HasSubstr("777")))));
  };
  expect({}, "rows: must be 1 to 4096");
  expect(Customers(0, kMaxJoinRowsPerCall + 1), "rows: must be 1 to 4096");
  expect({{.id = "a", .row = {0, 0}}, {.id = "", .row = {0, 0}}}, "rows[1]: an id must have 1");
  expect({{.id = std::string(65, 'a'), .row = {0, 0}}}, "rows[0]: an id");
  expect({{.id = "a", .row = {0}}}, "rows[0]: a row must have 2");
  expect({{.id = "a", .row = {0, 777}}}, "rows[0]: feature \"y\"");
  EXPECT_EQ(Rows(), 0u);
  EXPECT_THAT(studies_->AddJoinRows("none", Customers(0, 1)),
              StatusIs(StatusCode::kNotFound, HasSubstr("none")));
}

TEST_F(JoinedStudyTest, OnlyAnOpenStudyThatIsJoinedTakesRows) {
  StudySpec other = JoinedSpec();
  other.id = "two";
  other.request_id = "of two";
  other.joined_by.clear();
  ASSERT_OK(studies_->Create(other));
  EXPECT_THAT(studies_->AddJoinRows("two", Customers(0, 1)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not joined by an id")));
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_THAT(studies_->AddJoinRows("one", Customers(0, 1)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("sealed")));
}

TEST_F(JoinedStudyTest, NothingIsAddedWhereTheStoreFails) {
  store_.FailWrites(UnavailableError("the disk is gone"));
  EXPECT_FALSE(studies_->AddJoinRows("one", Customers(0, 5)).ok());
  EXPECT_EQ(Rows(), 0u);
  store_.FailWrites(OkStatus());
  EXPECT_EQ(*studies_->AddJoinRows("one", Customers(0, 5)), 5u);
}

// Ids of any bytes are one key each, in their own study.
TEST_F(JoinedStudyTest, IdsOfAnyBytesAreKeptApart) {
  const std::vector<std::string> ids = {"a",
                                        "a/",
                                        "count",
                                        "../one/",
                                        "\xff\xff\xff",
                                        "A",
                                        " a",
                                        "a ",
                                        "one/a",
                                        std::string("a\0", 2),
                                        "é",
                                        "labels/",
                                        std::string(64, 'a')};
  std::vector<JoinRow> rows;
  for (const std::string& id : ids) rows.push_back({.id = id, .row = RowOf(1)});
  EXPECT_EQ(*studies_->AddJoinRows("one", rows), ids.size());
  EXPECT_THAT(*Submit(ReportsOf(ids)), Each(kAccepted));
  EXPECT_THAT(*Submit(ReportsOf({"b", "a//", "COUNT"})), Each(ReportOutcome::kUnknownId));
}

TEST_F(JoinedStudyTest, ReportsOfUnknownIdsAreCountedAsSuch) {
  ASSERT_OK(studies_->AddJoinRows("one", Customers(0, 2)));
  EXPECT_THAT(
      *Submit(ReportsOf({IdOf(0), "somebody", IdOf(1), ""})),
      ElementsAre(kAccepted, ReportOutcome::kUnknownId, kAccepted, ReportOutcome::kBadPayload));
  // A report with another ticket may come once the features are there.
  ASSERT_OK(studies_->AddJoinRows("one", {{.id = "somebody", .row = RowOf(3)}}));
  EXPECT_THAT(*Submit(ReportsOf({"somebody"})), ElementsAre(kAccepted));
  ASSERT_OK(studies_->Sweep());
  Reopen();
  const StudyInfo info = *studies_->Get("one");
  EXPECT_EQ(CountOf(info, ReportOutcome::kUnknownId), 1u);
  EXPECT_EQ(CountOf(info, ReportOutcome::kBadPayload), 1u);
  EXPECT_EQ(CountOf(info, kAccepted), 3u);
  EXPECT_OK(studies_->Reconcile());
}

// Each look takes a list of leaves, and a read of the store.
TEST_F(JoinedStudyTest, ATicketIsReadTwiceAtMostHoweverOftenACallRepeatsIt) {
  ASSERT_OK(studies_->AddJoinRows("one", Customers(0, 2)));
  const auto offer = *studies_->MakeOffer("one", 3);
  ReportBatch reports;
  for (int i = 0; i < 400; ++i) Add(offer.tickets[0], IdOf(0), 1, reports);
  for (int i = 0; i < 300; ++i) Add(offer.tickets[1], "somebody", 1, reports);
  for (int i = 0; i < 200; ++i) Add(Ticket(), IdOf(1), 1, reports);
  for (int i = 0; i < 100; ++i) reports.Add("too short", "", IdOf(1));
  const size_t reads = store_.reads();
  ASSERT_OK_AND_ASSIGN(const std::vector<ReportOutcome> outcomes, Submit(std::move(reports)));
  EXPECT_EQ(store_.reads(), reads + 3) << "one for a good report, two for bad ones";
  EXPECT_EQ(outcomes[0], kAccepted);
  const absl::Span<const ReportOutcome> all = outcomes;
  EXPECT_THAT(all.subspan(1, 399), Each(kDuplicate));
  EXPECT_THAT(all.subspan(400, 300), Each(ReportOutcome::kUnknownId));
  EXPECT_THAT(all.subspan(700), Each(ReportOutcome::kBadTicket));
  EXPECT_EQ(CountOf(*studies_->Get("one"), kDuplicate), 399u);
  EXPECT_OK(studies_->Reconcile());
}

TEST_F(JoinedStudyTest, NoDeviceIsAskedBeforeThereIsAnyId) {
  EXPECT_THAT(
      studies_->MakeOffer("one", 1),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("no features of any customer yet")));
  ASSERT_OK(studies_->AddJoinRows("one", Customers(0, 1)));
  EXPECT_OK(studies_->MakeOffer("one", 1));
  Reopen();
  EXPECT_OK(studies_->MakeOffer("one", 1));
}

// Two operators may upload the same file at once.
TEST_F(JoinedStudyTest, UploadsAtOnceAddEachIdOnce) {
  std::vector<std::thread> uploads;
  for (uint32_t first = 0; first < 4; ++first) {
    uploads.emplace_back([&, first] {
      for (uint32_t i = 0; i < 20; ++i) {
        const uint32_t begin = (first * 5 + i) % 20 * 10;
        EXPECT_OK(studies_->AddJoinRows("one", Customers(begin, begin + 20)));
      }
    });
  }
  for (std::thread& upload : uploads) upload.join();
  EXPECT_EQ(Rows(), 210u);
  EXPECT_EQ(Keys(JoinPrefix("one")), 211u);
}

TEST_F(JoinedStudyTest, AForgedTicketLearnsNothingOfAnId) {
  ASSERT_OK(studies_->AddJoinRows("one", Customers(0, 1)));
  ReportBatch forged;
  Add(Ticket(), IdOf(0), 1, forged);
  Add(Ticket(), "somebody", 1, forged);
  EXPECT_THAT(*Submit(std::move(forged)), Each(ReportOutcome::kBadTicket));
}

TEST_F(JoinedStudyTest, AnIdCountsOnceWhateverItsTickets) {
  ASSERT_OK(studies_->AddJoinRows("one", Customers(0, 3)));
  EXPECT_THAT(*Submit(ReportsOf({IdOf(0), IdOf(0), IdOf(1)})),
              ElementsAre(kAccepted, kDuplicate, kAccepted));
  EXPECT_THAT(*Submit(ReportsOf({IdOf(1), IdOf(2)})), ElementsAre(kDuplicate, kAccepted));
  Reopen();
  EXPECT_THAT(*Submit(ReportsOf({IdOf(0), IdOf(1), IdOf(2)})), Each(kDuplicate));
  EXPECT_EQ(CountOf(*studies_->Get("one"), kAccepted), 3u);
  EXPECT_EQ(studies_->Get("one")->in_sums, 3u);
  EXPECT_OK(studies_->Reconcile());
}

TEST_F(JoinedStudyTest, AFailedWriteTakesIdsBack) {
  ASSERT_OK(studies_->AddJoinRows("one", Customers(0, 100)));
  ReportBatch reports = ReportsOf(0, 100);
  ReportBatch again = reports;
  store_.FailWrites(UnavailableError("the disk is gone"));
  EXPECT_FALSE(Submit(reports).ok());
  store_.FailWrites(OkStatus());
  EXPECT_THAT(*Submit(std::move(reports)), Each(kAccepted));
  EXPECT_THAT(*Submit(std::move(again)), Each(kDuplicate));
  EXPECT_OK(Build());
}

TEST_F(JoinedStudyTest, NeitherKeysNorReportsHoldAnId) {
  ASSERT_OK(studies_->AddJoinRows("one", {{.id = "anna smith", .row = RowOf(1)}}));
  ASSERT_THAT(*Submit(ReportsOf({"anna smith"})), ElementsAre(kAccepted));
  EXPECT_OK(store_.Scan("", [&](std::string_view key, std::string_view value) {
    EXPECT_THAT(std::string(key), Not(HasSubstr("anna")));
    EXPECT_THAT(std::string(value), Not(HasSubstr("anna")));
    return OkStatus();
  }));
  EXPECT_NE(JoinIdOf("one", "anna smith"), JoinIdOf("two", "anna smith"));
}

TEST_F(JoinedStudyTest, RowsThatAreLostOrChangedAreNoticed) {
  AddAndAnswer(1000);
  const std::string key = JoinKey("one", JoinIdOf("one", IdOf(7)));
  const std::string row = *store_.Get(key).value();
  storage::StoreBatch batch;
  batch.Put(key, "odd");
  ASSERT_OK(store_.Apply(batch));
  EXPECT_THAT(Build(), StatusIs(StatusCode::kDataLoss, HasSubstr(key)));
  EXPECT_THAT(Submit(ReportsOf({IdOf(7)})),
              StatusIs(StatusCode::kDataLoss, HasSubstr("does not fit")));
  storage::StoreBatch lost;
  lost.Delete(key);
  ASSERT_OK(store_.Apply(lost));
  EXPECT_THAT(Build(), StatusIs(StatusCode::kDataLoss, HasSubstr("never accepted")));
}

TEST_F(JoinedStudyTest, AnIdThatIsCountedTwiceInTheStoreIsNoticed) {
  AddAndAnswer(1000);
  const JoinId id = JoinIdOf("one", IdOf(1));
  storage::StoreBatch batch;
  batch.Put(LabelsKey("one", 1000),
            EncodeLabels({{.public_values = AsBytes(id), .payload = std::string(1, '\0')}}));
  ASSERT_OK(store_.Apply(batch));
  studies_.reset();
  EXPECT_THAT(OpenStudies(store_, models_).status(),
              StatusIs(StatusCode::kDataLoss, HasSubstr("an id twice")));
}

TEST_F(JoinedStudyTest, RowsGoWithTheSums) {
  AddAndAnswer(1000);
  ASSERT_OK(studies_->Seal("one"));
  EXPECT_OK(Build());
  now_ += kPastRetention;
  ASSERT_OK(studies_->Sweep());
  EXPECT_TRUE(studies_->Get("one")->retired);
  EXPECT_EQ(Rows(), 0u);
  EXPECT_EQ(Keys(JoinPrefix("one")), 0u);
  Reopen();
  EXPECT_EQ(Rows(), 0u);
}

TEST_F(JoinedStudyTest, RowsGoWithTheStudy) {
  AddAndAnswer(1000);
  ASSERT_OK(studies_->Delete("one"));
  for (const std::string& prefix : PrefixesToDelete("one")) EXPECT_EQ(Keys(prefix), 0u) << prefix;
}

bool AnyFileHolds(const std::string& folder, const std::string& bytes) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(file)), {});
    if (content.find(bytes) != std::string::npos) return true;
  }
  return false;
}

// Deletion alone leaves the bytes in the store's files until they happen to be compacted.
TEST(JoinedStudyOnDiskTest, NoFileHoldsFeaturesOfADeletedOrRetiredStudy) {
  for (const bool retires : {false, true}) {
    const TempDir folder;
    ASSERT_OK_AND_ASSIGN(const auto store, storage::OpenRocksDbStore(folder.path()));
    std::optional<models::Models> models;
    int64_t now = 1000;
    ASSERT_OK_AND_ASSIGN(const auto studies, OpenStudies(*store, models, [&] { return now; }));
    ASSERT_OK(studies->Create(JoinedSpec()));
    ASSERT_OK(studies->AddJoinRows("one", {{.id = "ann", .row = {0.123456789, 0.987654321}}}));
    std::string record;
    ASSERT_OK(store->Scan(JoinPrefix("one"), [&](std::string_view, std::string_view value) {
      if (value.size() > record.size()) record = std::string(value);
      return OkStatus();
    }));
    ASSERT_GE(record.size(), 16u);
    ASSERT_TRUE(AnyFileHolds(folder.path(), record));
    if (retires) {
      ASSERT_OK(studies->Seal("one"));
      now += kPastRetention;
    } else {
      ASSERT_OK(studies->Delete("one"));
      EXPECT_TRUE(AnyFileHolds(folder.path(), record)) << "a sweep takes it out";
    }
    ASSERT_OK(studies->Sweep());
    EXPECT_FALSE(AnyFileHolds(folder.path(), record)) << retires;
  }
}

TEST_F(JoinedStudyTest, TheRequestNamesTheIdOrIsAnother) {
  EXPECT_EQ(studies_->Create(JoinedSpec())->id, "one");
  StudySpec other = JoinedSpec();
  other.joined_by = "account";
  EXPECT_THAT(studies_->Create(other), StatusIs(StatusCode::kAlreadyExists, HasSubstr("")));
  other = JoinedSpec();
  other.id = "two";
  other.request_id = "of two";
  other.public_rows = PublicRows();  // their features are private
  EXPECT_THAT(studies_->Create(other),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("joined_by")));
}

class JoinedFromSchemaTest : public JoinedStudyTest {
 protected:
  void SetUp() override { Begin(FromSchemaSpec()); }
};

TEST_F(JoinedFromSchemaTest, NoPublicRowIsNeeded) {
  AddAndAnswer(6000);
  ASSERT_OK_AND_ASSIGN(const models::ModelInfo model, Build(Evidence::kReports));
  EXPECT_GT(Hits(*model.model), 0.9);
  EXPECT_EQ(model.model->certificate().public_rows, 0u);
}

}  // namespace
}  // namespace coppice::curator
