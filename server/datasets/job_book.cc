#include "server/datasets/job_book.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::central {

Status JobBook::NoJob(std::string_view id) { return NotFoundError(StrCat("there is no job ", id)); }

void JobBook::Add(std::shared_ptr<Job> job) {
  const MutexLock lock(mutex_);
  jobs_by_request_[{job->owner, job->entry.request_id}] = job;
  jobs_[job->id] = std::move(job);
}

StatusOr<std::shared_ptr<Job>> JobBook::Find(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return NoJob(id);
  return it->second;
}

StatusOr<std::shared_ptr<Job>> JobBook::FindByRequest(const std::string& owner,
                                                      const std::string& request_id,
                                                      std::string_view request_hash) const {
  const MutexLock lock(mutex_);
  const auto it = jobs_by_request_.find({owner, request_id});
  if (it == jobs_by_request_.end()) return nullptr;
  if (it->second->entry.request_hash == request_hash) return it->second;
  return AlreadyExistsError(StrCat("request_id: it made the job ", it->second->id,
                                   " from another request; choose another"));
}

bool JobBook::HasRequest(const std::string& owner, const std::string& request_id) const {
  const MutexLock lock(mutex_);
  return jobs_by_request_.contains({owner, request_id});
}

std::vector<JobInfo> JobBook::List(std::string_view dataset, const Page& page,
                                   absl::FunctionRef<bool(const std::string&)> is_shown) const {
  std::vector<JobInfo> infos;
  const MutexLock lock(mutex_);
  for (auto it = jobs_.upper_bound(page.after); it != jobs_.end() && infos.size() < PageSize(page);
       ++it) {
    const JobInfo& info = it->second->entry.info;
    const bool is_asked = dataset.empty() || info.spec.dataset == dataset;
    if (is_asked && is_shown(it->second->owner)) infos.push_back(info);
  }
  return infos;
}

uint64_t JobBook::CountOpen(const std::string& owner) const {
  const MutexLock lock(mutex_);
  return static_cast<uint64_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& job) {
    return job.second->owner == owner && !HasEnded(job.second->entry.info.state);
  }));
}

JobEntry JobBook::EntryOf(const Job& job) const {
  const MutexLock lock(mutex_);
  return job.entry;
}

void JobBook::Update(Job& job, JobInfo info) {
  const MutexLock lock(mutex_);
  job.entry.info = std::move(info);
  NotifyWatchers(job);
}

void JobBook::SetResume(Job& job, ResumePoint resume) {
  const MutexLock lock(mutex_);
  job.entry.resume = std::move(resume);
}

void JobBook::UpdateProgress(Job& job, double done, double seconds_left, absl::Duration between) {
  const absl::Time now = absl::Now();
  const MutexLock lock(mutex_);
  job.entry.info.progress = done;
  job.entry.info.seconds_left = seconds_left;
  if (now - job.last_progress < between) return;
  job.last_progress = now;
  NotifyWatchers(job);
}

void JobBook::NotifyWatchers(Job& job) {
  std::erase_if(job.watchers, [&job](const std::weak_ptr<JobWatcher>& watcher) {
    const std::shared_ptr<JobWatcher> there = watcher.lock();
    if (there != nullptr) there->OnJob(job.entry.info);
    return there == nullptr;
  });
  if (HasEnded(job.entry.info.state)) job.watchers.clear();
}

Status JobBook::Watch(std::string_view id, std::weak_ptr<JobWatcher> watcher) {
  const MutexLock lock(mutex_);
  const auto it = jobs_.find(id);
  if (it == jobs_.end()) return NoJob(id);
  const std::shared_ptr<JobWatcher> there = watcher.lock();
  if (there == nullptr) return OkStatus();
  Job& job = *it->second;
  there->OnJob(job.entry.info);
  if (HasEnded(job.entry.info.state)) return OkStatus();
  if (stopped_) {
    there->OnStop();
  } else {
    job.watchers.push_back(std::move(watcher));
  }
  return OkStatus();
}

void JobBook::StopWatchers() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  for (const auto& [id, job] : jobs_) {
    for (const std::weak_ptr<JobWatcher>& watcher : job->watchers) {
      if (const std::shared_ptr<JobWatcher> there = watcher.lock()) there->OnStop();
    }
    job->watchers.clear();
  }
}

}  // namespace coppice::central
