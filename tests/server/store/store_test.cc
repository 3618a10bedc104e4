// What every Store does, tested with each engine.

#include "server/store/store.h"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "tests/support/memory_store.h"
#include "tests/support/missing_package.h"
#include "tests/support/postgres_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::storage {
namespace {

using ::coppice::testing::IsOk;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::Pair;

struct Engine {
  std::string name;
  std::function<StatusOr<std::unique_ptr<Store>>(const std::string& folder)> open;
};

class StoreTest : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    SKIP_UNLESS_INSTALLED(GetParam().name != "Postgres" || testing::PostgresServer::IsInstalled(),
                          testing::PostgresServer::kMissing);
    ASSERT_OK_AND_ASSIGN(store_, GetParam().open(folder_.path()));
  }

  void Put(const std::string& key, const std::string& value) {
    StoreBatch batch;
    batch.Put(key, value);
    ASSERT_OK(store_->Apply(batch));
  }

  std::vector<std::pair<std::string, std::string>> Pairs(std::string_view prefix) const {
    std::vector<std::pair<std::string, std::string>> pairs;
    EXPECT_OK(store_->Scan(prefix, [&](std::string_view key, std::string_view value) {
      pairs.emplace_back(std::string(key), std::string(value));
      return OkStatus();
    }));
    return pairs;
  }

  testing::TempDir folder_;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreTest, GetReturnsWhatWasPutAndNothingElse) {
  Put("key", "value");
  ASSERT_OK_AND_ASSIGN(const auto value, store_->Get("key"));
  EXPECT_THAT(value, Optional(Eq("value")));
  ASSERT_OK_AND_ASSIGN(const auto absent, store_->Get("ke"));
  EXPECT_EQ(absent, std::nullopt);
}

TEST_P(StoreTest, PutReplacesAndTheLastPutOfABatchWins) {
  Put("key", "old");
  StoreBatch batch;
  batch.Put("key", "first");
  batch.Put("key", "last");
  ASSERT_OK(store_->Apply(batch));
  EXPECT_THAT(Pairs(""), ElementsAre(Pair("key", "last")));
}

TEST_P(StoreTest, KeysAndValuesAreBytes) {
  const std::string bytes("\0\xff\n/", 4);
  Put(bytes, bytes);
  Put("empty", "");
  EXPECT_THAT(Pairs(""), ElementsAre(Pair(bytes, bytes), Pair("empty", "")));
}

TEST_P(StoreTest, DeletePrefixRemovesExactlyTheKeysThatStartWithIt) {
  for (const char* key : {"a/1", "a/1/x", "a/2", "a/10", "a0", "a"}) Put(key, "");
  StoreBatch batch;
  batch.DeletePrefix("a/1");
  ASSERT_OK(store_->Apply(batch));
  EXPECT_THAT(Pairs(""), ElementsAre(Pair("a", ""), Pair("a/2", ""), Pair("a0", "")));
}

TEST_P(StoreTest, DeletePrefixComesBeforeThePutsOfItsBatch) {
  Put("a/1", "old");
  Put("a/2", "old");
  StoreBatch batch;
  batch.Put("a/1", "new");
  batch.DeletePrefix("a/");
  ASSERT_OK(store_->Apply(batch));
  EXPECT_THAT(Pairs("a/"), ElementsAre(Pair("a/1", "new")));
}

TEST_P(StoreTest, DeletePrefixMayEndInTheLargestByte) {
  Put("a\xff", "");
  Put("a\xff\xff", "");
  Put("b", "");
  StoreBatch batch;
  batch.DeletePrefix("a\xff");
  ASSERT_OK(store_->Apply(batch));
  EXPECT_THAT(Pairs(""), ElementsAre(Pair("b", "")));
}

TEST_P(StoreTest, DeleteRemovesOneKeyAndComesBeforeThePutsOfItsBatch) {
  for (const char* key : {"a/1", "a/10", "b"}) Put(key, "old");
  StoreBatch batch;
  batch.Put("b", "new");
  for (const char* key : {"a/1", "b", "absent"}) batch.Delete(key);
  ASSERT_OK(store_->Apply(batch));
  EXPECT_THAT(Pairs(""), ElementsAre(Pair("a/10", "old"), Pair("b", "new")));
}

TEST_P(StoreTest, ScanVisitsOnlyThePrefixInKeyOrder) {
  for (const char* key : {"b", "a2", "a10", "a1"}) Put(key, "");
  EXPECT_THAT(Pairs("a"), ElementsAre(Pair("a1", ""), Pair("a10", ""), Pair("a2", "")));
  EXPECT_THAT(Pairs("c"), IsEmpty());
}

TEST_P(StoreTest, ScanStopsAtTheFirstErrorAndReturnsIt) {
  Put("a", "");
  Put("b", "");
  int visited = 0;
  EXPECT_THAT(store_->Scan("",
                           [&](std::string_view, std::string_view) {
                             ++visited;
                             return DataLossError("bad pair");
                           }),
              StatusIs(StatusCode::kDataLoss, HasSubstr("bad pair")));
  EXPECT_EQ(visited, 1);
}

TEST_P(StoreTest, ScanSeesOneSnapshotAndItsVisitorMayUseTheStore) {
  Put("a", "");
  Put("b", "");
  int visited = 0;
  EXPECT_OK(store_->Scan("", [&](std::string_view key, std::string_view) {
    ++visited;
    StoreBatch batch;
    batch.Put(StrCat("z", key), "");
    return store_->Apply(batch);
  }));
  EXPECT_EQ(visited, 2);
  EXPECT_THAT(Pairs("z"), ElementsAre(Pair("za", ""), Pair("zb", "")));
}

TEST_P(StoreTest, PurgingKeepsWhatIsThere) {
  for (const char* key : {"a/1", "a/2", "b/1"}) Put(key, "value");
  StoreBatch batch;
  batch.DeletePrefix("a/1");
  ASSERT_OK(store_->Apply(batch));
  EXPECT_OK(store_->Purge("a/"));
  EXPECT_OK(store_->Purge("none/"));
  Put("a/3", "value");
  EXPECT_THAT(Pairs(""),
              ElementsAre(Pair("a/2", "value"), Pair("a/3", "value"), Pair("b/1", "value")));
}

TEST_P(StoreTest, ThreadsMayShareIt) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int i = 0; i < 20; ++i) {
        StoreBatch batch;
        batch.Put(StrCat(t, "/", i), "");
        ASSERT_OK(store_->Apply(batch));
        ASSERT_OK(store_->Get(StrCat(t, "/", i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Pairs("").size(), 80u);
}

INSTANTIATE_TEST_SUITE_P(
    Engines, StoreTest,
    ::testing::Values(Engine{"Memory",
                             [](const std::string&) -> StatusOr<std::unique_ptr<Store>> {
                               return std::make_unique<testing::MemoryStore>();
                             }},
                      Engine{"Postgres",
                             [](const std::string&) {
                               return OpenPostgresStore(
                                   testing::PostgresServer::Shared().NewDatabase());
                             }},
                      Engine{"RocksDb",
                             [](const std::string& folder) { return OpenRocksDbStore(folder); }}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace coppice::storage
