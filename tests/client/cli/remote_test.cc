#include "client/cli/terminal/remote.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "common/base/status.h"
#include "coppice/v1/admin.pb.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/study.pb.h"
#include "coppice/v1/training.pb.h"
#include "server/serving/access/method_table.h"
#include "tests/support/status_matchers.h"

namespace coppice::cli {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

ServerFlags Nowhere() {
  ServerFlags flags;
  flags.connect.server = "127.0.0.1:1";
  flags.connect.insecure = true;
  return flags;
}

TEST(RemoteTest, NoTwoMethodsTakeTheSameMessage) {
  std::set<const google::protobuf::Descriptor*> requests;
  for (const google::protobuf::FileDescriptor* file :
       {v1::BackupRequest::descriptor()->file(), v1::Dataset::descriptor()->file(),
        v1::Model::descriptor()->file(), v1::Study::descriptor()->file(),
        v1::Job::descriptor()->file()}) {
    ASSERT_GT(file->service_count(), 0) << file->name();
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        const google::protobuf::MethodDescriptor& method = *file->service(i)->method(j);
        EXPECT_TRUE(requests.insert(method.input_type()).second) << method.full_name();
        EXPECT_EQ(method.input_type()->file(), file) << method.full_name();
      }
    }
  }
}

TEST(RemoteTest, AnAnswerOfAnotherMethodIsRefusedBeforeItIsAskedFor) {
  const Remote remote = *Remote::Connect(Nowhere());
  EXPECT_THAT(remote.Call<v1::GetModelResponse>(v1::GetStudyRequest()).status(),
              StatusIs(StatusCode::kInternal, AllOf(HasSubstr("coppice.v1.GetStudyRequest"),
                                                    HasSubstr("coppice.v1.GetModelResponse"))));
}

TEST(RemoteTest, AStreamIsNoUnaryMethod) {
  const Remote remote = *Remote::Connect(Nowhere());
  EXPECT_THAT(remote.Call<v1::WatchJobResponse>(v1::WatchJobRequest()).status(),
              StatusIs(StatusCode::kInternal, HasSubstr("WatchJobRequest")));
}

// No command gives up on what the curator still works at.
TEST(RemoteTest, WaitsAsLongAsTheCuratorLetsItselfCompute) {
  size_t methods = 0;
  for (const access::Method& method : access::AllMethods()) {
    if (method.deadline == absl::InfiniteDuration()) continue;  // streams say themselves
    EXPECT_EQ(UsualWait(method.path), std::max(method.deadline, absl::Minutes(1))) << method.path;
    ++methods;
  }
  EXPECT_GT(methods, 40u);
}

TEST(RemoteTest, TheTimeThatIsGivenHolds) {
  ServerFlags flags;
  EXPECT_EQ(flags.Wait(absl::Hours(1)), absl::Hours(1));
  EXPECT_EQ(flags.Once().deadline, absl::Minutes(1));
  flags.timeout_seconds = 2.5;
  EXPECT_EQ(flags.Wait(absl::Hours(1)), absl::Seconds(2.5));
  EXPECT_EQ(flags.Once().deadline, absl::Seconds(2.5));
}

TEST(RemoteTest, AServerThatIsNotThereIsNamed) {
  const Remote remote = *Remote::Connect(Nowhere());
  EXPECT_THAT(remote.Call<v1::GetStudyResponse>(v1::GetStudyRequest()).status(),
              StatusIs(StatusCode::kUnavailable, HasSubstr("127.0.0.1:1")));
}

}  // namespace
}  // namespace coppice::cli
