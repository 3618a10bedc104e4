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
  std::string public_values = {};  // what is in the clear; empty in most studies

  friend bool operator==(const PrivateReport&, const PrivateReport&) = default;
};

// Turns every row into a report of the study's form (common/terms/report_form.h), which says what
// is randomized and what is in the clear. A value that does not fit counts as missing, and a label
// that is none of the classes becomes one of them, drawn uniformly. The curator chooses the classes
// and the tickets, so declining rows that do not fit would leak the row. Schema::Validate() checks
// one's own rows. Reports are made in the trees that the privatizer was given: a device has its
// ticket's.
//
// Guarantee  Each Privatize() call is epsilon-LDP for the terms' epsilon, with the neighbours that
//            the form names. Calls add up, so a row must be randomized once: use DeviceSession,
//            which keeps a journal.
// Errors     Create(): InvalidArgument. BlankFor(), and Privatize() for a ticket:
//            FailedPrecondition if the ticket's tree is not here. Privatize(): as
//            ReportForm::Fill().
// Threads    immutable after Create(); safe to share when each thread has its own PrivateRandom.
class Privatizer {
 public:
  // `fingerprint` must be that of the bytes that `terms` was parsed from, and `trees` what the
  // terms' forest_root stands for: OpenOffer() checks both.
  static StatusOr<Privatizer> Create(Terms terms, const Fingerprint& fingerprint,
                                     TreesByIndex trees);

  const Terms& terms() const { return terms_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }
  const TreesByIndex& trees() const { return trees_; }

  StatusOr<PrivateReport> Privatize(const LabelledRow& row, const Ticket& ticket,
                                    PrivateRandom& random) const;

  // The same in two steps. BlankFor() refuses what can be refused and allocates, before there is a
  // row. Privatize() then allocates as ReportForm::Fill().
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
  const LocalMechanism& MechanismOf(const TicketDraw& draw) const;

  Terms terms_;
  Fingerprint fingerprint_;
  TreesByIndex trees_;
  // By tree, for ReportForm::PayloadLeaves() of it; null for a tree that is not held.
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms_;
};

// The part of a device's text that a study asks for, whatever it says: its features and its label,
// or its id and its label where the study is joined by an id.
LabelledRow EncodeText(const Terms& terms, const TextRow& text);

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_PRIVATIZER_H_
