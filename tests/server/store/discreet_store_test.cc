#include "server/store/discreet_store.h"

#include <gmock/gmock.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace coppice::storage {
namespace {

using ::coppice::testing::MemoryStore;
using ::coppice::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kSecret[] =
    "PostgreSQL: connection to server at \"10.0.0.7\", port 5432 failed: user \"coppice_prod\"";

// Fails with `error` if that is set.
class FailingStore final : public Store {
 public:
  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    if (!error.ok()) return error;
    return store_.Get(key);
  }
  Status Apply(const StoreBatch& batch) override {
    return error.ok() ? store_.Apply(batch) : error;
  }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    return error.ok() ? store_.Scan(prefix, visit) : error;
  }
  Status Purge(std::string_view /*prefix*/) override { return error; }

  Status error;

 private:
  MemoryStore store_;
};

class DiscreetStoreTest : public ::testing::Test {
 protected:
  StoreBatch OneKey() const {
    StoreBatch batch;
    batch.Put("a", "1");
    return batch;
  }
  // The errors of every call that changes or reads.
  std::vector<Status> Errors() {
    const auto accept = [](std::string_view, std::string_view) { return OkStatus(); };
    return {store_.Get("a").status(), store_.Apply(OneKey()), store_.Scan("a", accept),
            store_.Purge("a")};
  }

  FailingStore disk_;
  std::vector<std::string> told_;
  DiscreetStore store_{disk_, [this](const Status& error) { told_.emplace_back(error.message()); }};
};

TEST_F(DiscreetStoreTest, WhatSucceedsIsPassedOn) {
  store_.Hide();
  ASSERT_OK(store_.Apply(OneKey()));
  EXPECT_EQ(store_.Get("a")->value(), "1");
  ASSERT_OK(store_.Purge("a"));
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(DiscreetStoreTest, ErrorsKeepTheirCodeAndLoseTheirWords) {
  store_.Hide();
  for (const auto& [code, words] : {std::pair{StatusCode::kUnavailable, "does not answer"},
                                    {StatusCode::kDataLoss, "is damaged"},
                                    {StatusCode::kResourceExhausted, "has no room"},
                                    {StatusCode::kFailedPrecondition, "refuses this"}}) {
    disk_.error = Status(code, kSecret);
    for (const Status& error : Errors()) {
      EXPECT_THAT(error, StatusIs(code, HasSubstr(words)));
      EXPECT_THAT(std::string(error.message()), HasSubstr("The operator's log has the reason"));
      for (const char* part : {"10.0.0.7", "5432", "coppice_prod", "PostgreSQL"}) {
        EXPECT_THAT(std::string(error.message()), ::testing::Not(HasSubstr(part)));
      }
    }
  }
  EXPECT_THAT(told_, ElementsAre(kSecret, kSecret, kSecret, kSecret))
      << "each error is told once, however many calls meet it";
}

TEST_F(DiscreetStoreTest, WhoStartsTheDaemonReadsTheWholeError) {
  disk_.error = UnavailableError(kSecret);
  for (const Status& error : Errors()) {
    EXPECT_THAT(error, StatusIs(StatusCode::kUnavailable, kSecret));
  }
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(DiscreetStoreTest, AVisitorsErrorIsItsOwn) {
  ASSERT_OK(store_.Apply(OneKey()));
  store_.Hide();
  EXPECT_THAT(store_.Scan("a",
                          [](std::string_view, std::string_view) {
                            return DataLossError("the stored record a does not parse");
                          }),
              StatusIs(StatusCode::kDataLoss, "the stored record a does not parse"));
  EXPECT_THAT(told_, IsEmpty());
}

}  // namespace
}  // namespace coppice::storage
