// Turns one row into one randomized report. No network, no protobuf, no storage.

#ifndef COPPICE_CLIENT_DEVICE_PRIVATIZER_H_
#define COPPICE_CLIENT_DEVICE_PRIVATIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/private_random.h"
#include "common/schema/schema.h"
#include "common/terms/terms.h"

namespace coppice {

// What a device sends: randomized values, and public ones.
struct PrivateReport {
  std::string study;
  Fingerprint fingerprint{};
  Ticket ticket;
  std::string payload = {};
  std::string public_values = {};  // where features are public: see public_values.h

  friend bool operator==(const PrivateReport&, const PrivateReport&) = default;
};

// Turns every row into a report. A value that does not fit counts as missing, and a label that is
// none of the classes becomes one of them, drawn uniformly before the mechanism. A number becomes
// one of the two ends of the terms' range, drawn by where it lies between them; a missing one,
// either end uniformly. A mixture of epsilon-private answers is epsilon-private. The curator
// chooses the classes and the tickets, so declining rows that do not fit would leak the row.
// Schema::Validate() checks one's own rows. Reports are made in the trees that the privatizer was
// given: a device has its ticket's.
//
// Where features are public, the payload is about the leaves that their values allow, and the
// values travel beside it in the clear. Where a study is joined by an id, the payload is about the
// label alone, and the id travels in the clear in place of the features, which are not looked at.
//
// Guarantee  Each Privatize() call is epsilon-LDP for the terms' epsilon. Neighbours are any two
//            rows, also rows that do not fit the schema; where features are public, rows that
//            differ in private features and label (the payload's leaves, and so its mechanism and
//            column, follow from the ticket and the public values); where a study is joined by an
//            id, any two labels of that id.
//            Calls add up, so a row must be randomized once: use DeviceSession, which keeps a journal.
// Errors     Create(): InvalidArgument. BlankFor(), and Privatize() for a ticket:
//            FailedPrecondition if the ticket's tree is not here. Privatize(): InvalidArgument if
//            the study is joined by an id and the row has none that a report can show, which its id
//            alone decides (nothing is drawn then); Unavailable if the random source fails.
// Threads    immutable after Create(); safe to share when each thread has its own PrivateRandom.
class Privatizer {
 public:
  // `fingerprint` must be that of the bytes that `terms` was parsed from, and `trees` what the
  // terms' forest_root stands for: Collector checks both.
  static StatusOr<Privatizer> Create(Terms terms, const Fingerprint& fingerprint,
                                     TreesByIndex trees);

  const Terms& terms() const { return terms_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }

  StatusOr<PrivateReport> Privatize(const LabelledRow& row, const Ticket& ticket,
                                    PrivateRandom& random) const;

  // The same in two steps. BlankFor() refuses what can be refused and allocates, before there is a
  // row. Privatize() then allocates nothing if `row` has a value for each feature; where features
  // are public, it allocates what their values ask for before it looks at the rest.
  struct Blank {
    PrivateReport report;  // says nothing yet
    TicketDraw draw;
  };
  StatusOr<Blank> BlankFor(const Ticket& ticket) const;
  StatusOr<PrivateReport> Privatize(LabelledRow row, Blank blank, PrivateRandom& random) const;

  // An upper bound of the bytes of payload and public values in a report for `ticket`, whatever the
  // row. The ticket's tree must be here.
  uint64_t MaxReportBytes(const Ticket& ticket) const;
  // FailedPrecondition if the tree that `ticket` answers in is not here.
  Status CheckTicket(const Ticket& ticket) const { return CheckTree(DrawOf(ticket)); }

 private:
  Privatizer(Terms terms, const Fingerprint& fingerprint, TreesByIndex trees,
             std::vector<std::unique_ptr<LocalMechanism>> mechanisms);

  Status CheckTree(const TicketDraw& draw) const;
  Status CheckRowId(const LabelledRow& row) const;
  const LocalMechanism& MechanismOf(const TicketDraw& draw) const;
  StatusOr<uint32_t> LabelOf(const LabelledRow& row, PrivateRandom& random) const;
  // Fill the report: with the id and a payload about the label; with public values and a payload
  // about the leaves that they allow; with a payload about all leaves. What they read of the row
  // must fit the schema.
  Status ShowId(const LabelledRow& row, Blank& blank, PrivateRandom& random) const;
  Status ShowValues(const LabelledRow& row, Blank& blank, PrivateRandom& random) const;
  Status ShowNothing(const LabelledRow& row, Blank& blank, PrivateRandom& random) const;

  Terms terms_;
  Fingerprint fingerprint_;
  TreesByIndex trees_;
  // By tree, null for a tree that is not held. Each is about all leaves of its tree, or about the
  // label alone where the study is joined by an id.
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms_;
};

// The part of a device's text that a study asks for, whatever it says: its features and its label, or
// its id and its label where the study is joined by an id.
LabelledRow EncodeText(const Terms& terms, const TextRow& text);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_PRIVATIZER_H_
