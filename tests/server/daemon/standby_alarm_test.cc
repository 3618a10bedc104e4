#include "server/daemon/operation/standby_alarm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/time.h"
#include "common/base/status.h"

namespace coppice::daemon {
namespace {

using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Optional;

// A look whose result a test sets.
class StandbyAlarmTest : public ::testing::Test {
 protected:
  std::function<Status()> Look() {
    return [this] {
      const MutexLock lock(mutex_);
      ++looks_;
      looked_.NotifyAll();
      return status_;
    };
  }
  void Find(Status status) {
    const MutexLock lock(mutex_);
    status_ = std::move(status);
    looks_ = 0;
  }
  // Waits until the result set last was looked at and judged.
  void AwaitLooks() {
    const MutexLock lock(mutex_);
    while (looks_ < 2) looked_.Wait(mutex_);
  }

  Mutex mutex_;
  CondVar looked_;
  Status status_ ABSL_GUARDED_BY(mutex_);
  int looks_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST_F(StandbyAlarmTest, IsRaisedUntilAReplicaIsThere) {
  const Log log(LogLevel::kInfo, false);
  ::testing::internal::CaptureStderr();
  Find(FailedPreconditionError("none is named"));
  {
    const StandbyAlarm alarm(Look(), log, absl::Milliseconds(1));
    AwaitLooks();
    EXPECT_THAT(alarm.Raised(), Optional(Eq(true)));
    Find(UnavailableError("no answer"));
    AwaitLooks();
    EXPECT_THAT(alarm.Raised(), Optional(Eq(true))) << "nobody knows that it is over";
    Find(OkStatus());
    AwaitLooks();
    EXPECT_THAT(alarm.Raised(), Optional(Eq(false)));
    Find(UnavailableError("no answer"));
    AwaitLooks();
    EXPECT_THAT(alarm.Raised(), Optional(Eq(false)));
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  const std::string raised = "warning no synchronous standby advice=none is named";
  EXPECT_THAT(text, HasSubstr(raised));
  EXPECT_EQ(text.find(raised), text.rfind(raised)) << "once, while it stays";
  EXPECT_THAT(text, HasSubstr("synchronous standby is there"));
}

TEST_F(StandbyAlarmTest, SaysNothingBeforeItKnows) {
  const Log log(LogLevel::kInfo, false);
  Find(UnavailableError("no answer"));
  const StandbyAlarm alarm(Look(), log, absl::Milliseconds(1));
  AwaitLooks();
  EXPECT_EQ(alarm.Raised(), std::nullopt);
  const StandbyAlarm slow(Look(), log, absl::Hours(1));  // ends without waiting an hour
}

}  // namespace
}  // namespace coppice::daemon
