// What must hold of a study whatever happens, given what was sent and answered.
//
// Device d adds 1 to a cell of its own and nothing elsewhere, so a lost report shows as 0 and one
// that is counted twice as 2. After every step, while the curator is up and nothing is in flight,
// this must hold:
//    1  every device's cell holds 0 or 1, all other cells 0
//    2  a device that was ever answered "accepted" or "duplicate" is in the sums, whether or not it
//       heard the answer
//    3  a device is in the sums only if some copy of its report was not refused
//    4  accepted = reports in the sums = sum of the cells = spent tickets, which are the tickets of
//       those devices and all different
//    5  duplicates in the store are at least those that were answered
//    6  a ticket is answered "accepted" at most once
//    7  once sealed, no count and no byte of sums and tickets changes, and the study stays sealed
//    8  of a deleted study there is nothing, and it does not come back; a study that was made is
//       there
//    9  a refusal is one that the study's state allows; an error is one that says "send the same
//       bytes again" (Unavailable, ResourceExhausted)
//   10  the store opens after every crash and power cut, if there is space on the disk
//   11  what the curator answers about counts is what is on disk; a model rests on exactly the
//       accepted reports, and its leaves are those of the sums
//   12  a study is retired only after it was sealed for its retention, by the clock; a sweep after
//       that time finds it done. Then its sums, rows and tickets are gone, its counts are those it
//       was sealed with, it stays retired, and it gives no further model
//   13  the same token has the same ticket of a study, across restarts and restores; without a
//       token that is good for the study there is no ticket. Reports with that ticket, even of
//       another randomization, are counted once, by 1 to 6
//   14  a report that is no device's (another study's, an altered ticket, a token for a ticket,
//       another length) is refused with the reason that says so, and changes nothing
//   15  every offer has a manifest under the curator's current key, about the study's terms, with
//       what its owner asked for; it takes back nothing of an earlier offer, and has the same bytes
//       under the same key
//   16  a device accepts an offer if its pin, or the key that it saw first, leads to the signer by
//       endorsements of a time that has come; and no other offer
//   17  a backup that was acknowledged is there and whole, whatever happens afterwards, and the
//       store that is restored from it has no fault
// At the end everything works again, all devices go on, and each one of an open study is counted. A
// change (make, seal, delete) that was answered with an error may be found done after the next
// start, and not before. Then it stays as it was found.
// A copy or a backup knows what was answered before it was begun. What was answered later is lost
// with the old store, as if it had not been sent: it may be missing, it counts once when it comes
// again, and it does count when everything is sent again.

#ifndef COPPICE_TESTS_FAULTS_INVARIANTS_H_
#define COPPICE_TESTS_FAULTS_INVARIANTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tests/faults/books.h"

namespace coppice::testing {

// What is known from outside about one device's report to one study.
struct Claim {
  size_t cell = 0;
  std::string ticket;      // its id
  uint64_t submitted = 0;  // copies that reached a running curator
  uint64_t refused = 0;    // copies of these that were refused
  bool accepted = false;   // answered "accepted"
  bool promised = false;   // answered "accepted" or "duplicate"
};

// Whether a change that was asked for is known to be done.
enum class Done : uint8_t { kNo, kUnclear, kYes };

struct StudyTruth {
  Done made = Done::kNo;
  Done sealed = Done::kNo;
  Done deleted = Done::kNo;
  int64_t expires = 0;                 // when it seals itself; 0: never
  uint32_t retention_days = 0;         // as in StudySettings
  int64_t latest = 0;                  // the latest time on the clock since it was sealed
  bool retired = false;                // it was seen to be retired
  uint64_t duplicates = 0;             // answers of "duplicate"
  std::optional<Books> sealed_as;      // its books when it was first seen sealed
  std::map<uint32_t, Claim> claims{};  // by device
};

// When a sealed study must be retired; empty if never.
std::optional<int64_t> RetiresAt(const Books& books, const StudyTruth& truth);

// Settles unclear changes by what was found after a start.
void Settle(const Books& books, StudyTruth& truth);

// Returns what is wrong, or an empty string. Notes in `truth` what a sealed study has counted, and
// that it is retired.
std::string FindViolation(const Books& books, StudyTruth& truth);

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_INVARIANTS_H_
