// One Submit() on its way: its reports, and what is known of each so far.

#ifndef COPPICE_SERVER_CURATOR_INTAKE_SUBMISSION_H_
#define COPPICE_SERVER_CURATOR_INTAKE_SUBMISSION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/curator/intake/report_batch.h"
#include "server/curator/keys/ticket_authority.h"
#include "server/curator/study/study.h"
#include "server/curator/study/study_info.h"

namespace coppice::curator {

struct Submission {
  // A report that nothing speaks against but that its ticket may be spent, which the committer
  // finds out.
  struct Candidate {
    uint32_t report = 0;  // position in `reports`
    uint32_t tree = 0;    // that its ticket fixes
    uint32_t column = 0;  // of the tree's mechanism, likewise
    TicketSerial ticket = 0;
  };

  std::shared_ptr<Study> study;  // null: there is none of that name
  ReportBatch reports;
  std::vector<ReportOutcome> outcomes;  // one a report; kAccepted for candidates
  std::vector<Candidate> candidates;
  absl::Status refused;  // if not OK, the answer to the whole batch
  SubmitDone done;

  // Memory that the batch holds while it waits.
  size_t Bytes() const;
};

// All checks that need the study's terms and the time only, payloads included, on the caller's
// thread.
Submission JudgeReports(std::shared_ptr<Study> study, absl::string_view fingerprint_bytes,
                        ReportBatch reports, const TicketAuthority& authority,
                        int64_t now_unix_seconds);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_INTAKE_SUBMISSION_H_
