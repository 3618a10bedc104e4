#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <set>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/envelope.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/serving/service/handlers.h"
#include "tests/server/serving/service/service_fixture.h"
#include "tests/support/raw_offer.h"
#include "tests/support/schemas.h"

namespace coppice::service {
namespace {

using ::coppice::testing::GrpcStatusIs;
using ::coppice::testing::IsGrpcOk;
using ::coppice::testing::MakeStudy;
using ::coppice::testing::RawOffer;
using ::coppice::testing::ServiceTest;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;

class StudyServiceTest : public ServiceTest {
 protected:
  StudyServiceTest() {
    create_.set_request_id("r1");
    create_.set_study_id("s1");
    auto* age = create_.mutable_schema()->add_features();
    age->set_name("age");
    age->mutable_numeric()->set_max(100);
    create_.mutable_schema()->set_label("edible");
    create_.mutable_schema()->add_classes("no");
    create_.mutable_schema()->add_classes("yes");
    for (const double value : {1.0, 99.0}) create_.add_public_rows()->add_values(value);
    create_.add_public_labels(0);
    create_.add_public_labels(1);
    create_.mutable_partition()->set_rule(v1::SPLIT_RULE_CART);
    create_.mutable_partition()->set_criterion(v1::CRITERION_ENTROPY);
    create_.mutable_partition()->set_max_depth(3);
    create_.mutable_partition()->set_min_leaf(2);
    create_.mutable_partition()->set_trees(4);
    create_.mutable_partition()->set_seed(5);
    create_.set_epsilon_nanos(2'000'000'000);
    create_.set_mechanism(v1::MECHANISM_SYMMETRIC_UNARY);
    studies_.AddStudy(MakeStudy("s1"));
  }

  grpc::Status Create() { return stub_->CreateStudy(&context_, create_, &created_); }
  void ExpectRefused(const char* message) {
    EXPECT_THAT(Create(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr(message)));
    EXPECT_EQ(studies_.created(), nullptr);
  }

  std::unique_ptr<v1::StudyService::Stub> stub_ = v1::StudyService::NewStub(channel_);
  v1::CreateStudyRequest create_;
  v1::CreateStudyResponse created_;
};

TEST_F(StudyServiceTest, WithoutAMinimumAModelNeedsOneReportAndNoneOnlyIfThatIsSaid) {
  ASSERT_THAT(Create(), IsGrpcOk());
  EXPECT_EQ(studies_.created()->settings.min_reports, 1u);
  EXPECT_EQ(studies_.created()->settings.expires_unix_seconds, 0);
  for (const uint64_t reports : {0, 100}) {
    create_.mutable_settings()->set_min_reports(reports);
    create_.mutable_settings()->set_expires_unix_seconds(5000);
    create_.mutable_settings()->set_retention_days(30);
    grpc::ClientContext context;
    ASSERT_THAT(stub_->CreateStudy(&context, create_, &created_), IsGrpcOk());
    EXPECT_EQ(studies_.created()->settings.min_reports, reports);
    EXPECT_EQ(studies_.created()->settings.expires_unix_seconds, 5000);
    EXPECT_EQ(studies_.created()->settings.retention_days, 30u);
  }
}

TEST_F(StudyServiceTest, ExpiryBeforeTheEpochIsRefused) {
  create_.mutable_settings()->set_expires_unix_seconds(-1);
  ExpectRefused("settings.expires_unix_seconds");
}

TEST_F(StudyServiceTest, ASettingOfALaterVersionIsRefusedAndNotIgnored) {
  v1::StudySettings& settings = *create_.mutable_settings();
  settings.GetReflection()->MutableUnknownFields(&settings)->AddVarint(1000, 1);
  ExpectRefused("settings: has a setting that this version does not know");
}

TEST_F(StudyServiceTest, StudySaysWhatItAdmitsHowFarItHasComeAndWhatItCounted) {
  curator::StudyInfo info = MakeStudy("s2");
  info.state = curator::StudyState::kBuilt;
  info.settings.min_reports = 3;
  info.settings.expires_unix_seconds = 5000;
  info.sealed_unix_seconds = 5000;
  info.expired = true;
  info.final_model = "last";
  info.settings.retention_days = 30;
  info.retired = true;
  info.received = 9;
  info.failed = 2;
  info.in_sums = 7;
  studies_.AddStudy(info);
  v1::GetStudyRequest request;
  request.set_name("studies/s2");
  v1::GetStudyResponse response;
  ASSERT_THAT(stub_->GetStudy(&context_, request, &response), IsGrpcOk());
  const v1::Study& study = response.study();
  EXPECT_EQ(study.state(), v1::STUDY_STATE_BUILT);
  EXPECT_EQ(study.settings().min_reports(), 3u);
  EXPECT_EQ(study.settings().expires_unix_seconds(), 5000);
  EXPECT_EQ(study.sealed_unix_seconds(), 5000);
  EXPECT_TRUE(study.expired());
  EXPECT_EQ(study.final_model(), "models/last");
  EXPECT_EQ(study.settings().retention_days(), 30u);
  EXPECT_TRUE(study.retired());
  EXPECT_EQ(study.received(), 9u);
  EXPECT_EQ(study.failed(), 2u);
  EXPECT_EQ(study.in_sums(), 7u);
}

TEST_F(StudyServiceTest, CreatePassesOnWhatWasAskedFor) {
  ASSERT_THAT(Create(), IsGrpcOk());
  EXPECT_EQ(created_.study().name(), "studies/s1");
  const curator::StudySpec& spec = *studies_.created();
  EXPECT_EQ(spec.id, "s1");
  EXPECT_EQ(spec.request_id, "r1");
  EXPECT_EQ(spec.public_rows->num_rows(), 2u);
  EXPECT_EQ(spec.public_rows->value(1, 0), 99.0);
  EXPECT_EQ(spec.public_rows->label(1), 1u);
  EXPECT_EQ(spec.partition.rule, curator::SplitRule::kCart);
  EXPECT_EQ(spec.partition.criterion, curator::Criterion::kEntropy);
  EXPECT_EQ(spec.partition.max_depth, 3u);
  EXPECT_EQ(spec.partition.min_leaf, 2u);
  EXPECT_EQ(spec.partition.trees, 4u);
  EXPECT_EQ(spec.partition.seed, 5u);
  EXPECT_EQ(spec.epsilon.nanos(), 2'000'000'000u);
  EXPECT_EQ(spec.mechanism, MechanismKind::kSymmetricUnary);
}

TEST_F(StudyServiceTest, CuratorChoosesWhatIsLeftOpen) {
  create_.clear_partition();
  create_.clear_how();
  create_.clear_settings();
  ASSERT_THAT(Create(), IsGrpcOk());
  const curator::StudySpec& spec = *studies_.created();
  EXPECT_TRUE(spec.choose_size);
  EXPECT_EQ(spec.partition, curator::ChoosePartition({}).options);
  EXPECT_FALSE(spec.mechanism.has_value());
  EXPECT_EQ(spec.settings.min_reports, curator::kDefaultMinReports);
}

TEST_F(StudyServiceTest, AJoinedStudyTakesRowsByTheirIds) {
  create_.set_joined_by("customer");
  ASSERT_THAT(Create(), IsGrpcOk());
  EXPECT_EQ(studies_.created()->joined_by, "customer");

  v1::AddJoinRowsRequest request;
  request.set_name("studies/s1");
  v1::JoinRow& row = *request.add_rows();
  row.set_id("anna");
  row.mutable_row()->add_values(3.5);
  v1::AddJoinRowsResponse response;
  grpc::ClientContext context;
  ASSERT_THAT(stub_->AddJoinRows(&context, request, &response), IsGrpcOk());
  EXPECT_EQ(response.rows(), 1u);
  ASSERT_EQ(studies_.joined().size(), 1u);
  EXPECT_EQ(studies_.joined()[0].id, "anna");
  EXPECT_EQ(studies_.joined()[0].row, Row{3.5});
}

TEST_F(StudyServiceTest, CreateNeedsARequestId) {
  create_.clear_request_id();
  ExpectRefused("request_id: must have 1 to 128 characters");
}

TEST_F(StudyServiceTest, CreateRefusesALongRequestId) {
  create_.set_request_id(std::string(129, 'r'));
  ExpectRefused("has 129");
}

TEST_F(StudyServiceTest, CreateRefusesAnInvalidId) {
  create_.set_study_id("S 1");
  ExpectRefused("study_id");
}

TEST_F(StudyServiceTest, CreateRefusesABrokenSchema) {
  create_.mutable_schema()->clear_classes();
  ExpectRefused("schema");
}

TEST_F(StudyServiceTest, CreateNamesTheRowThatDoesNotFit) {
  create_.mutable_public_rows(1)->set_values(0, 101);
  ExpectRefused("public_rows[1]: row");
}

TEST_F(StudyServiceTest, CreateNeedsOneLabelARow) {
  create_.mutable_public_labels()->RemoveLast();
  ExpectRefused("public_labels: must be one a public row (2), are 1");
}

TEST_F(StudyServiceTest, CreateRefusesALabelOutsideTheClasses) {
  create_.set_public_labels(1, 2);
  ExpectRefused("public_labels[1]: must be below 2");
}

TEST_F(StudyServiceTest, CreateTakesNoNumbersBesideClasses) {
  create_.add_public_numbers(1);
  ExpectRefused("public_numbers: must be empty: the schema has classes, so take public_labels");
}

void PredictNumbers(v1::CreateStudyRequest& create, std::vector<double> numbers) {
  create.mutable_schema()->clear_classes();
  create.mutable_schema()->mutable_target()->set_min(0);
  create.mutable_schema()->mutable_target()->set_max(9);
  create.clear_public_labels();
  create.mutable_public_numbers()->Add(numbers.begin(), numbers.end());
}

TEST_F(StudyServiceTest, CreateTakesNoClassesBesideNumbers) {
  PredictNumbers(create_, {});
  create_.add_public_labels(0);
  ExpectRefused("public_labels: must be empty: the schema has a target, so take public_numbers");
}

TEST_F(StudyServiceTest, CreateNeedsOneNumberARow) {
  PredictNumbers(create_, {1});
  ExpectRefused("public_numbers: must be one a public row (2), are 1");
}

TEST_F(StudyServiceTest, CreateRefusesANumberOutsideItsBounds) {
  PredictNumbers(create_, {1, 9.5});
  ExpectRefused("public_numbers[1]: must be from 0 to 9");
}

TEST_F(StudyServiceTest, CreateRefusesANumberThatIsNotFinite) {
  PredictNumbers(create_, {1, std::nan("")});
  ExpectRefused("public_numbers[1]: must be from 0 to 9");
}

TEST_F(StudyServiceTest, CreateNeedsAnEpsilon) {
  create_.clear_epsilon_nanos();
  ExpectRefused("epsilon_nanos");
}

TEST_F(StudyServiceTest, TheCuratorsErrorArrivesWithItsCodeAndMessage) {
  studies_.Fail(AlreadyExistsError("a study s1 exists"));
  EXPECT_THAT(Create(), GrpcStatusIs(grpc::ALREADY_EXISTS, HasSubstr("a study s1 exists")));
}

TEST_F(StudyServiceTest, GetShowsTermsStateAndCounts) {
  curator::StudyInfo info = MakeStudy("s2");
  info.outcomes[1] = 10;
  info.outcomes[6] = 3;
  studies_.AddStudy(info);
  v1::GetStudyRequest request;
  request.set_name("studies/s2");
  v1::GetStudyResponse response;
  ASSERT_THAT(stub_->GetStudy(&context_, request, &response), IsGrpcOk());
  const v1::Study& study = response.study();
  EXPECT_EQ(study.state(), v1::STUDY_STATE_OPEN);
  EXPECT_EQ(study.created_unix_seconds(), 1'700'000'000);
  EXPECT_EQ(study.fingerprint(), std::string(32, '\x07'));
  EXPECT_EQ(study.public_rows(), 12u);
  EXPECT_EQ(study.terms().schema().classes_size(), 2);
  EXPECT_EQ(study.terms().trees(), 1u);
  EXPECT_EQ(study.forest().trees_size(), 1);
  ASSERT_THAT(study.counts(), SizeIs(2));
  EXPECT_EQ(study.counts(1).outcome(), v1::REPORT_OUTCOME_BAD_TICKET);
  EXPECT_EQ(study.counts(1).reports(), 3u);
}

TEST_F(StudyServiceTest, TheHistoryHasTheOutcomesThatOccurredInEachStep) {
  curator::StudyInfo info = MakeStudy("s2");
  info.created_unix_seconds = 4711;
  info.outcomes = {};
  info.outcomes[static_cast<size_t>(curator::ReportOutcome::kAccepted)] = 7;
  info.outcomes[static_cast<size_t>(curator::ReportOutcome::kUnknownId)] = 2;
  studies_.AddStudy(info);
  v1::GetReportHistoryRequest request;
  request.set_name("studies/s2");
  v1::GetReportHistoryResponse response;
  ASSERT_THAT(stub_->GetReportHistory(&context_, request, &response), IsGrpcOk());
  EXPECT_EQ(response.step_seconds(), 10u);
  ASSERT_THAT(response.steps(), SizeIs(1));
  EXPECT_EQ(response.steps(0).begin_unix_seconds(), 4711);
  ASSERT_THAT(response.steps(0).counts(), SizeIs(2));
  EXPECT_EQ(response.steps(0).counts(0).outcome(), v1::REPORT_OUTCOME_ACCEPTED);
  EXPECT_EQ(response.steps(0).counts(0).reports(), 7u);
  EXPECT_EQ(response.steps(0).counts(1).outcome(), v1::REPORT_OUTCOME_UNKNOWN_ID);
  for (const char* wrong : {"s2", "studies/none"}) {
    grpc::ClientContext context;
    request.set_name(wrong);
    EXPECT_FALSE(stub_->GetReportHistory(&context, request, &response).ok()) << wrong;
  }
}

TEST_F(StudyServiceTest, GetPassesOnTheAlarms) {
  curator::StudyInfo info = MakeStudy("s2");
  curator::Alarm& alarm = info.alarms.emplace_back();
  alarm.name = "column";
  alarm.value = 5.5;
  alarm.text = "column 0 of 2";
  alarm.raised = true;
  info.alarms.emplace_back().name = "margin";
  studies_.AddStudy(info);
  v1::GetStudyRequest request;
  request.set_name("studies/s2");
  v1::GetStudyResponse response;
  ASSERT_THAT(stub_->GetStudy(&context_, request, &response), IsGrpcOk());
  ASSERT_THAT(response.study().alarms(), SizeIs(2));
  EXPECT_EQ(response.study().alarms(0).name(), "column");
  EXPECT_EQ(response.study().alarms(0).value(), 5.5);
  EXPECT_EQ(response.study().alarms(0).text(), "column 0 of 2");
  EXPECT_TRUE(response.study().alarms(0).raised());
  EXPECT_FALSE(response.study().alarms(1).raised());
}

// What GetCounts() passes on, for a study with one cut at age 40.
class GetCountsTest : public StudyServiceTest {
 protected:
  GetCountsTest() {
    request_.set_name("studies/s1");
    const auto schema = std::make_shared<const Schema>(
        *Schema::Create({testing::Numeric("age", 0, 100)}, "edible", {"no", "yes"}));
    counts_.terms = std::make_shared<const Terms>(Terms{.study = "s1",
                                                        .schema = schema,
                                                        .trees = 1,
                                                        .forest_root = {},
                                                        .epsilon = *Budget::FromEpsilon(1),
                                                        .mechanism = MechanismKind::kDirect});
    Node root;
    root.kind = SplitKind::kNumeric;
    root.threshold = 40;
    root.left = 1;
    root.right = 2;
    counts_.forest =
        std::make_shared<const Forest>(Forest{*Tree::Create({root, Node(), Node()}, *schema)});
    counts_.reports = 90;
    counts_.tree_reports = 30;
    counts_.break_down = {.confidence = 0.9, .intervals = 3};
    counts_.break_down.nodes.push_back(
        {.node = 2,
         .public_rows = 5,
         .rows = curator::CountEstimate{1, 2, 0, 4},
         .classes = {{.estimate = 3, .standard_error = 1, .low = 2, .high = 5}, {}},
         .margin = std::nullopt});
  }
  grpc::Status Get() {
    studies_.SetCounts(counts_);
    return stub_->GetCounts(&context_, request_, &response_);
  }

  curator::StudyCounts counts_;
  v1::GetCountsRequest request_;
  v1::GetCountsResponse response_;
};

TEST_F(GetCountsTest, PassesOnWhatIsAskedAndWhatIsAnswered) {
  request_.set_node(2);
  request_.set_confidence(0.9);
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_EQ(studies_.counted().choice.node, 2u);
  EXPECT_EQ(studies_.counted().choice.depth, std::nullopt);
  EXPECT_EQ(studies_.counted().confidence, 0.9);
  EXPECT_EQ(response_.reports(), 90u);
  EXPECT_EQ(response_.tree_reports(), 30u);
  EXPECT_EQ(response_.intervals(), 3u);
  EXPECT_THAT(response_.class_names(), ElementsAre("no", "yes"));
  ASSERT_THAT(response_.nodes(), SizeIs(1));
  const v1::NodeCounts& node = response_.nodes(0);
  EXPECT_EQ(node.depth(), 1u);
  EXPECT_THAT(node.conditions(), ElementsAre("not (age < 40)"));
  EXPECT_EQ(node.public_rows(), 5u);
  EXPECT_EQ(node.rows().high(), 4);
  ASSERT_THAT(node.classes(), SizeIs(2));
  EXPECT_EQ(node.classes(0).low(), 2);
  EXPECT_FALSE(node.has_margin());
}

TEST_F(GetCountsTest, WithoutAConfidenceItIsTheDefaultOfAllNodes) {
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_EQ(studies_.counted().confidence, curator::kDefaultConfidence);
  EXPECT_EQ(studies_.counted().choice.node, std::nullopt);
}

TEST_F(GetCountsTest, AMechanismOfMarginsSaysThatThereAreNoCounts) {
  counts_.margins_only = true;
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_THAT(response_.method(), HasSubstr("tells margins only"));
}

TEST_F(GetCountsTest, RefusesANameOfAnotherCollection) {
  request_.set_name("models/s1");
  EXPECT_THAT(Get(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("studies/ID")));
}

TEST_F(StudyServiceTest, GetRefusesANameOfAnotherCollection) {
  v1::GetStudyRequest request;
  request.set_name("models/s1");
  v1::GetStudyResponse response;
  EXPECT_THAT(stub_->GetStudy(&context_, request, &response),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("studies/ID")));
}

TEST_F(StudyServiceTest, GetDoesNotFindWhatIsNotThere) {
  v1::GetStudyRequest request;
  request.set_name("studies/nothing");
  v1::GetStudyResponse response;
  EXPECT_THAT(stub_->GetStudy(&context_, request, &response),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("none of this name")));
}

TEST_F(StudyServiceTest, ListGoesThroughAllPagesWithoutTerms) {
  for (const char* id : {"s2", "s3", "s4"}) studies_.AddStudy(MakeStudy(id));
  v1::ListStudiesRequest request;
  request.set_page_size(2);
  v1::ListStudiesResponse first, second;
  ASSERT_THAT(stub_->ListStudies(&context_, request, &first), IsGrpcOk());
  ASSERT_THAT(first.studies(), SizeIs(2));
  EXPECT_FALSE(first.studies(0).has_terms());
  EXPECT_FALSE(first.studies(0).has_forest());
  EXPECT_EQ(first.next_page_token(), "s2");
  request.set_page_token(first.next_page_token());
  grpc::ClientContext context;
  ASSERT_THAT(stub_->ListStudies(&context, request, &second), IsGrpcOk());
  ASSERT_THAT(second.studies(), SizeIs(2));
  EXPECT_EQ(second.studies(1).name(), "studies/s4");
  EXPECT_EQ(second.next_page_token(), "");
}

TEST_F(StudyServiceTest, ListRefusesAHugePageOrAMadeUpToken) {
  v1::ListStudiesRequest request;
  request.set_page_size(1001);
  v1::ListStudiesResponse response;
  EXPECT_THAT(stub_->ListStudies(&context_, request, &response),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("page_size: must be at most 1000")));
  request.set_page_size(0);
  request.set_page_token("!");
  grpc::ClientContext context;
  EXPECT_THAT(stub_->ListStudies(&context, request, &response),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("page_token")));
}

TEST_F(StudyServiceTest, SealShowsTheSealedStudy) {
  v1::SealStudyRequest request;
  request.set_name("studies/s1");
  v1::SealStudyResponse response;
  ASSERT_THAT(stub_->SealStudy(&context_, request, &response), IsGrpcOk());
  EXPECT_EQ(response.study().state(), v1::STUDY_STATE_SEALED);
}

curator::StudyInfo RelayedStudy(const std::string& id) {
  curator::StudyInfo info = MakeStudy(id);
  info.settings.relay = curator::RelaySettings{.relay_key = {1}, .min_batch = 1000};
  info.relay = curator::StudyRelayInfo{.sealing_key = SealingKeyName{7}, .earlier_keys = 2};
  return info;
}

TEST_F(StudyServiceTest, ARelayedStudySaysItsSealingKey) {
  studies_.AddStudy(RelayedStudy("r1"));
  v1::GetStudyRequest request;
  request.set_name("studies/r1");
  v1::GetStudyResponse response;
  ASSERT_THAT(stub_->GetStudy(&context_, request, &response), IsGrpcOk());
  EXPECT_EQ(response.study().relay().sealing_key_id(), std::string("\x07") + std::string(15, '\0'));
  EXPECT_EQ(response.study().relay().earlier_keys(), 2u);
  EXPECT_FALSE(response.study().relay().keys_erased());
  EXPECT_EQ(response.study().settings().relay().min_batch(), 1000u);
}

TEST_F(StudyServiceTest, ARelayedStudySaysWhichBatchesHaveCome) {
  curator::StudyInfo info = RelayedStudy("r1");
  curator::BatchInfo counted{.id = {1}, .state = curator::BatchState::kCounted, .reports = 1000};
  counted.outcomes[static_cast<size_t>(curator::ReportOutcome::kAccepted)] = 998;
  counted.outcomes[static_cast<size_t>(curator::ReportOutcome::kBadSeal)] = 2;
  // What was judged so far of a batch that is not counted is not told.
  curator::BatchInfo stored{.id = {2}, .state = curator::BatchState::kStored, .reports = 2000};
  stored.outcomes[static_cast<size_t>(curator::ReportOutcome::kAccepted)] = 1000;
  info.relay->batches = {.waiting = 1000,
                         .batches = 102,
                         .counted = 101,
                         .least_accepted = 998,
                         .newest = {counted, stored}};
  studies_.AddStudy(info);
  v1::GetStudyRequest request;
  request.set_name("studies/r1");
  v1::GetStudyResponse response;
  ASSERT_THAT(stub_->GetStudy(&context_, request, &response), IsGrpcOk());
  const v1::StudyRelay& relay = response.study().relay();
  EXPECT_EQ(relay.waiting(), 1000u);
  EXPECT_EQ(relay.batches(), 102u);
  EXPECT_EQ(relay.least_accepted(), 998u);
  ASSERT_EQ(relay.newest_size(), 2);
  EXPECT_EQ(relay.newest(0).id(), std::string("\x01") + std::string(31, '\0'));
  EXPECT_EQ(relay.newest(0).state(), v1::BATCH_STATE_COUNTED);
  ASSERT_EQ(relay.newest(0).counts_size(), 2);
  EXPECT_EQ(relay.newest(0).counts(1).outcome(), v1::REPORT_OUTCOME_BAD_SEAL);
  EXPECT_EQ(relay.newest(0).counts(1).reports(), 2u);
  EXPECT_EQ(relay.newest(1).reports(), 2000u);
  EXPECT_EQ(relay.newest(1).counts_size(), 0);
}

TEST_F(StudyServiceTest, ARotationNamesTheKeyThatItReplaces) {
  v1::RotateSealingKeyRequest request;
  request.set_name("studies/s1");
  v1::RotateSealingKeyResponse response;
  for (const size_t bytes : {0, 15, 17}) {
    grpc::ClientContext context;
    request.set_sealing_key_id(std::string(bytes, 'k'));
    EXPECT_THAT(stub_->RotateSealingKey(&context, request, &response),
                GrpcStatusIs(grpc::INVALID_ARGUMENT,
                             HasSubstr(StrCat("sealing_key_id: must have 16 bytes, has ", bytes))));
  }
  request.set_sealing_key_id(std::string(16, 'k'));
  ASSERT_THAT(stub_->RotateSealingKey(&context_, request, &response), IsGrpcOk());
  EXPECT_EQ(response.study().relay().sealing_key_id(), std::string(16, 'k'));
}

// A device would spend its epsilon on a report that the curator refuses.
TEST_F(StudyServiceTest, TicketsOfARelayedStudyAreForRelaysAndAdmins) {
  studies_.AddStudy(RelayedStudy("r1"));
  RateLimiter limiter({.rate = 100, .burst = 100}, [] { return absl::Now(); });
  service::StudyHandlers handlers(studies_, limiter);
  v1::GetOfferRequest request;
  request.set_name("studies/r1");
  const auto offer = [&](const service::Caller& caller) {
    return handlers.GetOffer(caller, request).status();
  };
  EXPECT_EQ(offer({.name = "phone", .sees_all = true}).code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(offer({.name = "phone", .sees_all = true}).message()),
              HasSubstr("only to its relay"));
  const owners::Patterns its = *owners::Patterns::Parse({"studies/r*"});
  const owners::Patterns other = *owners::Patterns::Parse({"studies/s*"});
  EXPECT_TRUE(offer({.name = "relay", .relays = true, .relayed = its}).ok());
  EXPECT_FALSE(offer({.name = "relay", .relays = true, .relayed = other}).ok());
  EXPECT_FALSE(offer({.name = "phone", .resources = its}).ok()) << "granted as a device";
  EXPECT_TRUE(offer(service::Caller::Operator()).ok());
  request.set_name("studies/s1");
  EXPECT_TRUE(offer({.name = "phone", .sees_all = true}).ok());
}

TEST_F(StudyServiceTest, DeletedIsGone) {
  v1::DeleteStudyRequest request;
  request.set_name("studies/s1");
  v1::DeleteStudyResponse response;
  ASSERT_THAT(stub_->DeleteStudy(&context_, request, &response), IsGrpcOk());
  grpc::ClientContext context;
  EXPECT_THAT(stub_->DeleteStudy(&context, request, &response),
              GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("none")));
}

