#include <gtest/gtest.h>

#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/describe/describe.h"
#include "common/describe/text.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/study.pb.h"

namespace coppice {
namespace {

v1::Study SampleStudy() {
  v1::Study study;
  study.set_name("studies/s1");
  study.set_state(v1::STUDY_STATE_SEALED);
  study.set_fingerprint(std::string("\x01\xab", 2));
  study.set_public_rows(50);
  study.mutable_partition()->set_rule(v1::SPLIT_RULE_HYBRID);
  study.mutable_partition()->set_max_depth(7);
  study.mutable_partition()->set_min_leaf(2);
  study.set_created_unix_seconds(86400);
  study.mutable_terms()->set_epsilon_nanos(500'000'000);
  study.mutable_terms()->set_mechanism(v1::MECHANISM_LAPLACE_JOINT);
  study.mutable_terms()->set_trees(2);
  for (int tree = 0; tree < 2; ++tree) {
    v1::Tree& added = *study.mutable_forest()->add_trees();
    added.add_kinds(v1::SPLIT_KIND_NUMERIC);
    added.add_kinds(v1::SPLIT_KIND_LEAF);
    added.add_kinds(v1::SPLIT_KIND_LEAF);
  }
  return study;
}

void AddCount(v1::Study& study, v1::ReportOutcome outcome, uint64_t reports) {
  v1::ReportCount& count = *study.add_counts();
  count.set_outcome(outcome);
  count.set_reports(reports);
}

TEST(DescribeTest, NewStudyStartsWithWhatScriptsRead) {
  EXPECT_EQ(DescribeNewStudy(SampleStudy()).dump(),
            R"({"study":"s1","leaves":4,"fingerprint":"01ab","epsilon":0.5,)"
            R"("mechanism":"laplace_joint","trees":2,"public_rows":50,)"
            R"("partition":"hybrid, depth 7, at least 2 public rows a leaf","min_reports":0})");
}

TEST(DescribeTest, StudySaysWhichBatchesItsRelayHasHandedOver) {
  v1::Study study = SampleStudy();
  EXPECT_FALSE(DescribeStudy(study).contains("batches"));
  v1::StudyRelay& relay = *study.mutable_relay();
  relay.set_batches(12);
  relay.set_waiting(7);
  relay.set_least_accepted(998);
  for (char batch = 0; batch < 12; ++batch) {
    v1::Batch& added = *relay.add_newest();
    added.set_id(std::string(32, batch));
    added.set_state(v1::BATCH_STATE_COUNTED);
    added.set_reports(1000);
    added.set_created_unix_seconds(86400);
    v1::ReportCount& count = *added.add_counts();
    count.set_outcome(v1::REPORT_OUTCOME_BAD_SEAL);
    count.set_reports(2);
  }
  const Description json = DescribeStudy(study);
  EXPECT_EQ(json["batches"], 12);
  EXPECT_EQ(json["waiting"], 7);
  EXPECT_EQ(json["least_accepted"], 998);
  ASSERT_EQ(json["newest_batches"].size(), 12u);
  EXPECT_EQ(json["newest_batches"][1].dump(),
            StrCat(R"({"batch":")", BytesToHexString(std::string(32, '\1')),
                   R"(","state":"counted","reports":1000,)",
                   R"("created":"1970-01-02T00:00:00Z","outcomes":{"bad_seal":2}})"));
  const Description people = DescribeStudyForPeople(study);
  EXPECT_FALSE(people.contains("newest_batches"));
  EXPECT_TRUE(people.contains("batch 0b0b0b0b")) << "the newest ten";
  EXPECT_TRUE(people.contains("batch 02020202"));
  EXPECT_FALSE(people.contains("batch 01010101"));
}

TEST(DescribeTest, StudySaysByWhichFeatureItIsIfByAny) {
  v1::Study study = SampleStudy();
  EXPECT_FALSE(DescribeStudy(study).contains("by"));
  study.mutable_partition()->set_by_feature("plan");
  EXPECT_EQ(DescribeStudy(study)["by"], "plan");
  EXPECT_EQ(DescribeNewStudy(study)["by"], "plan");
}

