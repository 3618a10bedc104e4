#include "client/cli/central/train_watch.h"

#include <grpcpp/channel.h>

#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "client/cli/terminal/interrupt.h"
#include "client/cli/terminal/output.h"
#include "client/device/grpc/server_call.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/describe/text.h"
#include "coppice/v1/training.grpc.pb.h"

namespace coppice::cli {
namespace {

// A stream that is silent for this long is reopened: the server may be gone.
constexpr absl::Duration kStream = absl::Minutes(10);
// Daemons close old connections, even while a job brings no news: a stream that lasted this long is
// no sign of trouble.
constexpr absl::Duration kMinSoundStream = absl::Milliseconds(500);
constexpr int kFruitlessWatches = 5;
constexpr absl::Duration kFirstWatchPause = absl::Milliseconds(50);

class Follower {
 public:
  Follower(const Remote& remote, const std::string& name,
           const std::function<void(const v1::Job&)>& show)
      : remote_(remote),
        stub_(v1::TrainingService::NewStub(remote.channel())),
        name_(name),
        show_(show) {}

  StatusOr<v1::Job> Run() {
    COPPICE_RETURN_IF_ERROR(Ask(/*patiently=*/false));
    int fruitless = 0;
    while (!HasEnded(job_)) {
      const int news = news_;
      const absl::Time opened = absl::Now();
      const Status status = ReadStream();
      if (HasEnded(job_)) break;
      if (!status.ok() && !IsRetryable(status)) return status;
      const bool lasted = news_ > news || absl::Now() - opened >= kMinSoundStream;
      fruitless = lasted ? 0 : fruitless + 1;
      if (fruitless == kFruitlessWatches) return GaveUp(status);
      absl::SleepFor(AskedToWait(status) + kFirstWatchPause * (1 << fruitless));
      COPPICE_RETURN_IF_ERROR(Ask(/*patiently=*/true));
    }
    return job_;
  }

 private:
  static Status GaveUp(const Status& status) {
    if (!status.ok()) return status;
    return UnavailableError("the curator stopped reporting before the job had ended");
  }

  Status Ask(bool patiently) {
    v1::GetJobRequest request;
    request.set_name(name_);
    COPPICE_ASSIGN_OR_RETURN(auto response, patiently
                                                ? remote_.CallPatiently<v1::GetJobResponse>(request)
                                                : remote_.Call<v1::GetJobResponse>(request));
    Take(*response.mutable_job());
    return OkStatus();
  }

  Status ReadStream() {
    v1::WatchJobRequest request;
    request.set_name(name_);
    return remote_.Stream(kStream, [&](grpc::ClientContext& context) {
      const auto reader = stub_->WatchJob(&context, request);
      v1::WatchJobResponse response;
      while (!HasEnded(job_) && reader->Read(&response)) Take(*response.mutable_job());
      if (HasEnded(job_)) context.TryCancel();  // nothing more matters
      return reader->Finish();
    });
  }

  // Ignores what was shown before, which each new stream repeats first.
  void Take(v1::Job& job) {
    Json said = DescribeJob(job);
    if (said == said_) return;
    said_ = std::move(said);
    job_ = std::move(job);
    ++news_;
    show_(job_);
  }

  const Remote& remote_;
  const std::unique_ptr<v1::TrainingService::Stub> stub_;
  const std::string& name_;
  const std::function<void(const v1::Job&)>& show_;
  v1::Job job_;
  Json said_;
  int news_ = 0;
};

}  // namespace

bool HasEnded(const v1::Job& job) {
  return job.state() == v1::JOB_STATE_DONE || job.state() == v1::JOB_STATE_FAILED ||
         job.state() == v1::JOB_STATE_CANCELLED;
}

Status OutcomeOf(const v1::Job& job) {
  const std::string why = job.reason().empty() ? "" : StrCat(": ", job.reason());
  if (job.state() == v1::JOB_STATE_FAILED) {
    return AbortedError(StrCat("job ", IdOf(job.name()), " failed", why));
  }
  if (job.state() == v1::JOB_STATE_CANCELLED) {
    return CancelledError(StrCat("job ", IdOf(job.name()), " was cancelled", why));
  }
  return OkStatus();
}

void PrintJob(const v1::Job& job, bool json) {
  const Json described = DescribeJob(job);
  Json shown = Json::object();
  for (const auto& [name, value] : described.items()) {
    if (json || !value.is_null()) shown[name] = value;
  }
  PrintObject(shown, json);
}

StatusOr<v1::Job> FollowJob(const Remote& remote, const std::string& name,
                            const std::function<void(const v1::Job&)>& show) {
  return Follower(remote, name, show).Run();
}

Status WatchJob(const Remote& remote, const std::string& name, bool json) {
  const std::string id = IdOf(name);
  const LastWord goes_on(StrCat("job ", id, " is still running: `coppice train watch --job ", id,
                                "` follows it, `coppice train cancel --job ", id, "` ends it"));
  std::optional<UpdatingLine> line;
  if (!json) line.emplace();
  COPPICE_ASSIGN_OR_RETURN(const v1::Job job, FollowJob(remote, name, [&](const v1::Job& now) {
                             if (json) PrintJob(now, /*json=*/true);
                             if (line) line->Show(JobLine(now));
                           }));
  line.reset();
  if (!json) PrintJob(job, /*json=*/false);
  return OutcomeOf(job);
}

}  // namespace coppice::cli