class GetOfferTest : public StudyServiceTest {
 protected:
  GetOfferTest() { request_.set_name("studies/s1"); }
  grpc::Status Get() { return stub_->GetOffer(&context_, request_, &response_); }

  v1::GetOfferRequest request_;
  v1::GetOfferResponse response_;
};

TEST_F(GetOfferTest, OneTicketUnlessMoreAreAskedFor) {
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_EQ(response_.terms(), "the terms");
  EXPECT_EQ(response_.fingerprint(), std::string(32, '\x07'));
  ASSERT_THAT(response_.tickets(), SizeIs(1));
  EXPECT_THAT(response_.tickets(0), SizeIs(32));
}

TEST_F(GetOfferTest, ADeviceGetsTheTreeOfItsTicketAndNoOther) {
  ASSERT_THAT(Get(), IsGrpcOk());
  const Ticket ticket = *Ticket::FromBytes(response_.tickets(0));
  const uint32_t tree = TreeOfTicket(ticket, 5);
  const auto forest = studies_.MakeOffer("s1", 1)->forest;
  const std::string sent(OpenEnvelope(response_.tree()).value_or(""));
  EXPECT_EQ(sent, forest->trees[tree]);
  EXPECT_TRUE(VerifyMerklePath(sent, tree, 5, OpenEnvelope(response_.tree_path()).value_or(""),
                               forest->merkle.root));
  EXPECT_THAT(response_.forest(), IsEmpty());
}

