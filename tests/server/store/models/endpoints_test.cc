#include "server/store/models/endpoints.h"

#include <optional>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/models/endpoint_record.h"
#include "tests/support/memory_store.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"

namespace coppice::models {
namespace {

using ::coppice::testing::MemoryStore;
using ::coppice::testing::Numeric;
using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kRefused = StatusCode::kFailedPrecondition;
constexpr auto kNotFound = StatusCode::kNotFound;

ModelInfo ModelNamed(const std::string& id, const std::string& source, double max = 1) {
  return {.id = id,
          .source = source,
          .created_unix_seconds = 1,
          .model = std::make_shared<const Model>(*Model::Create(
              *Schema::Create({Numeric("x", 0, max)}, "y", {"no", "yes"}), {Tree::SingleLeaf()},
              {{{.probabilities = {0.25, 0.75}}}}, Certificate()))};
}

class EndpointsTest : public ::testing::Test {
 protected:
  EndpointsTest() {
    for (const char* id : {"a", "b", "c"}) {
      EXPECT_TRUE(models_.Save(store_, ModelNamed(id, StrCat("studies/s", id))).ok());
    }
    EXPECT_TRUE(models_.Save(store_, ModelNamed("wide", "jobs/j", 2)).ok());
    endpoints_ = *Endpoints::Open(store_, models_, [this] { return ++now_; });
  }

  Status Set(const std::string& model, const ChangeOptions& options = {}) {
    return endpoints_->Set("e", model, options).status();
  }
  Status RollBack(uint64_t to = 0, const ChangeOptions& options = {}) {
    return endpoints_->RollBack("e", to, options).status();
  }
  // "3 a(1)": version 3 serves model a, which a rollback restored from version 1.
  std::string Serving() const { return Text(endpoints_->Get("e")->versions.back()); }
  static std::string Text(const EndpointVersion& v) {
    return StrCat(v.number, " ", v.model, v.restored > 0 ? StrCat("(", v.restored, ")") : "");
  }

