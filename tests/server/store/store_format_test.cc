#include "server/store/store_format.h"

#include <string>

#include "common/base/status.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace coppice::storage {
namespace {

using ::coppice::testing::MemoryStore;
using ::coppice::testing::StatusIs;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

void MustPut(Store& store, const std::string& key, const std::string& value) {
  StoreBatch batch;
  batch.Put(key, value);
  ASSERT_OK(store.Apply(batch));
}

TEST(StoreFormatTest, AnEmptyStoreGetsThisFormat) {
  MemoryStore store;
  EXPECT_FALSE(*HasFormat(store));
  ASSERT_OK(OpenFormat(store));
  EXPECT_TRUE(*HasFormat(store));
  const size_t writes = store.writes();
  ASSERT_OK(OpenFormat(store));
  EXPECT_EQ(store.writes(), writes);
}

TEST(StoreFormatTest, RefusesANewerStoreAndLeavesItAsItIs) {
  MemoryStore store;
  MustPut(store, "meta/format", "2");
  const size_t writes = store.writes();
  EXPECT_THAT(OpenFormat(store), StatusIs(StatusCode::kFailedPrecondition,
                                          HasSubstr("made by a newer version of Coppice (format 2, "
                                                    "this one reads format 1)")));
  EXPECT_EQ(store.writes(), writes);
  EXPECT_THAT(*store.Get("meta/format"), Optional(Eq("2")));
}

TEST(StoreFormatTest, ReportsRecordsWithoutAFormatAsDataLoss) {
  MemoryStore store;
  MustPut(store, "dataset/d/", "value");
  EXPECT_THAT(OpenFormat(store),
              StatusIs(StatusCode::kDataLoss, HasSubstr("meta/format is missing")));
  for (const char* text : {"", "0", "-1", "two"}) {
    MustPut(store, "meta/format", text);
    EXPECT_THAT(OpenFormat(store), StatusIs(StatusCode::kDataLoss, ::testing::_)) << text;
  }
}

}  // namespace
}  // namespace coppice::storage
