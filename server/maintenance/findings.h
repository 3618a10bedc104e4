// What a check of a store found: problems, which keep the daemon from starting or from doing what
// it was asked, and notes, which do not.

#ifndef COPPICE_SERVER_MAINTENANCE_FINDINGS_H_
#define COPPICE_SERVER_MAINTENANCE_FINDINGS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace coppice::maintenance {

// What `coppiced repair` does about a problem.
enum class Remedy {
  kNone,              // nothing can be done here; `what` says what can
  kSalvageFiles,      // have RocksDB get back what it can
  kQuarantineRecord,  // put this key aside
  kNoteLostReports,   // note that this model rests on more reports than its study has left
  kQuarantineStudy,   // put all of the study `id` aside, but for its models
  kReplaceTombstone,  // keep the id of a deleted study taken
  kResumeAuditLog,    // put aside what does not hold of the audit log, and go on after the rest
  kCloseLedger,       // put entries of dataset `id` from `key` on aside, and close it
};

struct Problem {
  std::string key;   // of a record, or the path of a file
  std::string what;  // and what it means
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
  std::map<std::string, uint64_t> counts;  // what was looked at, by its kind

  void Add(Problem problem) { problems.push_back(std::move(problem)); }
  bool Has(Remedy remedy, absl::string_view id) const;
};

// Called with what is being read now.
using ProgressCallback = std::function<void(const std::string& what)>;

// What is wrong with the record at `key`, without what `status` says around it.
std::string ReasonOf(const absl::Status& status, absl::string_view key);

}  // namespace coppice::maintenance

#endif  // COPPICE_SERVER_MAINTENANCE_FINDINGS_H_
