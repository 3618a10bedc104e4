// What must hold of a study whatever happens, given what was sent and answered.
//
// Measured   device d adds 1 to a cell of its own and nothing elsewhere, so a report that is lost
//            shows as 0 and one that is counted twice as 2.
// Held       after every step, on what the store says, while the curator is up and nothing is under
//            way:
//            1  every device's cell holds 0 or 1, all other cells 0
//            2  a device that was ever answered "accepted" or "duplicate" is in the sums, whether
//               or not it heard the answer
//            3  a device is in the sums only if some copy of its report was not refused
//            4  accepted = reports in the sums = sum of the cells = spent tickets, which are the
//               tickets of those devices and all different
//            5  duplicates in the store are at least those that were answered
//            6  a ticket is answered "accepted" at most once
//            7  once sealed, no byte of counts, sums and tickets changes, and it stays sealed
//            8  of a deleted study there is nothing, and it does not come back; a study that was
//               made is there
//            9  a refusal is one that the study's state allows; an error is one that says "send the
//               same bytes again" (Unavailable, ResourceExhausted)
//           10  the store opens after every crash and power cut, with space on the disk
//           11  what the curator answers about counts is what is on disk; a model rests on exactly
//               the accepted reports, and its leaves are those of the sums
// At the end everything works again, all devices go on, and each one of an open study is counted.
// Unclear    a change (make, seal, delete) that was answered with an error may be found done after
//            the next start, and not before. Then it stays as it was found.
// Restored   a copy knows what was answered before it was made. What was answered after that is as
//            if it had not been sent: it may be missing, and is counted at most once when it comes
//            again.

#ifndef COPPICE_TESTS_FAULTS_INVARIANTS_H_
#define COPPICE_TESTS_FAULTS_INVARIANTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tests/faults/books.h"

namespace coppice::testing {

// What is known from outside of one device's report to one study.
struct Claim {
  size_t cell = 0;
  std::string ticket;      // its id
  uint64_t submitted = 0;  // copies that reached a curator that ran
  uint64_t refused = 0;    // of those
  bool accepted = false;   // answered "accepted"
  bool promised = false;   // answered "accepted" or "duplicate"
};

// A thing that was asked for.
enum class Done : uint8_t { kNo, kUnclear, kYes };

struct StudyTruth {
  Done made = Done::kNo;
  Done sealed = Done::kNo;
  Done deleted = Done::kNo;
  int64_t expires = 0;                 // when it seals itself; 0: never
  uint64_t duplicates = 0;             // answered
  std::optional<std::string> counted;  // Books::counted when it was first seen sealed
  std::map<uint32_t, Claim> claims;    // by device
};

// Settles what was unclear by what was found after a start.
void Settle(const Books& books, StudyTruth& truth);

// Empty, or what is wrong. Notes in `truth` what a sealed study has counted.
std::string FindViolation(const Books& books, StudyTruth& truth);

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_INVARIANTS_H_
