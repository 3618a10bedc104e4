// Parts of `coppice collect`: a gateway, which answers for many devices, and the history of its
// journal.

#ifndef COPPICE_CLIENT_CLI_STUDIES_COLLECT_H_
#define COPPICE_CLIENT_CLI_STUDIES_COLLECT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/output.h"
#include "client/device/curator_check.h"
#include "client/device/grpc/connect.h"
#include "client/device/grpc/relay_client.h"
#include "client/device/journal.h"
#include "client/device/policy.h"
#include "client/device/privatizer.h"
#include "client/device/relay/deal.h"
#include "client/device/relay/relay_link.h"
#include "common/base/status.h"
#include "common/command_line/command_line.h"
#include "common/table/read_table.h"

namespace coppice::cli {

// The curator's interface for a gateway.
struct GatewayLink {
  // Returns one ticket per row.
  std::function<StatusOr<std::vector<Ticket>>(absl::Span<const size_t> rows)> tickets;
  std::function<StatusOr<std::vector<DeliveryResult>>(absl::Span<const PrivateReport>)> deliver;
  // As CuratorLink::CheckIs().
  std::function<Status(const PublicKey& root)> check_is;
};

struct GatewayOptions {
  size_t batch = 1000;       // maximum number of reports per call, 1 to 1000
  bool end_unknown = false;  // drop reports for a study that the curator does not know
};

struct GatewayCounts {
  uint64_t answered_before = 0;  // rows with a delivered answer in the journal
  uint64_t accepted = 0;
  uint64_t duplicate = 0;
  std::map<std::string, uint64_t> refused;  // by reason, in words
  uint64_t unknown_study = 0;               // kept: the curator does not know the study
  uint64_t of_other_curators = 0;           // kept, and not sent
  uint64_t of_relays = 0;                   // kept: only their relay gets them
  uint64_t payload_bytes = 0;               // of all sent reports

  uint64_t TotalRefused() const;
  // Mean per report; 0 if none was sent.
  double MeanPayloadBytes() const;
};

// Many devices behind one journal and one connection.
//
// Guarantee  Each device takes the whole client path: ticket, policy, one randomization, journal,
//            delivery. Every report is in the journal before it is sent, so after any interruption
//            Resume() on the same journal delivers the rest with the same bytes.
// Errors     Cancelled if `stop` says so, between batches. Otherwise those of the parts.
class Gateway {
 public:
  // All arguments must outlive the gateway. `stop` is called between batches; `progress` gets the
  // number of rows done.
  Gateway(GatewayLink link, Journal& journal, const GatewayOptions& options,
          std::function<bool()> stop);

  // Delivers this curator's undelivered entries of the journal, for one study, or for all if
  // `study` is empty.
  Status Resume(const std::string& study, GatewayCounts& counts);

  // Answers for the first `rows` rows of `file`, each its device's (SubjectOf()). Skips rows that
  // have answered.
  Status AnswerRows(const Privatizer& privatizer, const Policy& policy, const TableFile& file,
                    size_t rows, const std::function<void(uint64_t)>& progress,
                    GatewayCounts& counts);

 private:
  Status AnswerBatch(const Privatizer& privatizer, const Policy& policy, const TableFile& file,
                     absl::Span<const size_t> rows, GatewayCounts& counts);
  Status Send(absl::Span<const JournalEntry> entries, GatewayCounts& counts);
  Status SendOneCall(absl::Span<const JournalEntry> entries, GatewayCounts& counts);
  Status CheckStop() const;

  GatewayLink link_;
  Journal& journal_;
  const GatewayOptions options_;
  std::function<bool()> stop_;
  CuratorCheck curator_check_;
};

// The device of a table's row, which file.ids names, or else the row's number, from 1; and its
// data.
std::string SubjectOf(const TableFile& file, size_t row);
LabelledRow RowOf(const TableFile& file, size_t row);

// ---- The same through a relay (relay_gateway.cc)

struct RelayGatewayOptions {
  size_t batch = 1000;  // most devices whose answers are journaled together
  size_t calls = 32;    // concurrent calls
};

struct RelayCounts {
  uint64_t answered_before = 0;          // rows with an answer in the journal that is not waiting
  uint64_t dealt = 0;                    // tickets from the relay
  uint64_t stored = 0;                   // reports on the relay's disk
  std::map<std::string, uint64_t> lost;  // permanently, by reason, in words
  uint64_t of_others = 0;                // kept: for another relay, or a curator

