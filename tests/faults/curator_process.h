// The curator's process: the real Studies on the real store, over the disk that fails.
//
// Start() does what an operator does: it gives the last key's flags and, if they are refused, those
// of each key in turn (key_history.h).
// Threads    for one.

#ifndef COPPICE_TESTS_FAULTS_CURATOR_PROCESS_H_
#define COPPICE_TESTS_FAULTS_CURATOR_PROCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "server/curator/studies/studies.h"
#include "server/store/models/models.h"
#include "server/store/store.h"
#include "tests/faults/faulty_disk.h"
#include "tests/faults/gated_store.h"
#include "tests/faults/key_history.h"
#include "tests/faults/twins.h"
#include "tests/faults/world.h"

namespace coppice::testing {

class CuratorProcess {
 public:
  CuratorProcess(FaultyDisk& disk, const RunOptions& options, std::function<int64_t()> clock)
      : disk_(disk), options_(options), clock_(std::move(clock)) {}

  // After an error the process is not up, but its parts are there until End().
  Status Start(const std::string& data, const KeyHistory& keys);
  Status StartWith(const std::string& data, const curator::SigningKeys& keys);
  // Ends it; what it still wanted to do is not done.
  void End();

  bool up() const { return studies_ != nullptr; }
  curator::Studies& studies() { return *studies_; }
  // The store on disk, and twin(): the same with the planted bug, which the curator uses.
  storage::Store& disk_store() { return *disk_store_; }
  storage::Store& twin() { return *twin_; }
  GatedStore& gate() { return *gate_; }

 private:
  FaultyDisk& disk_;
  const RunOptions options_;
  const std::function<int64_t()> clock_;
  std::unique_ptr<storage::Store> disk_store_;
  std::unique_ptr<TwinStore> twin_;
  std::unique_ptr<GatedStore> gate_;
  std::optional<models::Models> models_;
  std::unique_ptr<curator::Studies> studies_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_CURATOR_PROCESS_H_