  int64_t now_ = 0;
  MemoryStore store_;
  Models models_;
  std::unique_ptr<Endpoints> endpoints_;
};

TEST_F(EndpointsTest, EachSwitchIsAVersionAndTheLastIsServed) {
  EXPECT_THAT(endpoints_->Serving("e").status(), StatusIs(kNotFound, HasSubstr("no endpoint e")));
  ASSERT_OK(Set("a"));
  ASSERT_OK_AND_ASSIGN(const auto before, endpoints_->Serving("e"));
  ASSERT_OK(Set("b"));
  EXPECT_EQ(before->model.id, "a");  // a call that began with it ends with it
  ASSERT_OK_AND_ASSIGN(const auto after, endpoints_->Serving("e"));
  EXPECT_EQ(after->model.id, "b");
  EXPECT_EQ(after->version, 2u);
  ASSERT_OK_AND_ASSIGN(const EndpointInfo info, endpoints_->Get("e"));
  ASSERT_THAT(info.versions, SizeIs(2));
  EXPECT_EQ(info.versions[0].created_unix_seconds, 1);
  EXPECT_EQ(info.versions[1].created_unix_seconds, 2);
}

TEST_F(EndpointsTest, WhatIsServedAlreadyIsNoNewVersion) {
  ASSERT_OK(Set("a"));
  const size_t writes = store_.writes();
  ASSERT_OK(Set("a"));
  EXPECT_EQ(Serving(), "1 a");
  EXPECT_EQ(store_.writes(), writes);
}

TEST_F(EndpointsTest, ARollbackBringsTheVersionBeforeBackAsANewOne) {
  for (const char* id : {"a", "b", "c"}) ASSERT_OK(Set(id));
  ASSERT_OK(RollBack());
  EXPECT_EQ(Serving(), "4 b(2)");
  // A second rollback does not return to c, but goes on to the version before b.
  ASSERT_OK(RollBack());
  EXPECT_EQ(Serving(), "5 a(1)");
  EXPECT_THAT(RollBack(), StatusIs(kRefused, HasSubstr("no version before 1")));
  ASSERT_OK(Set("c"));
  ASSERT_OK(RollBack());
  EXPECT_EQ(Serving(), "7 a(1)");
}

TEST_F(EndpointsTest, ARollbackGoesToAnyVersionThatIsKept) {
  for (const char* id : {"a", "b", "c"}) ASSERT_OK(Set(id));
  ASSERT_OK(RollBack(1));
  EXPECT_EQ(Serving(), "4 a(1)");
  EXPECT_THAT(RollBack(9), StatusIs(kNotFound, HasSubstr("keeps versions 1 to 4, not 9")));
  EXPECT_THAT(endpoints_->RollBack("none", 0, {}).status(), StatusIs(kNotFound, HasSubstr("none")));
}

TEST_F(EndpointsTest, AnotherVersionThanWasExpectedIsRefused) {
  EXPECT_THAT(Set("a", {.expected_version = 1}), StatusIs(kRefused, HasSubstr("does not exist")));
  ASSERT_OK(Set("a", {.expected_version = 0}));
  EXPECT_THAT(Set("b", {.expected_version = 0}), StatusIs(kRefused, HasSubstr("serves version 1")));
  ASSERT_OK(Set("b", {.expected_version = 1}));
  ASSERT_OK(Set("b", {.expected_version = 1}));  // the answer was lost and the call repeated
  EXPECT_EQ(Serving(), "2 b");
  EXPECT_THAT(RollBack(0, {.expected_version = 1}), StatusIs(kRefused, HasSubstr("version 2")));
  ASSERT_OK(RollBack(0, {.expected_version = 2}));
  EXPECT_THAT(RollBack(0, {.expected_version = 2}), StatusIs(kRefused, HasSubstr("version 3")));
}

TEST_F(EndpointsTest, AnotherSchemaOnlyIfThatIsAllowed) {
  ASSERT_OK(Set("a"));
  EXPECT_THAT(Set("wide"), StatusIs(kRefused, AllOf(HasSubstr("another schema"),
                                                    HasSubstr("allow_schema_change"))));
  EXPECT_EQ(Serving(), "1 a");
  ASSERT_OK(Set("wide", {.allow_schema_change = true}));
  EXPECT_THAT(RollBack(), StatusIs(kRefused, HasSubstr("another schema")));
  ASSERT_OK(RollBack(0, {.allow_schema_change = true}));
  EXPECT_EQ(Serving(), "3 a(1)");
}

TEST_F(EndpointsTest, AModelThatIsNotThereIsNotServed) {
  EXPECT_THAT(Set("nothing"), StatusIs(kNotFound, HasSubstr("no model nothing")));
  EXPECT_THAT(endpoints_->Get("e").status(), StatusIs(kNotFound, HasSubstr("no endpoint e")));
}

TEST_F(EndpointsTest, WhatIsServedIsNotDeletedAndWhatIsNotServedIs) {
  ASSERT_OK(Set("a"));
  EXPECT_THAT(models_.ClaimRemovalOf("studies/sa").status(),
              StatusIs(kRefused, AllOf(HasSubstr("endpoints/e"), HasSubstr("model a"))));
  ASSERT_OK(models_.ClaimRemovalOf("studies/sb").status());
  // Rolls back between given versions.
  ASSERT_OK(Set("b"));
  ASSERT_OK(models_.ClaimRemovalOf("studies/sa").status());
  ASSERT_OK(RollBack());
  EXPECT_FALSE(models_.ClaimRemovalOf("studies/sa").ok());
  ASSERT_OK(endpoints_->Delete("e"));
  {
    ASSERT_OK_AND_ASSIGN(const ModelClaim removal, models_.ClaimRemovalOf("studies/sa"));
    EXPECT_THAT(Set("a"), StatusIs(kNotFound, HasSubstr("no model a")));
  }
  ASSERT_OK(Set("a"));
}

TEST_F(EndpointsTest, AVersionWhoseModelWasDeletedIsNotBroughtBack) {
  ASSERT_OK(Set("a"));
  ASSERT_OK(Set("b"));
  models_.RemoveOf("studies/sa");
  EXPECT_THAT(RollBack(), StatusIs(kNotFound, HasSubstr("no model a")));
  EXPECT_EQ(Serving(), "2 b");
}

TEST_F(EndpointsTest, ADeletedModelOfAnEarlierVersionIsNotTakenForItsNamesake) {
  ASSERT_OK(Set("a"));
  ASSERT_OK(Set("b"));
  ASSERT_OK(models_.Delete(store_, "a"));
  EXPECT_THAT(RollBack(), StatusIs(kNotFound, HasSubstr("no model a")));
  ModelInfo namesake = ModelNamed("a", "jobs/j");
  namesake.created_unix_seconds = 2;
  ASSERT_OK(models_.Save(store_, namesake));
  EXPECT_THAT(RollBack(), StatusIs(kNotFound, AllOf(HasSubstr("version 1"),
                                                    HasSubstr("replaced by a newer one"))));
  EXPECT_EQ(Serving(), "2 b");
  ASSERT_OK(Set("a"));  // explicitly
  ASSERT_OK(Set("b"));
  ASSERT_OK(RollBack());
  EXPECT_EQ(Serving(), "5 a(3)");
}

TEST_F(EndpointsTest, TheNewestHundredVersionsAreKept) {
  for (int i = 0; i < 60; ++i) {
    ASSERT_OK(Set("a"));
    ASSERT_OK(Set("b"));
  }
  ASSERT_OK_AND_ASSIGN(const EndpointInfo info, endpoints_->Get("e"));
  ASSERT_THAT(info.versions, SizeIs(100));
  EXPECT_EQ(info.versions.front().number, 21u);
  EXPECT_EQ(info.versions.back().number, 120u);
  EXPECT_THAT(RollBack(20), StatusIs(kNotFound, HasSubstr("21 to 120")));
}

TEST_F(EndpointsTest, EndpointsSurviveARestartVersionsAndAll) {
  ASSERT_OK(Set("a"));
  ASSERT_OK(Set("b"));
  ASSERT_OK(RollBack());
  ASSERT_OK(endpoints_->Set("other", "c", {}).status());
  ASSERT_OK(endpoints_->Set("gone", "c", {}).status());
  ASSERT_OK(endpoints_->Delete("gone"));
  Models models;
  ASSERT_OK(models.Load(store_));
  ASSERT_OK_AND_ASSIGN(const auto again, Endpoints::Open(store_, models, [] { return 0; }));
  ASSERT_OK_AND_ASSIGN(const EndpointInfo info, again->Get("e"));
  std::vector<std::string> versions;
  for (const EndpointVersion& v : info.versions) versions.push_back(Text(v));
  EXPECT_THAT(versions, ElementsAre("1 a", "2 b", "3 a(1)"));
  EXPECT_EQ((*again->Serving("e"))->model.id, "a");
  EXPECT_THAT(again->List({}), SizeIs(2));
  EXPECT_FALSE(models.ClaimRemovalOf("studies/sa").ok());
}

TEST_F(EndpointsTest, AChangeThatCannotBeStoredDoesNotHappen) {
  ASSERT_OK(Set("a"));
  store_.FailWrites(UnavailableError("no disk"));
  EXPECT_FALSE(Set("b").ok());
  EXPECT_FALSE(RollBack(1).ok());
  EXPECT_FALSE(endpoints_->Delete("e").ok());
  EXPECT_EQ(Serving(), "1 a");
  store_.FailWrites(OkStatus());
  EXPECT_OK(models_.ClaimRemovalOf("studies/sb").status());
  EXPECT_FALSE(models_.ClaimRemovalOf("studies/sa").ok());
  ASSERT_OK(Set("b"));
  EXPECT_EQ(Serving(), "2 b");
}

TEST_F(EndpointsTest, ListGoesPageByPageWithTheVersionThatIsServed) {
  for (const char* id : {"z", "x", "y"}) {
    ASSERT_OK(endpoints_->Set(id, "a", {}).status());
    ASSERT_OK(endpoints_->Set(id, "b", {}).status());
  }
  const std::vector<EndpointInfo> page = endpoints_->List({.size = 2, .after = "x"});
  ASSERT_THAT(page, SizeIs(2));
  EXPECT_EQ(page[0].id, "y");
  ASSERT_THAT(page[0].versions, SizeIs(1));
  EXPECT_EQ(Text(page[0].versions[0]), "2 b");
}

TEST_F(EndpointsTest, ARecordThatDoesNotAddUpIsDataLoss) {
  const auto opened = [&](const EndpointInfo& info, const std::string& key) {
    storage::StoreBatch batch;
    batch.DeletePrefix("endpoint/");
    batch.Put(key, ToProto(info).SerializeAsString());
    EXPECT_OK(store_.Apply(batch));
    return Endpoints::Open(store_, models_, [] { return 0; }).status();
  };
  const EndpointVersion first{.number = 1, .model = "a"}, second{.number = 2, .model = "b"};
  EXPECT_OK(opened({.id = "e", .versions = {first, second}}, "endpoint/e/"));
  const auto is_lost = [](const char* why) {
    return StatusIs(StatusCode::kDataLoss, AllOf(HasSubstr("endpoint/"), HasSubstr(why)));
  };
  EXPECT_THAT(opened({.id = "e", .versions = {first}}, "endpoint/f/"), is_lost("another key"));
  EXPECT_THAT(opened({.id = "e", .versions = {}}, "endpoint/e/"), is_lost("no version"));
  EXPECT_THAT(opened({.id = "e", .versions = {second, first}}, "endpoint/e/"), is_lost("follow"));
  EXPECT_THAT(
      opened({.id = "e", .versions = {{.number = 1, .model = "a", .restored = 1}}}, "endpoint/e/"),
      is_lost("follow"));
  EXPECT_THAT(opened({.id = "e", .versions = {{.number = 1, .model = "A!"}}}, "endpoint/e/"),
              is_lost("follow"));
  EXPECT_THAT(opened({.id = "e", .versions = {{.number = 1, .model = "gone"}}}, "endpoint/e/"),
              is_lost("not there"));
}

}  // namespace
}  // namespace coppice::models