  uint64_t TotalLost() const;
};

// Many devices behind one journal and one connection, each with a ticket of its own.
//
// Guarantee  As RelayedDevice: each device agrees to the deal, takes a ticket, is randomized once
//            and sealed, and is in the journal before it is sent. Devices do so a batch at a time,
//            and a batch that could not take all its tickets answers with those that it has.
// Errors     Cancelled if `stop` says so, between batches. Otherwise those of the parts; `counts`
//            has what was counted until then.
class RelayGateway {
 public:
  // `agree` fetches the relay's deal and checks it. All arguments must outlive the gateway.
  RelayGateway(const RelayLink& relay, std::function<StatusOr<Deal>()> agree, Journal& journal,
               const RelayGatewayOptions& options, std::function<bool()> stop);

  // Sends what waits for the relay whose key has this id; for one study, or all if empty.
  Status Resume(const std::string& study, const KeyId& relay, RelayCounts& counts);

  // Answers for the first `rows` rows of `file`. Skips rows that have answered `study`.
  Status AnswerRows(const std::string& study, const Policy& policy, const TableFile& file,
                    size_t rows, const std::function<void(uint64_t)>& progress,
                    RelayCounts& counts);

 private:
  Status AnswerBatch(const Policy& policy, const TableFile& file, absl::Span<const size_t> rows,
                     RelayCounts& counts);
  // Takes one ticket each, or returns an error after filling in those that came before it.
  Status TakeTickets(const Deal& deal, std::vector<std::optional<DealtTicket>>& dealt) const;
  Status Send(absl::Span<const JournalEntry> entries, RelayCounts& counts);
  Status CheckStop() const;

  const RelayLink& relay_;
  const std::function<StatusOr<Deal>()> agree_;
  Journal& journal_;
  const RelayGatewayOptions options_;
  const std::function<bool()> stop_;
};

// ---- Which relay (collect.cc)

struct RelayTarget {
  std::string address;  // empty: none, and the curator itself is asked
  std::string key;      // a pin, or its file
  std::string ca_file, token_file;

  bool is_given() const { return !address.empty(); }
  // The relay as a server. It uses the curator's --cert, --key, --insecure and --timeout.
  ServerFlags AsServer(const ServerFlags& curator) const;
  // Makes one try or, with `patiently`, retries for the timeout. Errors name the relay's flags.
  StatusOr<RelayClient> Connect(const ServerFlags& curator, bool patiently) const;
};

// Adds --relay, --relay-key, --relay-ca and --relay-token-file to the flags of the curator's
// server. Its flag --server, given as `server`, is required only without a relay. Returns --relay.
Flag AddRelayTarget(const Command& verb, RelayTarget& relay, const ServerFlags& curator,
                    Flag server);

// Describes the counts as JSON.
Json DescribeRelayCounts(const RelayCounts& counts);
// Tells the caller what remains to be done if something failed.
Status CloseWith(const Status& status, const RelayCounts& counts, const std::string& journal_file);

// Describes the counts as JSON.
Json DescribeCounts(const GatewayCounts& counts);
// Tells the caller what remains to be done if something failed.
Status CloseWith(const Status& status, const GatewayCounts& counts, const GatewayOptions& options,
                 const std::string& journal_file);
// Adds --batch.
void AddGatewayFlags(const Command& verb, GatewayOptions& options);

// How many of `entries` go into one call: from one study and fingerprint, at most `batch`, and well
// below the four megabytes that a gRPC server accepts by default. At least 1.
size_t CallSize(absl::Span<const JournalEntry> entries, size_t batch);

// ---- Which rows answered already (answered_rows.cc)

struct AnsweringRows {
  std::string study;
  std::optional<PublicKey> curator;  // the key with which trust in it began
  std::string data_file, journal_file;
  bool refuse_again = true;
};

// Notes in the user's state folder ($XDG_STATE_HOME/coppice/simulated) that the rows of a file
// answer a study: a salted hash over the study, its curator and the file's bytes, and which journal
// has the answers. FailedPrecondition, naming that journal, if `refuse_again` is set and they did
// so before; Unavailable if it cannot be noted.
Status NoteAnswering(const AnsweringRows& rows);

// ---- What `collect history` prints of a journal (history.cc)

// One object per study and fingerprint: what was sent, what waits, and the epsilon of one report.
std::vector<Json> DescribeHistory(absl::Span<const JournalEntry> entries);

// One object per answer: its device, its receiver and its content, bytes in hexadecimal.
std::vector<Json> DescribeAnswers(absl::Span<const JournalEntry> entries);

// How many subjects there are, and the largest amount that one of them has spent.
Json DescribeSpending(absl::Span<const JournalEntry> entries);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_COLLECT_H_