// Somebody who watches the line sees neither the tree nor its place in the forest, in any encoding.
TEST_F(GetOfferTest, OffersHaveOneLengthWhateverTheirTree) {
  std::set<size_t> lengths, json_lengths;
  std::set<std::string> trees;
  while (trees.size() < 5) {
    now_ += absl::Seconds(1);  // as fast as tickets are given
    grpc::ClientContext context;
    studies_.DrawTickets();
    ASSERT_THAT(stub_->GetOffer(&context, request_, &response_), IsGrpcOk());
    trees.insert(response_.tree());
    lengths.insert(response_.ByteSizeLong());
    std::string json;
    ASSERT_TRUE(google::protobuf::util::MessageToJsonString(response_, &json).ok());
    // The ticket, the same for all trees in length, may hold what JSON escapes: it is in base64.
    json_lengths.insert(json.size());
  }
  EXPECT_EQ(lengths.size(), 1u);
  EXPECT_EQ(json_lengths.size(), 1u);
}

TEST_F(GetOfferTest, AGatewayGetsItsThousandAndNotMore) {
  request_.set_tickets(1000);
  request_.set_whole_forest(true);
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_THAT(response_.tickets(), SizeIs(1000));
  EXPECT_THAT(response_.forest(), SizeIs(5));
  EXPECT_EQ(response_.forest(1), "tree 1");
  EXPECT_EQ(response_.tree(), "");
  EXPECT_EQ(response_.tree_path(), "");
  request_.set_tickets(1001);
  grpc::ClientContext context;
  EXPECT_THAT(stub_->GetOffer(&context, request_, &response_),
              GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("tickets: must be at most 1000")));
}

