// What a study admits, with a real daemon: its minimum, its end, and its counts across a crash.

#include <gmock/gmock.h>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/integration/daemon.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::Daemon;
using ::coppice::testing::Outcome;
using ::coppice::testing::Synthesize;
using ::coppice::testing::TempDir;
using ::testing::HasSubstr;

// Reads the list: unlike GetStudy, listing changes nothing.
std::string ListedState(const Daemon& daemon) {
  const Outcome list = daemon.Coppice({"study", "list", "--json"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  return nlohmann::json::parse(list.out)["state"];
}

TEST(AdmissionTest, StudyGivesNoModelBelowItsMinimumAndEndsByItself) {
  TempDir folder;
  Daemon daemon(folder.path());
  ASSERT_TRUE(daemon.Start());
  const std::string rows = folder.path() + "/rows";
  Synthesize(rows, "private=50,public=50,test=50");
  const absl::Time end = absl::Now() + absl::Hours(1);
  const auto made = daemon.CoppiceJson(
      {"study", "create", "--study", "short", "--public", rows + "/public.csv", "--schema",
       rows + "/schema.json", "--epsilon", "1", "--min-reports", "60", "--expires",
       absl::FormatTime(absl::RFC3339_sec, end, absl::UTCTimeZone())});
  EXPECT_EQ(made["min_reports"], 60);
  daemon.CoppiceJson({"collect", "simulate", "--study", "short", "--data", rows + "/private.csv"});
  const std::vector<std::string> build = {"model", "build", "--study", "short", "--model", "m"};
  EXPECT_THAT(daemon.Coppice(build).err, HasSubstr("50 accepted reports"));

  EXPECT_EQ(daemon.Stop(), 0);
  daemon.MoveClock(absl::Hours(1));
  ASSERT_TRUE(daemon.Start());
  EXPECT_TRUE(testing::Eventually([&] { return ListedState(daemon) == "sealed"; }));
  EXPECT_THAT(
      daemon.Coppice({"collect", "simulate", "--study", "short", "--data", rows + "/private.csv"})
          .err,
      HasSubstr("time is over"));
  EXPECT_THAT(daemon.Coppice(build).err, HasSubstr("there will be none"));

  daemon.Kill();
  ASSERT_TRUE(daemon.Start());
  const auto shown = daemon.CoppiceJson({"study", "show", "--study", "short"});
  EXPECT_EQ(shown["state"], "sealed");
  EXPECT_EQ(shown["expired"], true);
  EXPECT_EQ(shown["received"], 50);
  EXPECT_EQ(shown["accepted"], 50);
  EXPECT_EQ(daemon.Stop(), 0);
}

}  // namespace
}  // namespace coppice
