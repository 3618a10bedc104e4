// Messages that are at the curator, and its answers, which come from its own thread.
//
// Threads    Submit() and Take() from one thread; answers from any.

#ifndef COPPICE_TESTS_FAULTS_TRAFFIC_H_
#define COPPICE_TESTS_FAULTS_TRAFFIC_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "server/curator/studies/studies.h"
#include "tests/faults/faulty_disk.h"

namespace coppice::testing {

// One message on its way to the curator.
struct Message {
  std::string study;
  Fingerprint fingerprint{};
  std::vector<uint32_t> devices{};
  std::vector<PrivateReport> reports{};
  bool heard = true;  // whether the devices hear the answer
  std::optional<curator::ReportOutcome>
      refusal{};  // for a forged report: the refusal that it calls for
};

struct Answered {
  Message message;
  StatusOr<std::vector<curator::ReportOutcome>> outcomes;  // Cancelled: it died before it answered
};

class Traffic {
 public:
  explicit Traffic(const FaultyDisk& disk) : disk_(disk) {}

  void Submit(curator::Studies& studies, Message message);
  size_t Unanswered() const;
  void AwaitAnswers();
  // Returns what was answered since the last call.
  std::vector<Answered> Take();

 private:
  const FaultyDisk& disk_;
  mutable std::mutex mutex_;
  std::condition_variable answered_;
  size_t unanswered_ = 0;          // guarded by mutex_
  std::vector<Answered> answers_;  // guarded by mutex_
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_TRAFFIC_H_