TEST_F(GetOfferTest, SeveralTicketsNeedTheWholeForest) {
  request_.set_tickets(2);
  EXPECT_THAT(Get(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("tickets: more than one")));
}

TEST_F(GetOfferTest, KnownTermsAreLeftOutAndTheDevicesTreeIsNot) {
  request_.set_known_fingerprint(std::string(32, '\x07'));
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_EQ(response_.terms(), "");
  EXPECT_NE(response_.tree(), "");
}

TEST_F(GetOfferTest, AKnownForestIsLeftOut) {
  request_.set_known_fingerprint(std::string(32, '\x07'));
  request_.set_whole_forest(true);
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_EQ(response_.terms(), "");
  EXPECT_THAT(response_.forest(), IsEmpty());
}

TEST_F(GetOfferTest, AForestThatChangedIsSent) {
  request_.set_known_fingerprint(std::string(32, '\x08'));
  request_.set_whole_forest(true);
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_THAT(response_.forest(), SizeIs(5));
}

TEST_F(GetOfferTest, NoOfferIsCompressedWhateverTheCallerTakes) {
  request_.set_whole_forest(true);
  const std::string raw = RawOffer(address_, grpc::InsecureChannelCredentials(), request_);
  ASSERT_TRUE(response_.ParseFromString(raw)) << raw.size();
  EXPECT_THAT(response_.forest(3), SizeIs(1000));
}

