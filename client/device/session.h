// One visit of a device to a curator or to its relay, without input and output: what to do next,
// and what came of it.
//
// A study is answered and what waits is delivered in small steps. The session hands out the next
// one and is told how it went; a carrier (a program, a C caller, a browser) moves bytes, keeps time
// and writes files. So every door drives the same session, and none of them can leave a check out.

#ifndef COPPICE_CLIENT_DEVICE_SESSION_H_
#define COPPICE_CLIENT_DEVICE_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/span.h"
#include "client/device/consent.h"
#include "client/device/deal.h"
#include "client/device/delivery.h"
#include "client/device/direct_reports.h"
#include "client/device/journal.h"
#include "client/device/offer.h"
#include "client/device/policy.h"
#include "client/device/privatizer.h"
#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/privacy/private_random.h"

namespace coppice {

// The time, as the carrier knows it.
struct DeviceTime {
  int64_t unix_seconds = 0;  // manifests and deals are valid by it; 0: not known
  // Waits go by it. It must run on while the machine is suspended, and nobody may set it: whoever
  // could end a wait would see by the time of sending which tree made the work longer.
  int64_t milliseconds_since_boot = 0;
};

// A relay as one process knows it. It outlives sessions.
struct KnownRelay {
  RelayPolicy policy;
  // In milliseconds since boot: nothing that waits for the relay is sent before. Unset until the
  // process has a ticket or finds an answer that waits.
  std::optional<int64_t> send_from = {};
};

// What a session rests on. All must outlive it.
struct SessionParts {
  const Policy& policy;
  const OfferPolicy& offers;
  Journal& journal;
  PrivateRandom& random;
  KnownRelay* relay = nullptr;  // needed for visits to a relay
};

struct SessionPlan {
  std::string server;  // HOST:PORT of the curator or, for kThroughRelay, of the relay
  DeliveryRoute route = DeliveryRoute::kDirect;

  // Whose answers are made and delivered: one subject, or up to 1000 for which a gateway speaks.
  std::vector<std::string> subjects = {};
  // The study to answer; empty: none, only deliver. Without subjects its terms are fetched and
  // checked, and nobody answers.
  std::string study = {};
  // One per subject where the study asks for them, 32 bytes each; none through a relay.
  std::vector<std::string> submission_tokens = {};
  // What an earlier session of this study made (privatizer()): its terms, and trees if it held all
  // of them, are not fetched again.
  std::shared_ptr<const Privatizer> known = nullptr;
  // Asked once, when the policy has let the terms pass and before any row is read: whether to
  // answer. It must not depend on a row. Unset: answer.
  std::function<bool(const Terms&)> review = {};

  // Which waiting answers are sent: these subjects', everybody's in the journal, or none; of one
  // study, or of all if `deliver_study` is empty.
  enum class Deliver : uint8_t { kSubjects, kEverybody, kNothing };
  Deliver deliver = Deliver::kSubjects;
  std::string deliver_study = {};
  // Whether to write the journal anew at the end, without what is final. A gateway does so once,
  // after the last of many sessions, as it takes as long as the journal is.
  bool forget = true;
  bool stop_unknown = false;  // stop delivering to studies that the curator does not know

