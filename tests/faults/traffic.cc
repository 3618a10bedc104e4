#include "tests/faults/traffic.h"

#include <memory>
#include <utility>

#include "common/base/status.h"

namespace coppice::testing {

void Traffic::Submit(curator::Studies& studies, Message message) {
  curator::ReportBatch batch;
  for (const PrivateReport& report : message.reports) {
    batch.Add(report.ticket.ToBytes(), report.payload);
  }
  {
    const std::lock_guard lock(mutex_);
    ++unanswered_;
  }
  const std::string fingerprint(message.fingerprint.begin(), message.fingerprint.end());
  auto sent = std::make_shared<Message>(std::move(message));
  studies.Submit(sent->study, fingerprint, std::move(batch),
                 [this, sent](StatusOr<std::vector<curator::ReportOutcome>> outcomes) {
                   // A process that has died answers nothing, whatever it was about to say.
                   if (disk_.stopped()) outcomes = CancelledError("died");
                   const std::lock_guard lock(mutex_);
                   answers_.push_back({std::move(*sent), std::move(outcomes)});
                   --unanswered_;
                   answered_.notify_all();
                 });
}

size_t Traffic::Unanswered() const {
  const std::lock_guard lock(mutex_);
  return unanswered_;
}

void Traffic::AwaitAnswers() {
  std::unique_lock lock(mutex_);
  answered_.wait(lock, [this] { return unanswered_ == 0; });
}

std::vector<Answered> Traffic::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

}  // namespace coppice::testing
