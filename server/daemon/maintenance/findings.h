// The findings of a store check: problems, which keep the daemon from starting or from doing what
// it was asked, and notes, which do not.

#ifndef COPPICE_SERVER_DAEMON_MAINTENANCE_FINDINGS_H_
#define COPPICE_SERVER_DAEMON_MAINTENANCE_FINDINGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace coppice::maintenance {

// What `coppiced repair` does about a problem.
enum class Remedy {
  kNone,              // a repair can do nothing; `what` says what the user can do
  kSalvageFiles,      // let RocksDB recover what it can
  kQuarantineRecord,  // put this key aside
  kReplaceSummary,    // write a model's summary (key "summary/KEY") anew from the model
  kNoteLostReports,   // note that this model rests on more reports than its study still has
  kQuarantineStudy,   // put everything of the study `id` aside, except its models
  kReplaceTombstone,  // keep the id of a deleted study taken
  kResumeAuditLog,    // put the audit log's unsound part aside, and continue after the rest
  kCloseLedger,       // put entries of dataset `id` aside, from `key` on, and close its ledger
};

struct Problem {
  std::string key;   // of a record, or the path of a file
  std::string what;  // what is wrong, and what it means
  Remedy remedy = Remedy::kNone;
  std::string id{};  // of the study or dataset
};

struct Note {
  std::string key;
  std::string what;
};

struct Findings {
  std::vector<Problem> problems;
  std::vector<Note> notes;
  std::map<std::string, uint64_t> counts;  // checked items, by kind

  void Add(Problem problem) { problems.push_back(std::move(problem)); }
  bool Has(Remedy remedy, std::string_view id) const;
};

// Called with the name of each part before it is read.
using ProgressCallback = std::function<void(const std::string& what)>;

// Returns what is wrong with the record at `key`, without the words that `status` wraps around it.
std::string ReasonOf(const Status& status, std::string_view key);

}  // namespace coppice::maintenance

#endif  // COPPICE_SERVER_DAEMON_MAINTENANCE_FINDINGS_H_
