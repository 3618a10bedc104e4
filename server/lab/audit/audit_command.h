// coppice-lab audit: how much privacy this binary's mechanisms and trainers lose at least,
// measured.

#ifndef COPPICE_SERVER_LAB_AUDIT_AUDIT_COMMAND_H_
#define COPPICE_SERVER_LAB_AUDIT_AUDIT_COMMAND_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/lab/audit/audit.h"

namespace CLI {
class App;
}

namespace coppice::lab {

struct AuditFlags {
  std::string mechanism;  // one of the two is set
  std::string algorithm;
  std::string epsilon;
  uint32_t leaves = 2;
  uint32_t classes = 2;
  AuditOptions options;
  bool json = false;
};

// Declares the flags of `audit` on `command`, each with its check.
void AddAuditFlags(CLI::App& command, AuditFlags& flags);

// Flags that do not go together, or are out of range; InvalidArgument names them.
absl::Status CheckAuditFlags(const AuditFlags& flags);

// Runs and prints to stdout. FailedPrecondition if the bound exceeds the claim: then the mechanism
// is broken, or a chance of 1 - confidence has come about.
absl::Status RunAuditCommand(const AuditFlags& flags);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_AUDIT_AUDIT_COMMAND_H_
