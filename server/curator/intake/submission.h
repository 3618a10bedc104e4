// A submission in progress: judged on the thread that received it, then committed with others.

#ifndef COPPICE_SERVER_CURATOR_INTAKE_SUBMISSION_H_
#define COPPICE_SERVER_CURATOR_INTAKE_SUBMISSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "server/curator/intake/report_batch.h"
#include "server/curator/keys/ticket_authority.h"
#include "server/curator/study/study.h"
#include "server/curator/study/study_info.h"
#include "server/store/store.h"

namespace coppice::curator {

using AlsoWrite = std::function<void(absl::Span<const ReportOutcome>, storage::StoreBatch&)>;

// One Submit(): its reports, and the outcome of each so far.
struct Submission {
  // A report that passed every check except the duplicate check, which the committer makes.
  struct Candidate {
    uint32_t report = 0;  // position in `reports`
    uint32_t tree = 0;    // drawn by its ticket
    uint32_t column = 0;  // of the tree's mechanism, also drawn by its ticket
    TicketSerial ticket = 0;
    std::vector<uint32_t> leaves{};  // that it is about (StudyForm::Reading)
    JoinId id{};                     // that it shows, where the study is joined by ids
  };
  // A report that is not read, since earlier ones of the same call have its ticket, and the last of
  // these that was read is good, or the second that is bad. It is a duplicate if that one is
  // counted or a duplicate, and else has its outcome.
  struct Repeat {
    uint32_t report = 0;  // positions in `reports`
    uint32_t first = 0;
  };

  std::shared_ptr<Study> study;  // null: there is no study of that name
  ReportBatch reports;
  std::vector<ReportOutcome> outcomes;  // one per report; kAccepted for candidates
  std::vector<Candidate> candidates;
  std::vector<Repeat> repeats;
  Status refused;  // if not OK, the answer to the whole batch
  SubmitDone done;
  // Set if the reports were stored before they were judged, so that neither a seal nor the clock
  // rejects them. Called on the committer with their outcomes; adds further writes to the atomic
  // batch that holds the sums. Not called if the study was deleted or retired, which rejects all.
  AlsoWrite also_write{};

  // The memory that the submission holds while it waits.
  size_t Bytes() const;
};

// Makes every check that needs only the study's terms and the time, payloads included. Where the
// study is joined by ids, each report with a good ticket takes one look-up in `store`. It runs here
// and not on the committer's thread, which all studies share, because the features may be larger
// than memory. However often a call repeats a ticket, it is looked up once, and one good report
// with it is read: what a report may be about can be a list of all leaves of a tree.
//
// Errors   what the store or the system's cryptography returns, in Submission::refused.
// Threads  safe to call from several at once.
Submission JudgeReports(std::shared_ptr<Study> study, std::string_view fingerprint_bytes,
                        ReportBatch reports, const TicketAuthority& authority,
                        const storage::Store& store, int64_t now_unix_seconds);

// The same for reports of a relay's batch, which were stored on arrival. Only a bad ticket or
// payload, or a report that does not open (`is_open`, one per report), still rejects one.
Submission JudgeStoredReports(std::shared_ptr<Study> study, ReportBatch reports,
                              const std::vector<bool>& is_open, const TicketAuthority& authority,
                              const storage::Store& store);

// Counts a group of submissions in one atomic batch of the store and settles the outcome of every
// report. Consumes the candidates.
//
// Guarantee  A ticket is counted at most once: it must be new to the store and to the group, and it
//            is stored with the sums. So is an id, where the study is joined by ids: its first
//            report counts, every later one is a duplicate whatever its ticket. Memory changes only
//            after the store returned OK. A report that came too late seals its study in the same
//            batch.
// Errors     What the store returns; then nothing is counted for any submission.
// Threads    one group at a time.
Status CommitGroup(absl::Span<Submission> group, storage::Store& store);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_INTAKE_SUBMISSION_H_
