#include "server/store/store_format.h"

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "tests/support/crashing_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace coppice::storage {
namespace {

using ::coppice::testing::CrashingStore;
using ::coppice::testing::IsOk;
using ::coppice::testing::MemoryStore;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

void MustPut(Store& store, const std::string& key, const std::string& value) {
  StoreBatch batch;
  batch.Put(key, value);
  ASSERT_OK(store.Apply(batch));
}

// From 1 to 2 "old/X" becomes "new/X"; from 2 to 3 each value of "new/" gets a mark, so a step that
// ran twice shows.
Status Move(const Store& store, StoreBatch& batch) {
  batch.DeletePrefix("old/");
  return store.Scan("old/", [&](std::string_view key, std::string_view value) {
    batch.Put("new/" + std::string(key.substr(4)), std::string(value));
    return OkStatus();
  });
}
Status Mark(const Store& store, StoreBatch& batch) {
  return store.Scan("new/", [&](std::string_view key, std::string_view value) {
    batch.Put(std::string(key), std::string(value) + "!");
    return OkStatus();
  });
}
const std::vector<FormatStep>& TwoSteps() {
  static const auto* const steps = new std::vector<FormatStep>{{.what = "moves", .change = Move},
                                                               {.what = "marks", .change = Mark}};
  return *steps;
}

Status Open(Store& store, const std::vector<FormatStep>& steps) {
  return OpenFormat(
      store, [](uint32_t, const FormatStep&) {}, steps);
}

void MakeOld(Store& store) {
  MustPut(store, "meta/format", "1");
  for (const char* key : {"old/a", "old/b", "other"}) MustPut(store, key, "value");
}

void ExpectNew(const Store& store) {
  EXPECT_THAT(*store.Get("meta/format"), Optional(Eq("3")));
  for (const char* key : {"new/a", "new/b"}) EXPECT_THAT(*store.Get(key), Optional(Eq("value!")));
  for (const char* key : {"old/a", "old/b"}) EXPECT_EQ(*store.Get(key), std::nullopt);
  EXPECT_THAT(*store.Get("other"), Optional(Eq("value")));
}

TEST(StoreFormatTest, ANewStoreIsOfThisVersion) {
  MemoryStore store;
  EXPECT_THAT(*ReadFormat(store), Eq(std::nullopt));
  ASSERT_OK(OpenFormat(store));
  EXPECT_THAT(*ReadFormat(store), Optional(FormatOf(FormatSteps())));
}

TEST(StoreFormatTest, AnOlderStoreIsBroughtUpStepByStepAndEachIsTold) {
  MemoryStore store;
  MakeOld(store);
  std::vector<std::string> told;
  ASSERT_OK(OpenFormat(
      store,
      [&](uint32_t from, const FormatStep& step) {
        told.push_back(std::to_string(from) + " " + step.what);
      },
      TwoSteps()));
  EXPECT_THAT(told, ElementsAre("1 moves", "2 marks"));
  ExpectNew(store);
  ASSERT_OK(Open(store, TwoSteps()));  // nothing is left to do
  ExpectNew(store);
}

TEST(StoreFormatTest, ACrashAtAnyWriteIsGoneOnFrom) {
  for (size_t write = 0; write < TwoSteps().size(); ++write) {
    for (const bool kept : {false, true}) {
      MemoryStore disk;
      MakeOld(disk);
      CrashingStore store(disk, {.write = write, .kept = kept, .fatal = true});
      EXPECT_THAT(Open(store, TwoSteps()), StatusIs(StatusCode::kUnavailable, ::testing::_));
      EXPECT_THAT(*ReadFormat(disk, TwoSteps()), Optional(1 + write + (kept ? 1 : 0)));
      ASSERT_OK(Open(disk, TwoSteps()));
      ExpectNew(disk);
    }
  }
}

TEST(StoreFormatTest, NewerDataIsRefusedAndLeftAsItIs) {
  MemoryStore store;
  MakeOld(store);
  MustPut(store, "meta/format", "4");
  const size_t writes = store.writes();
  EXPECT_THAT(Open(store, TwoSteps()), StatusIs(StatusCode::kFailedPrecondition,
                                                HasSubstr("made by a newer version of Coppice "
                                                          "(format 4, this one reads up to 3)")));
  EXPECT_EQ(store.writes(), writes);
}

TEST(StoreFormatTest, RecordsWithoutAVersionAreDataLoss) {
  MemoryStore store;
  MustPut(store, "dataset/d/", "value");
  EXPECT_THAT(OpenFormat(store),
              StatusIs(StatusCode::kDataLoss, HasSubstr("meta/format is missing")));
  for (const char* text : {"", "0", "-1", "two"}) {
    MustPut(store, "meta/format", text);
    EXPECT_THAT(OpenFormat(store), StatusIs(StatusCode::kDataLoss, ::testing::_)) << text;
  }
}

// StudyRecords in formats 4 and 5: with every field set, and with as few as possible. There an
// absent minimum of reports meant 0 in format 4, and format 5 writes the 0.
struct StudyRecords {
  std::string_view format_4;
  std::string_view format_5;
};
constexpr StudyRecords kStudyRecords[] = {
    {"0a057465726d73100318e8072208080318022001280128403207726571756573743a046861736842047472"
     "65654a0377687950ac0258d00f60dc0b680172056d6f64656c781e800101880101",
     "0a057465726d73100318e8072208080318022001280128403207726571756573743a046861736842047472"
     "65654a0377687960dc0b680172056d6f64656c80010192010a08ac0210d00f181e2001"},
    {"0a057465726d731001", "0a057465726d7310019201020800"},
};

TEST(StoreFormatTest, TheSettingsOfAStudyBecomeOneMessage) {
  for (const StudyRecords& records : kStudyRecords) {
    MemoryStore store;
    MustPut(store, "meta/format", "4");
    MustPut(store, "study/one/", HexStringToBytes(records.format_4));
    ASSERT_OK(OpenFormat(store));
    EXPECT_EQ(BytesToHexString(store.Get("study/one/")->value()), records.format_5);
    EXPECT_THAT(*ReadFormat(store), Optional(FormatOf(FormatSteps())));
  }
}

// A repair brings the store to this version first, and then puts such a record aside.
TEST(StoreFormatTest, AStudyThatDoesNotParseStaysAsItIs) {
  MemoryStore store;
  MustPut(store, "meta/format", "4");
  MustPut(store, "study/one/", "\xff\xff");
  MustPut(store, "study/two/", HexStringToBytes(kStudyRecords[0].format_4));
  ASSERT_OK(OpenFormat(store));
  EXPECT_THAT(*store.Get("study/one/"), Optional(Eq("\xff\xff")));
  EXPECT_EQ(BytesToHexString(store.Get("study/two/")->value()), kStudyRecords[0].format_5);
}

// A model of an older store may be larger than memory: its trees are not read.
TEST(StoreFormatTest, ModelsGetSummariesWithoutTheirTrees) {
  v1::Model model;
  model.set_name("models/m");
  model.set_job("jobs/j");
  model.set_created_unix_seconds(86'400);
  model.mutable_certificate()->set_epsilon_nanos(5);
  model.set_version(1);
  v1::ModelSummaryRecord expected;
  *expected.mutable_model() = model;
  expected.mutable_model()->clear_version();
  model.mutable_schema()->set_label("y");
  model.mutable_forest()->add_trees()->add_kinds(v1::SPLIT_KIND_LEAF);
  model.add_predictions()->add_leaves()->add_probabilities(1);
  model.mutable_signature()->set_signature("by somebody");
  const std::string bytes = model.SerializeAsString();
  expected.set_bytes(bytes.size());
  MemoryStore store;
  MustPut(store, "meta/format", "6");
  MustPut(store, "trained/j/m", bytes);
  MustPut(store, "model/s/damaged", "\xff\xff");
  ASSERT_OK(OpenFormat(store));
  EXPECT_THAT(*store.Get("summary/trained/j/m"), Optional(Eq(expected.SerializeAsString())));
  EXPECT_THAT(*store.Get("trained/j/m"), Optional(Eq(bytes)));
  EXPECT_EQ(*store.Get("summary/model/s/damaged"), std::nullopt) << "the check names it";
}

TEST(StoreFormatTest, AStoreOfTheFirstVersionIsTaken) {
  MemoryStore store;
  MustPut(store, "meta/format", "1");
  ASSERT_OK(OpenFormat(store));
  EXPECT_THAT(*ReadFormat(store), Optional(FormatOf(FormatSteps())));
}

}  // namespace
}  // namespace coppice::storage
