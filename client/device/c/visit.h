// One conversation of a device with a curator or a relay, as calls that somebody else carries.

#ifndef COPPICE_CLIENT_DEVICE_C_VISIT_H_
#define COPPICE_CLIENT_DEVICE_C_VISIT_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/device/journal.h"
#include "client/device/relay/relayed_respondent.h"
#include "client/device/respondent.h"
#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/privacy/private_random.h"

namespace coppice {

// By a clock that nobody sets, and that goes on while the machine sleeps.
absl::Time TimeSinceBoot();

// What a visit rests on. All must outlive it.
struct VisitParts {
  const Respondent& respondent;
  RelayedRespondent* relayed;  // null: no relay is visited
  Journal& journal;
  Trust& trust;
  PrivateRandom& random;
  std::function<int64_t()> clock;                          // seconds since 1970
  std::function<absl::Time()> wait_clock = TimeSinceBoot;  // by which a caller waits
};

struct VisitPlan {
  std::string server;  // HOST:PORT
  std::string study;   // empty: only deliver
  std::string submission_token = {};
  // Whether to answer under terms that the policy let pass; knows nothing of the row.
  std::function<bool(const Terms&)> review = {};
  std::function<LabelledRow(const Terms&)> read_row = {};
};

struct VisitCall {
  const char* method;
  std::string_view request;                    // until it was taken or failed
  absl::Duration wait = absl::ZeroDuration();  // from now, before it is carried
  bool takes_ticket = false;                   // the one call that shows a relay's token
};

struct VisitOutcome {
  Status answer;  // OK: the study is answered, now or before, or none was asked for
  bool answered_now = false;
  Deliveries deliveries;
  int64_t clock_behind_seconds = 0;  // behind what the curator signed, if by more than a day
};

// Guarantee  As Respondent, RelayedRespondent, Trust and Journal.
// Errors     Next(): those of the journal and the random source, which end the visit. Take(): what
//            is wrong with the response, which is the outcome's too where it is about the answer;
//            DataLoss for a response that is none. InvalidArgument: there is no call.
// Threads    one at a time.
class Visit {
 public:
  virtual ~Visit() = default;

  // The call to carry, the same until it is taken, failed or settled elsewhere; nothing at the end.
  // FailedPrecondition if the owner opted out meanwhile, which ends the visit.
  StatusOr<std::optional<VisitCall>> Next();
  Status Take(std::string_view response);
  // The call got no response but this error, which is not OK.
  Status Fail(const Status& status);

  const VisitOutcome& outcome() const { return outcome_; }

 protected:
  Visit(const VisitParts& parts, VisitPlan plan);

  // Asks the next call; without one the visit is done.
  virtual Status Advance() = 0;
  // What came, or did not, of the call that was asked last.
  virtual Status TakeAsked(std::string_view response) = 0;
  virtual void FailAsked(const Status& status) = 0;

  void Ask(const char* method, std::string request);
  // The same of the last one of waiting_.
  void AskReport(const char* method, std::string request);
  // The call that is asked shows the relay's token, or is carried from then on by `wait_clock`.
  void SetTakesTicket() { takes_ticket_ = true; }
  void SetCarriedFrom(absl::Time time) { carried_from_ = time; }
  bool asked() const { return asked_; }
  // Whether the device's own review lets a study with these terms be answered.
  Status Review(const Terms& terms) const;
  void NoteClock();
  // What the outcome says until the journal has an answer.
  Status NotYet() const;

  const VisitParts parts_;
  const VisitPlan plan_;
  VisitOutcome outcome_;
  std::vector<JournalEntry> waiting_;  // to be sent; the last one is next

 private:
  // Finds what to carry now, if the owner lets anything be carried.
  Status FindCall();
  // Drops what was delivered or given up since it was found, and the call that would send it.
  Status DropSettled();

  const char* method_ = nullptr;
  std::string request_;
  bool takes_ticket_ = false;
  bool sends_report_ = false;
  absl::Time carried_from_ = absl::InfinitePast();
  bool asked_ = false;  // request_ waits for its response
  bool done_ = false;
};

// To the caller of the C interface an invalid argument is a mistake of its own; of what the other
// end sent it is DataLoss.
Status OfOtherEnd(const Status& status);

// First the offer, if one may be fetched; then, if answers wait, a proof that the curator is the
// one that they are for; then these, one call each.
//
// Guarantee  An offer is checked as Collector checks it, and an answer is sent only to a curator
//            that just proved to have the key that the answer is for, by a challenge that is drawn
//            here.
// Errors     those of Visit.
// Threads    one at a time.
class CuratorVisit final : public Visit {
 public:
  CuratorVisit(const VisitParts& parts, VisitPlan plan) : Visit(parts, std::move(plan)) {}

 private:
  enum class Step { kBegin, kOffer, kProof, kReport };

  Status Advance() override;
  Status TakeAsked(std::string_view response) override;
  void FailAsked(const Status& status) override;

  Status BeginOffer();
  Status BeginProof();
  void BeginReport();
  Status TakeOffer(std::string_view response);
  Status AnswerOffer(std::string_view response);
  Status TakeProof(std::string_view response);
  Status TakeReport(std::string_view response);

  Step step_ = Step::kBegin;
  std::string challenge_;
};

// First the relay's terms, if they may be fetched, and a ticket of a deal that was agreed to; then
// what waits for this relay, one call each, from the time on that RelayedRespondent says.
//
// Guarantee  All that can decline has declined, memory and room in the journal are set aside and
// the
//            delay is drawn when the call that takes a ticket is asked.
// Errors     those of Visit. What is lost for good is among the refused of the outcome.
// Threads    one at a time.
class RelayVisit final : public Visit {
 public:
  // `parts.relayed` must be set.
  RelayVisit(const VisitParts& parts, VisitPlan plan) : Visit(parts, std::move(plan)) {}

 private:
  enum class Step { kBegin, kDeal, kTicket, kReport };

  Status Advance() override;
  Status TakeAsked(std::string_view response) override;
  void FailAsked(const Status& status) override;

  void BeginDeal();
  void BeginTicket();
  Status FindWaiting();
  Status BeginReport();
  Status AgreeTo(std::string_view response);
  Status AnswerTicket(std::string_view response);
  Status TakeReport(std::string_view response);

  Step step_ = Step::kBegin;
  std::optional<AgreedDeal> agreed_;  // until the ticket has come
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_C_VISIT_H_
