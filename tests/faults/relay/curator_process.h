// One curator in this process, on a store in memory that outlives it.

#ifndef COPPICE_TESTS_FAULTS_RELAY_CURATOR_PROCESS_H_
#define COPPICE_TESTS_FAULTS_RELAY_CURATOR_PROCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "coppice/v1/batch.pb.h"
#include "coppice/v1/study.pb.h"
#include "server/curator/studies/studies.h"
#include "server/store/memory_store.h"
#include "server/store/models/models.h"
#include "tests/faults/relay/faulty_store.h"
#include "tests/faults/relay/twins.h"

namespace coppice::relay_faults {

// Threads  for one; the curator has its own.
class CuratorProcess {
 public:
  // `clock` may be called by any thread.
  explicit CuratorProcess(std::function<int64_t()> clock, Bug bug = Bug::kNone)
      : clock_(std::move(clock)), bug_(bug) {}
  ~CuratorProcess() { Kill(); }

  Status Start();
  void Kill();
  // Ends it cleanly.
  void Stop();
  bool up() const { return studies_ != nullptr; }
  // Whether its store has made it stop; it then answers nothing.
  bool is_dead() const { return up() && store_->dead(); }

  // Returns once its threads have nothing to do, or cannot do it, and its memory agrees with its
  // store. DeadlineExceeded if that takes too long; Internal if its counts do not agree.
  Status AwaitIdle(std::string_view study);

  curator::Studies& studies() { return *studies_; }
  FaultyStore& store() { return *store_; }
  const storage::MemoryStore& disk() const { return disk_; }

  // Answers as its service does.
  StatusOr<v1::GetOfferResponse> GetOffer(const v1::GetOfferRequest& request);
  StatusOr<v1::DeliverBatchResponse> DeliverBatch(const v1::DeliverBatchRequest& request);

 private:
  void End();

  const std::function<int64_t()> clock_;
  const Bug bug_;
  storage::MemoryStore disk_;
  std::unique_ptr<FaultyStore> store_;
  std::optional<models::Models> models_;
  std::unique_ptr<curator::Studies> studies_;
};

}  // namespace coppice::relay_faults

#endif  // COPPICE_TESTS_FAULTS_RELAY_CURATOR_PROCESS_H_
