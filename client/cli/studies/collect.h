// Parts of `coppice collect`: which relay, which rows answered already, and a journal's history.

#ifndef COPPICE_CLIENT_CLI_STUDIES_COLLECT_H_
#define COPPICE_CLIENT_CLI_STUDIES_COLLECT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/cli/studies/gateway.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/output.h"
#include "client/device/grpc/grpc_carrier.h"
#include "client/device/journal.h"
#include "common/base/status.h"
#include "common/command_line/command_line.h"

namespace coppice::cli {

// ---- Which relay (collect.cc)

struct RelayTarget {
  std::string address;  // empty: none, and the curator itself is asked
  std::string key;      // a pin, or its file
  std::string ca_file, token_file;

  bool is_given() const { return !address.empty(); }
  // The relay as a server. It uses the curator's --cert, --key, --insecure and --timeout.
  ServerFlags AsServer(const ServerFlags& curator) const;
  // Makes one try or, with `patiently`, retries for the timeout. Errors name the relay's flags.
  StatusOr<GrpcCarrier> Connect(const ServerFlags& curator, bool patiently) const;
};

// Adds --relay, --relay-key, --relay-ca and --relay-token-file to the flags of the curator's
// server. Its flag --server, given as `server`, is required only without a relay. Returns --relay.
Flag AddRelayTarget(const Command& verb, RelayTarget& relay, const ServerFlags& curator,
                    Flag server);

// Describes the counts as JSON, of a curator or of a relay.
Json DescribeCounts(const GatewayCounts& counts);
Json DescribeRelayCounts(const GatewayCounts& counts);
// Tells the caller what remains to be done if something failed.
Status CloseWith(const Status& status, const GatewayCounts& counts, const GatewayOptions& options,
                 const std::string& journal_file);
Status CloseRelayWith(const Status& status, const GatewayCounts& counts,
                      const std::string& journal_file);
// Adds --batch.
void AddGatewayFlags(const Command& verb, GatewayOptions& options);

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

// How many subjects there are, and the largest amount that one of them has spent; with a total,
// what that one has left.
Json DescribeSpending(absl::Span<const JournalEntry> entries,
                      const std::optional<Budget>& max_total = std::nullopt);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_COLLECT_H_
