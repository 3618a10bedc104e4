// A gateway: many devices behind one journal and one connection.

#ifndef COPPICE_CLIENT_CLI_STUDIES_GATEWAY_H_
#define COPPICE_CLIENT_CLI_STUDIES_GATEWAY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/device/run_session.h"
#include "client/device/session.h"
#include "common/base/status.h"
#include "common/table/read_table.h"

namespace coppice::cli {

struct GatewayOptions {
  size_t batch = 1000;       // most devices that answer together, 1 to 1000
  bool end_unknown = false;  // stop delivering to studies that the curator does not know
};

// What the sessions of a gateway came to, together.
struct GatewayCounts {
  uint64_t answered_before = 0;  // rows with an answer in the journal
  uint64_t dealt = 0;            // tickets from a relay
  uint64_t accepted = 0;         // by a relay: stored
  uint64_t duplicate = 0;
  std::map<std::string, uint64_t> refused;  // for good, by reason, in words
  uint64_t unknown_study = 0;               // kept: the curator does not know the study
  uint64_t of_other_curators = 0;           // kept, and not sent
  uint64_t of_relays = 0;                   // kept: only their relay gets them
  uint64_t payload_bytes = 0;               // of all sent reports

  void Add(const SessionOutcome& outcome);
  uint64_t TotalRefused() const;
  // Mean per report; 0 if none was sent.
  double MeanPayloadBytes() const;
};

// What all sessions of a gateway share. All must outlive it.
struct GatewayParts {
  SessionParts device;
  JournalStore& journal;
  Carrier& carrier;
  std::string server;
  DeliveryRoute route = DeliveryRoute::kDirect;
  std::function<bool()> stop = [] { return false; };  // asked before each call
};

// Fetches a study's terms, and checks them by the policy, before anything of a row is read. Without
// a relay, the study's trees come with them. `submission_token` is empty where the study asks for
// none.
StatusOr<std::unique_ptr<DeviceSession>> FetchTerms(const GatewayParts& parts,
                                                    const std::string& study,
                                                    const std::string& submission_token);

// Sends what waits in the journal for this curator or relay: for one study, or for all if `study`
// is empty. Errors: as AnswerRows().
Status Resume(const GatewayParts& parts, const GatewayOptions& options, const std::string& study,
              GatewayCounts& counts);

struct AnsweringFile {
  std::string study;
  std::shared_ptr<const Privatizer> known;  // what FetchTerms() found; null through a relay
  const TableFile& file;
  size_t rows;                                        // how many of the first ones answer
  const std::vector<std::string>& submission_tokens;  // row n shows token n; empty: none
};

// Answers for the rows, each its device's (SubjectOf()), a batch at a time, and sends the answers.
// Skips rows that have answered. `progress` gets the number of rows done.
// Errors     those of the sessions; Cancelled if `stop` says so. `counts` has what was counted
// until
//            then.
Status AnswerRows(const GatewayParts& parts, const GatewayOptions& options,
                  const AnsweringFile& answering, const std::function<void(uint64_t)>& progress,
                  GatewayCounts& counts);

// The device of a table's row, which file.ids names, or else the row's number, from 1; and its
// data.
std::string SubjectOf(const TableFile& file, size_t row);
LabelledRow RowOf(const TableFile& file, size_t row);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_GATEWAY_H_