TEST(DescribeTest, StudySaysWhatItAdmitsAndHowFarItHasCome) {
  v1::Study study = SampleStudy();
  study.mutable_settings()->set_min_reports(100);
  Description json = DescribeStudy(study);
  EXPECT_EQ(json["min_reports"], 100);
  for (const char* absent : {"expires", "sealed", "expired", "final_model"}) {
    EXPECT_FALSE(json.contains(absent)) << absent;
  }
  study.set_state(v1::STUDY_STATE_BUILT);
  study.mutable_settings()->set_expires_unix_seconds(2 * 86400);
  study.set_sealed_unix_seconds(2 * 86400);
  study.set_expired(true);
  study.set_final_model("models/last");
  json = DescribeStudy(study);
  EXPECT_EQ(json["state"], "built");
  EXPECT_EQ(json["expires"], "1970-01-03T00:00:00Z");
  EXPECT_EQ(json["sealed"], "1970-01-03T00:00:00Z");
  EXPECT_EQ(json["expired"], true);
  EXPECT_EQ(json["final_model"], "last");
}

TEST(DescribeTest, ARelayedStudySaysWhoseAndWhichKeyItHas) {
  v1::Study study = SampleStudy();
  EXPECT_FALSE(DescribeStudy(study).contains("relay_key"));
  v1::RelaySettings& relay = *study.mutable_settings()->mutable_relay();
  relay.set_relay_key(std::string(32, '\0'));
  relay.set_min_batch(2000);
  relay.set_dishonest_millionths(100'000);
  relay.set_delta_atto(10'000'000'000);
  study.mutable_relay()->set_sealing_key_id(std::string(15, '\0') + "\xab");
  Description json = DescribeStudy(study);
  EXPECT_EQ(json["relay_key"], "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
  EXPECT_EQ(json["min_batch"], 2000);
  EXPECT_EQ(json["dishonest"], 0.1);
  EXPECT_EQ(json["relay_delta"], 1e-8);
  EXPECT_EQ(json["sealing_key"], "000000000000000000000000000000ab");
  EXPECT_FALSE(json.contains("earlier_sealing_keys"));
  EXPECT_FALSE(json.contains("sealing_keys_erased"));
  study.mutable_relay()->set_earlier_keys(2);
  study.mutable_relay()->set_keys_erased(true);
  json = DescribeStudy(study);
  EXPECT_EQ(json["earlier_sealing_keys"], 2);
  EXPECT_EQ(json["sealing_keys_erased"], true);
}

TEST(DescribeTest, AJoinedStudySaysByWhatAndHowManyRowsItHas) {
  v1::Study study = SampleStudy();
  EXPECT_FALSE(DescribeStudy(study).contains("joined_by"));
  EXPECT_FALSE(DescribeStudyForPeople(study).contains("joined_by"));
  study.mutable_terms()->set_joined_by("customer");
  study.set_join_rows(42);
  EXPECT_EQ(DescribeStudy(study)["joined_by"], "customer");
  EXPECT_EQ(DescribeStudy(study)["join_rows"], 42);
  EXPECT_EQ(DescribeStudyForPeople(study)["joined_by"], "customer: 42 rows");
}

TEST(DescribeTest, TimesAreReadWithTheirOffset) {
  EXPECT_EQ(ParseTimeText("1970-01-03T00:00:00Z"), 2 * 86400);
  EXPECT_EQ(ParseTimeText("1970-01-03T02:00:00+02:00"), 2 * 86400);
  for (const char* bad :
       {"", "tomorrow", "1970-01-03", "1970-01-03T00:00:00", "1969-01-03T00:00:00Z"}) {
    EXPECT_FALSE(ParseTimeText(bad).has_value()) << bad;
  }
}

TEST(DescribeTest, StudyCountsAreByReason) {
  v1::Study study = SampleStudy();
  AddCount(study, v1::REPORT_OUTCOME_ACCEPTED, 7);
  AddCount(study, v1::REPORT_OUTCOME_BAD_TICKET, 2);
  AddCount(study, v1::REPORT_OUTCOME_STUDY_SEALED, 1);
  const Description json = DescribeStudy(study);
  EXPECT_EQ(json["state"], "sealed");
  EXPECT_EQ(json["accepted"], 7);
  EXPECT_EQ(json["duplicate"], 0);
  EXPECT_EQ(json["rejected"].dump(), R"({"bad_ticket":2,"study_sealed":1})");
  EXPECT_EQ(json["created"], "1970-01-02T00:00:00Z");
}

void AddAlarm(v1::Study& study, const char* name, bool raised) {
  v1::Alarm& alarm = *study.add_alarms();
  alarm.set_name(name);
  alarm.set_value(7);
  alarm.set_raised(raised);
  alarm.set_text(StrCat("the ", name));
}

TEST(DescribeTest, ScriptsSeeAllAlarmsAndPeopleThoseRaised) {
  v1::Study study = SampleStudy();
  AddAlarm(study, "tree", false);
  AddAlarm(study, "column", true);
  EXPECT_EQ(DescribeStudyWithAlarms(study)["alarms"].dump(),
            R"([{"name":"tree","value":7.0,"raised":false,"text":"the tree"},)"
            R"({"name":"column","value":7.0,"raised":true,"text":"the column"}])");
  const Description for_people = DescribeStudyForPeople(study);
  EXPECT_EQ(for_people["ALARM column"], "the column");
  EXPECT_FALSE(for_people.contains("ALARM tree"));
  EXPECT_FALSE(for_people.contains("alarms"));
}

TEST(DescribeTest, ListOfStudiesLeavesOutTheTerms) {
  const Description json = DescribeStudyBriefly(SampleStudy());
  EXPECT_EQ(json["study"], "s1");
  EXPECT_FALSE(json.contains("epsilon"));
}

TEST(DescribeTest, ModelShowsItsCertificate) {
  v1::Model model;
  model.set_name("models/m1");
  model.set_study("studies/s1");
  v1::Certificate& certificate = *model.mutable_certificate();
  certificate.set_epsilon_nanos(2'000'000'000);
  certificate.set_estimator("prune");
  certificate.set_reports(10);
  certificate.set_diagnosis("they agree");
  certificate.add_public_inputs("the partition");
  const Description json = DescribeModel(model);
  EXPECT_EQ(json.begin().key(), "model");
  EXPECT_EQ(json["model"], "m1");
  EXPECT_EQ(json["epsilon"], 2.0);
  EXPECT_FALSE(json.contains("job"));
  EXPECT_EQ(json["reports"], 10);
  EXPECT_EQ(json["diagnosis"], "they agree");
  EXPECT_EQ(json["public_inputs"][0], "the partition");
}

TEST(DescribeTest, AModelBehindARelaySaysWhatHoldsTowardsTheCuratorAfterItsEpsilon) {
  v1::Model model;
  model.set_study("studies/s1");
  model.mutable_certificate()->set_epsilon_nanos(4'000'000'000);
  EXPECT_FALSE(DescribeModel(model).contains("relay_epsilon"));
  v1::RelayBound& relay = *model.mutable_certificate()->mutable_relay();
  relay.set_epsilon_nanos(118'000'001);
  relay.set_delta_atto(10'000'000'000);
  relay.set_honest_reports(9000);
  relay.set_batches(2);
  const Description json = DescribeModel(model);
  EXPECT_EQ(json["epsilon"], 4.0);
  EXPECT_EQ(json["relay_epsilon"], 0.118000001);
  EXPECT_EQ(json["relay_delta"], 1e-8);
  EXPECT_EQ(json["relay_honest_reports"], 9000);
  EXPECT_EQ(json["relay_batches"], 2);
}

TEST(DescribeTest, ModelOfAJobIsDescribedWithoutAStudysTerms) {
  v1::Model model;
  model.set_name("models/m1");
  model.set_job("jobs/j1");
  model.set_leaf_kind(v1::LEAF_KIND_WEIGHTS);
  model.mutable_certificate()->set_estimator("spe trees=10");
  model.mutable_certificate()->add_releases();
  model.mutable_certificate()->add_releases();
  const Description json = DescribeModel(model);
  for (const char* of_a_study : {"study", "reports", "public_rows", "fingerprint"}) {
    EXPECT_FALSE(json.contains(of_a_study)) << of_a_study;
  }
  EXPECT_EQ(json["job"], "j1");
  EXPECT_EQ(json["releases"], 2);
  EXPECT_EQ(json["leaf_kind"], "weights");
  // A list has the same columns in every line.
  EXPECT_EQ(DescribeModelBriefly(model)["study"], "");
}

TEST(DescribeTest, ValueThatThisVersionDoesNotKnowStaysANumber) {
  EXPECT_EQ(EnumText(v1::REPORT_OUTCOME_BAD_TICKET), "bad_ticket");
  EXPECT_EQ(EnumText(static_cast<v1::StudyState>(77)), "77");
}

TEST(DescribeTest, BytesAreDescribedAsTheirMessage) {
  const v1::Study study = SampleStudy();
  const StatusOr<Description> described = DescribeBytes("study", study.SerializeAsString());
  ASSERT_TRUE(described.ok());
  EXPECT_EQ(*described, DescribeStudyWithAlarms(study));
  EXPECT_EQ(DescribeBytes("study", "\xff").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(DescribeBytes("weather", "").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace coppice
