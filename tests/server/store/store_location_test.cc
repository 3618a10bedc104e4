#include "server/store/store_location.h"

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::storage {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(StoreLocationTest, IsAFolderOrADatabase) {
  ASSERT_OK_AND_ASSIGN(const StoreLocation folder, StoreLocation::Parse("rocksdb:/var/lib/x"));
  EXPECT_FALSE(folder.is_postgres());
  EXPECT_EQ(folder.address(), "/var/lib/x");
  EXPECT_EQ(folder.Shown(), "/var/lib/x");
  for (const char* uri : {"postgresql://h/db", "postgres://h/db"}) {
    ASSERT_OK_AND_ASSIGN(const StoreLocation database, StoreLocation::Parse(uri));
    EXPECT_TRUE(database.is_postgres());
    EXPECT_EQ(database.address(), uri);
    EXPECT_EQ(database.Shown(), "postgresql://h/db");
  }
  for (const char* other : {"", "rocksdb:", "/var/lib/x", "geheim", "postgresql:", "mysql://h"}) {
    EXPECT_THAT(StoreLocation::Parse(other).status(),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("rocksdb:DIR"), Not(HasSubstr("geheim")))));
  }
}

TEST(StoreLocationTest, ShowsNeitherUserNorPasswordNorParameters) {
  const struct {
    const char* uri;
    const char* shown;
  } cases[] = {
      {"postgresql://u:geheim@h:5432/db?sslmode=require", "postgresql://h:5432/db"},
      {"postgresql://u:ge@heim@h/db", "postgresql://h/db"},
      {"postgresql://u:geheim@[::1]:5432,h:1/db", "postgresql://[::1]:5432,h:1/db"},
      {"postgresql://h/db?password=geheim", "postgresql://h/db"},
      {"postgresql://h/db?password=x@geheim", "postgresql://..."},
      {"postgresql://u:ge?heim@h/db", "postgresql://..."},
      {"postgresql://u:geheim", "postgresql://..."},
      {"postgresql://u:geheim/db", "postgresql://..."},
      {"postgresql://h:1,u:geheim/db", "postgresql://..."},
  };
  for (const auto& one : cases) {
    ASSERT_OK_AND_ASSIGN(const StoreLocation location, StoreLocation::Parse(one.uri));
    EXPECT_EQ(location.Shown(), one.shown) << one.uri;
  }
}

}  // namespace
}  // namespace coppice::storage
