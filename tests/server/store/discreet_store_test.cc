#include "server/store/discreet_store.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

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
  absl::StatusOr<std::optional<std::string>> Get(absl::string_view key) const override {
    if (!error.ok()) return error;
    return store_.Get(key);
  }
  absl::Status Apply(const StoreBatch& batch) override {
    return error.ok() ? store_.Apply(batch) : error;
  }
  absl::Status Scan(absl::string_view prefix,
                    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)>
                        visit) const override {
    return error.ok() ? store_.Scan(prefix, visit) : error;
  }
  absl::Status Purge(absl::string_view /*prefix*/) override { return error; }

  absl::Status error;

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
  std::vector<absl::Status> Errors() {
    const auto accept = [](absl::string_view, absl::string_view) { return absl::OkStatus(); };
    return {store_.Get("a").status(), store_.Apply(OneKey()), store_.Scan("a", accept),
            store_.Purge("a")};
  }

  FailingStore disk_;
  std::vector<std::string> told_;
  DiscreetStore store_{disk_,
                       [this](const absl::Status& error) { told_.emplace_back(error.message()); }};
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
  for (const auto& [code, words] : {std::pair{absl::StatusCode::kUnavailable, "does not answer"},
                                    {absl::StatusCode::kDataLoss, "is damaged"},
                                    {absl::StatusCode::kResourceExhausted, "has no room"},
                                    {absl::StatusCode::kFailedPrecondition, "refuses this"}}) {
    disk_.error = absl::Status(code, kSecret);
    for (const absl::Status& error : Errors()) {
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
  disk_.error = absl::UnavailableError(kSecret);
  for (const absl::Status& error : Errors()) {
    EXPECT_THAT(error, StatusIs(absl::StatusCode::kUnavailable, kSecret));
  }
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(DiscreetStoreTest, AVisitorsErrorIsItsOwn) {
  ASSERT_OK(store_.Apply(OneKey()));
  store_.Hide();
  EXPECT_THAT(store_.Scan("a",
                          [](absl::string_view, absl::string_view) {
                            return absl::DataLossError("the stored record a does not parse");
                          }),
              StatusIs(absl::StatusCode::kDataLoss, "the stored record a does not parse"));
  EXPECT_THAT(told_, IsEmpty());
}

}  // namespace
}  // namespace coppice::storage