  size_t batch = 1000;        // most reports in one call to a curator, 1 to 1000
  size_t calls_together = 1;  // most calls to a relay that are handed out together
};

struct DeviceCall {
  const char* method;        // "/coppice.v1.StudyService/GetOffer"
  std::string request;       // a serialized message
  bool shows_token = false;  // the one call that shows the relay's token
};

// The steps. Views last until the session is told what came of the step.
struct WriteRecords {  // write durably, then RecordsDurable() or RecordsFailed()
  const JournalWrite* write;
};
struct CarryCalls {  // after the wait, then TakeResponse() or CallFailed() for each of them
  absl::Span<const DeviceCall> calls;
  int64_t wait_milliseconds;
};
struct ReadRow {   // then TakeRow(). Nothing can decline any more
  size_t subject;  // its position in the plan
  const Terms& terms;
};
struct SessionDone {};
using SessionStep = std::variant<SessionDone, WriteRecords, CarryCalls, ReadRow>;

struct SessionOutcome {
  // OK: all subjects have answered the study, now or before; or none was asked for.
  Status answer;
  bool answered_now = false;
  uint64_t answered_before = 0;  // subjects
  uint64_t dealt = 0;            // tickets that came from a relay
  // OK: all that waits was tried. Else why not: the owner opted out, a call failed, or the journal
  // or the random source did.
  Status delivery;
  Deliveries deliveries;
  // How far the device's clock is behind what the curator signed, if by more than a day.
  int64_t clock_behind_seconds = 0;
};

// Guarantee  The order is fetch, check, read, always answer. Opting out, past answers and a full
//            queue are checked before anything is fetched; policy, trust, review and room in the
//            journal before a row is read, and through a relay before a ticket is taken. From then
//            on every row is answered (privatizer.h), so that silence tells nothing about a row or
//            a ticket. Where a study is joined by an id, a row whose id is missing or too long is
//            not answered, which tells about the id alone. A row is randomized at most once per
//            subject and study, and its report is handed out only after the session was told that
//            the journal's records are durable. Every try sends the same report. An answer goes
//            only to the curator that asked, which proves that it has its key, or to the relay that
//            dealt its ticket, not before a time that was drawn before there was a ticket (after a
//            restart: before anything is sent). Every call passes the check for opting out when it
//            is handed out.
// Errors     What goes wrong on the way is in outcome(), and in TakeError() when it happens. The
//            functions that tell something return InvalidArgument when the session did not ask for
//            it.
// Threads    one at a time, and nobody else may use the journal from Next() until the records that
//            it handed out are durable. Sessions of one subject must not overlap.
class DeviceSession {
 public:
  DeviceSession(const SessionParts& parts, SessionPlan plan);
  DeviceSession(const DeviceSession&) = delete;
  DeviceSession& operator=(const DeviceSession&) = delete;

  // What to do now; the same again until the session is told what came of it. A call whose answer
  // was delivered or given up meanwhile is replaced. Calls are carried when their wait is over:
  // after a wait ask again.
  SessionStep Next(const DeviceTime& now);

  Status RecordsDurable();
  Status RecordsFailed(const Status& why);
  Status TakeRow(LabelledRow row);
  // The response to call `i` of those that were handed out together, and when it came.
  Status TakeResponse(size_t i, std::string_view response, const DeviceTime& now);
  // The call got no response but this error, which is not OK.
  Status CallFailed(size_t i, const Status& why);

  const SessionOutcome& outcome() const { return outcome_; }
  // The last thing that went wrong since this was called before; OK if nothing did.
  Status TakeError() { return std::exchange(error_, OkStatus()); }
  // The study's terms and trees, from the offer that was accepted last; null before there is one.
  std::shared_ptr<const Privatizer> privatizer() const { return privatizer_; }
  // The relay's deal that was agreed to last; null before there is one.
  const Deal* deal() const { return agreed_.has_value() ? &agreed_->deal : nullptr; }

 private:
  enum class Stage : uint8_t {
    kBegin,     // nothing was asked for yet
    kTerms,     // an offer, or a relay's deal, is fetched
    kConsent,   // it was accepted, and is remembered
    kTickets,   // room is made, and the relay deals its tickets
    kRows,      // rows are read, one after the other
    kAnswered,  // the answers' records are written
    kWaiting,   // to find what waits
    kProof,     // the curator proves who it is
    kReports,   // what waits is sent
    kForget,    // to forget what is final
    kDone,
  };

  bool is_relayed() const { return plan_.route == DeliveryRoute::kThroughRelay; }
  bool row_is_wanted() const { return blank_.has_value(); }
  const std::string& subject(size_t answer) const { return plan_.subjects[asked_[answer]]; }
  // What the row that is read is randomized by.
  const Privatizer& reader() const {
    return row_privatizer_.has_value() ? *row_privatizer_ : *privatizer_;
  }
  Status NotYet() const;