TEST_F(GetOfferTest, TokensArePassedOnInOrder) {
  request_.set_tickets(2);
  request_.set_whole_forest(true);
  for (const char* token : {"b", "a"}) request_.add_submission_tokens(token);
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_THAT(studies_.shown_tokens(), ElementsAre("b", "a"));
}

TEST_F(GetOfferTest, TicketsWithoutTokensAreLimitedAndTheAnswerSaysWhenToComeAgain) {
  const auto get = [&](const std::string& study, const char* token, std::string* pushback) {
    grpc::ClientContext context;
    request_.set_name("studies/" + study);
    request_.clear_submission_tokens();
    if (token != nullptr) request_.add_submission_tokens(token);
    const grpc::Status status = stub_->GetOffer(&context, request_, &response_);
    const auto& metadata = context.GetServerTrailingMetadata();
    const auto found = metadata.find("grpc-retry-pushback-ms");
    if (found != metadata.end()) pushback->assign(found->second.data(), found->second.size());
    return status;
  };
  std::string pushback;
  for (int i = 0; i < 5; ++i) ASSERT_THAT(get("s1", nullptr, &pushback), IsGrpcOk());
  EXPECT_EQ(pushback, "");
  EXPECT_THAT(get("s1", nullptr, &pushback),
              GrpcStatusIs(grpc::RESOURCE_EXHAUSTED, HasSubstr("ask again in 1000 ms")));
  EXPECT_EQ(pushback, "1000");
  ASSERT_THAT(get("s1", "token", &pushback), IsGrpcOk()) << "tokens bound themselves";
  studies_.AddStudy(MakeStudy("s2"));
  ASSERT_THAT(get("s2", nullptr, &pushback), IsGrpcOk()) << "each study has a limit of its own";
  now_ += absl::Seconds(1);
  ASSERT_THAT(get("s1", nullptr, &pushback), IsGrpcOk());
  EXPECT_EQ(get("s1", nullptr, &pushback).error_code(), grpc::RESOURCE_EXHAUSTED);
}

