// One conversation of a device with a curator, as calls that somebody else carries.

#ifndef COPPICE_CLIENT_C_VISIT_H_
#define COPPICE_CLIENT_C_VISIT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/journal.h"
#include "client/respondent.h"
#include "client/trust.h"
#include "common/privacy/private_random.h"

namespace coppice {

// What a visit rests on. All must outlive it.
struct VisitParts {
  const Respondent& respondent;
  Journal& journal;
  Trust& trust;
  PrivateRandom& random;
  std::function<int64_t()> clock;
};

struct VisitPlan {
  std::string curator;  // HOST:PORT
  std::string study;    // empty: only deliver
  std::string submission_token;
  // Whether to answer under terms that the policy let pass; knows nothing of the row.
  std::function<bool(const Terms&)> review;
  std::function<LabelledRow(const Terms&)> read_row;
};

struct VisitCall {
  const char* method;
  absl::string_view request;  // until it was taken or failed
};

struct VisitOutcome {
  absl::Status answer;  // OK: the study is answered, now or before, or none was asked for
  bool answered_now = false;
  Deliveries deliveries;
  int64_t clock_behind_seconds = 0;  // behind what the curator signed, if by more than a day
};

// First the offer, if one may be fetched; then, if answers wait, a proof that the curator is the
// one that they are for; then these, one call each.
//
// Guarantee  As Respondent, Trust and Journal: an offer is checked as Collector checks it, and an
//            answer is sent only to a curator that just proved to have the key that the answer is
//            for, by a challenge that is drawn here.
// Errors     Take(): what is wrong with the offer or the answer to it, which is the outcome's too;
//            DataLoss for a response that is none. InvalidArgument: there is no call.
// Threads    one at a time.
class Visit {
 public:
  Visit(const VisitParts& parts, VisitPlan plan)
      : parts_(parts), plan_(std::move(plan)), step_(Step::kBegin) {}

  // The call to carry, the same until it is taken or failed; nothing at the end.
  absl::StatusOr<std::optional<VisitCall>> Next();
  absl::Status Take(absl::string_view response);
  // The call got no response but this error, which is not OK.
  absl::Status Fail(const absl::Status& status);

  const VisitOutcome& outcome() const { return outcome_; }

 private:
  enum class Step { kBegin, kOffer, kProof, kReport, kDone };

  // Finds the next call; without one the visit is done.
  absl::Status Advance();
  absl::Status BeginOffer();
  absl::Status BeginProof();
  void BeginReport();
  void Ask(Step step, const char* method, std::string request);

  absl::Status TakeOffer(absl::string_view response);
  absl::Status AnswerOffer(absl::string_view response);
  absl::Status TakeProof(absl::string_view response);
  absl::Status TakeReport(absl::string_view response);
  void NoteClock();

  const VisitParts parts_;
  const VisitPlan plan_;
  VisitOutcome outcome_;
  Step step_;
  const char* method_ = nullptr;
  std::string request_;
  bool asked_ = false;  // request_ waits for its response
  std::string challenge_;
  std::vector<JournalEntry> waiting_;  // for this curator; the last one is sent next
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_C_VISIT_H_