  // Does the next piece of work that needs nobody else: asks for calls, a row or records, or moves
  // on.
  void Advance(const DeviceTime& now);
  void Ask(std::vector<DeviceCall> calls);
  void ForgetCalls();
  bool AllTold() const { return told_ == calls_.size(); }
  Status CheckAsked(size_t i) const;
  int64_t WaitLeft(const DeviceTime& now) const;
  // Ends the session: nothing is asked for any more.
  void End(const Status& why);

  void BeginAnswer();
  OfferQuestion Question() const;
  void AskTerms();
  void TakeTerms(std::string_view response, const DeviceTime& now);
  Status TakeOffer(std::string_view response, const DeviceTime& now);
  Status TakeDeal(std::string_view response, const DeviceTime& now);
  // Has the journal remember the manifest, unless it does already.
  Status Remember(const SeenManifest& manifest);
  void NoteClock(int64_t issued_unix_seconds, const DeviceTime& now);
  void Agree();
  Status CheckConsent();
  // The last step before a ticket is asked for: draws the delay, and sets memory aside.
  Status PrepareForTickets();
  void AskTickets();
  void TakeTicket(size_t call, std::string_view response, const DeviceTime& now);
  Status PrepareRow();
  Status PrepareRelayedRow();
  Status KeepReport(PrivateReport report);
  void AppendAnswers();
  void FinishAnswer();
  // Ends the answering, and goes on to deliver what waits.
  void FailAnswer(const Status& why);

  void FindWaiting(const DeviceTime& now);
  bool IsForHere(const JournalEntry& entry);
  void AskProof();
  void TakeProof(std::string_view response, const DeviceTime& now);
  StatusOr<bool> IsForCurator(const JournalEntry& entry, const CuratorProof& proof,
                              const DeviceTime& now);
  // Records what became of the reports that were sent, or sends the next ones.
  void AskReports();
  void CountResults();
  // The length that reports of the study are padded to, by its last manifest.
  StatusOr<uint32_t> ReportBytesOf(std::string_view study) const;
  Status AskDirectReports();
  void AskRelayedReports();
  void TakeResults(size_t call, std::string_view response);
  bool StillWaits(const JournalEntry& entry) const;
  // Takes the calls back that would send what was delivered or given up meanwhile; false if there
  // are none.
  bool DropSettled();
  // Ends the delivering: a later session sends what waits.
  void StopDelivering(const Status& why);

  const SessionParts parts_;
  const SessionPlan plan_;
  const Consent consent_;
  const Trust trust_;
  SessionOutcome outcome_;
  Status error_;
  Stage stage_ = Stage::kBegin;

  std::vector<DeviceCall> calls_;  // handed out together
  std::vector<bool> is_told_;      // by call
  size_t told_ = 0;
  Status failed_call_;  // the first one that failed of a group

  // Answering.
  std::vector<size_t> asked_;  // positions of the subjects that answer now
  std::shared_ptr<const Privatizer> privatizer_;
  std::vector<Ticket> tickets_;                        // by answer, from a curator
  std::optional<AgreedDeal> agreed_;                   // with a relay
  std::vector<std::optional<std::string>> envelopes_;  // by answer, from a relay
  size_t tickets_asked_ = 0;
  size_t next_answer_ = 0;
  std::optional<DealtTicket> dealt_;          // of next_answer_, through a relay
  std::optional<Privatizer> row_privatizer_;  // has its tree
  std::optional<Privatizer::Blank> blank_;    // set while the row of next_answer_ is wanted
  std::vector<JournalEntry> answers_;

  // Delivering.
  std::string challenge_;
  DirectKey curator_key_;                // that reports are sealed for, as the curator proved
  std::map<PublicKey, bool> is_led_to_;  // by the key that trust began with
  std::vector<JournalEntry> waiting_;    // oldest first
  size_t next_waiting_ = 0;
  std::optional<DirectReports> direct_reports_;         // the call that sends sent_ to a curator
  std::vector<JournalEntry> sent_;                      // by the calls that are handed out
  std::vector<std::optional<DeliveryResult>> results_;  // of sent_
  std::map<std::string, std::vector<std::string>> settled_;  // subjects to record, by study
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_SESSION_H_