TEST_F(StudyServiceTest, SubmissionTokensAreIssuedAsManyAsAskedFor) {
  v1::IssueSubmissionTokensRequest request;
  request.set_count(3);
  v1::IssueSubmissionTokensResponse response;
  ASSERT_THAT(stub_->IssueSubmissionTokens(&context_, request, &response), IsGrpcOk());
  EXPECT_THAT(response.tokens(), SizeIs(3));
}

TEST_F(StudyServiceTest, AStudyCanAskForSubmissionTokens) {
  create_.mutable_settings()->set_require_submission_token(true);
  ASSERT_THAT(Create(), IsGrpcOk());
  EXPECT_TRUE(studies_.created()->settings.require_submission_token);
}

TEST_F(GetOfferTest, TermsThatChangedAreSent) {
  request_.set_known_fingerprint(std::string(32, '\x08'));
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_EQ(response_.terms(), "the terms");
}

TEST_F(GetOfferTest, AFingerprintOfAnotherLengthIsRefused) {
  request_.set_known_fingerprint("short");
  EXPECT_THAT(Get(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("known_fingerprint")));
}

TEST_F(GetOfferTest, TheManifestIsSentUnlessItIsKnown) {
  const Sha256Digest known = Sha256({"the manifest"});
  request_.set_known_manifest(std::string(32, 'x'));
  ASSERT_THAT(Get(), IsGrpcOk());
  EXPECT_EQ(response_.manifest().manifest(), "the manifest");
  EXPECT_THAT(response_.manifest().signature(), SizeIs(64));
  grpc::ClientContext context;
  request_.set_known_manifest(std::string(known.begin(), known.end()));
  ASSERT_THAT(stub_->GetOffer(&context, request_, &response_), IsGrpcOk());
  EXPECT_FALSE(response_.has_manifest());
}

TEST_F(GetOfferTest, AManifestsHashOfAnotherLengthIsRefused) {
  request_.set_known_manifest("short");
  EXPECT_THAT(Get(), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("known_manifest")));
}

TEST_F(StudyServiceTest, TellsTheKeyThatSigns) {
  grpc::ClientContext context;
  v1::GetCuratorKeysResponse response;
  ASSERT_THAT(stub_->GetCuratorKeys(&context, v1::GetCuratorKeysRequest(), &response), IsGrpcOk());
  EXPECT_EQ(response.key(), std::string("\x02") + std::string(31, '\0'));
  EXPECT_EQ(testing::DirectKeyOf(response), studies_.direct_key());
  EXPECT_EQ(response.proof(), "");
}

TEST_F(StudyServiceTest, SaysThatAStudyTakesNoMoreReports) {
  const auto ask = [this](const std::string& name, v1::GetManifestResponse& response) {
    grpc::ClientContext context;
    v1::GetManifestRequest request;
    request.set_name(name);
    return stub_->GetManifest(&context, request, &response);
  };
  studies_.SetNotice({.manifest = std::make_shared<const SignedManifest>(
                          SignedManifest{.bytes = "the manifest", .signature = {1}, .key = {2}}),
                      .closing = SignedClosing{.bytes = "the closing", .key = {2}}});
  v1::GetManifestResponse response;
  ASSERT_THAT(ask("studies/s1", response), IsGrpcOk());
  EXPECT_EQ(response.manifest().manifest(), "the manifest");
  EXPECT_EQ(response.closing().closing(), "the closing");
  EXPECT_THAT(ask("studies/none", response), GrpcStatusIs(grpc::NOT_FOUND, HasSubstr("none")));
  EXPECT_THAT(ask("s1", response), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("name")));
}

TEST_F(StudyServiceTest, ProvesThatItHasTheKeyToWhoeverAsks) {
  const auto ask = [this](size_t bytes, v1::GetCuratorKeysResponse& response) {
    grpc::ClientContext context;
    v1::GetCuratorKeysRequest request;
    request.set_challenge(std::string(bytes, '\x07'));
    return stub_->GetCuratorKeys(&context, request, &response);
  };
  v1::GetCuratorKeysResponse response;
  ASSERT_THAT(ask(32, response), IsGrpcOk());
  EXPECT_EQ(response.proof(), std::string(64, '\x07'));
  EXPECT_EQ(testing::DirectKeyOf(response), studies_.direct_key());
  for (const size_t bytes : {1, 31, 33}) {
    EXPECT_THAT(ask(bytes, response), GrpcStatusIs(grpc::INVALID_ARGUMENT, HasSubstr("challenge")));
  }
}

TEST_F(GetOfferTest, ASealedStudyOffersNothing) {
  studies_.Fail(FailedPreconditionError("the study is sealed"));
  EXPECT_THAT(Get(), GrpcStatusIs(grpc::FAILED_PRECONDITION, HasSubstr("sealed")));
}

}  // namespace
}  // namespace coppice::service
