// Planted bugs, each of which the schedules must find.

#ifndef COPPICE_TESTS_FAULTS_RELAY_TWINS_H_
#define COPPICE_TESTS_FAULTS_RELAY_TWINS_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "tests/faults/cast.h"

namespace coppice::relay_faults {

enum class Bug : uint8_t {
  kNone,
  kLyingDisk,         // syncs of the relay's disk do nothing
  kEarlyAnswer,       // the store says OK to a part of a batch and writes it with the next one
  kTornWrite,         // half of a write that was cut off is there
  kForgottenTickets,  // the tickets that a part spends are not written
  kKeptSpool,         // a part that is counted stays in the spool
  kForgottenCounts,   // how many reports are accepted is not written with them
  kLostIsRefused,     // the relay takes a batch as refused once a part or its answer was lost
  kForgetfulGateway,  // a gateway that died has forgotten its answers and answers anew
};
inline constexpr std::string_view kBugNames[] = {
    "none",       "lying_disk",       "early_answer",    "torn_write",       "forgotten_tickets",
    "kept_spool", "forgotten_counts", "lost_is_refused", "forgetful_gateway"};
inline constexpr size_t kNumBugs = std::size(kBugNames) - 1;  // kNone left out

inline std::string_view BugName(Bug bug) { return kBugNames[static_cast<size_t>(bug)]; }
inline std::vector<Bug> AllBugs() { return faults::BugsUpTo<Bug>(kNumBugs); }

}  // namespace coppice::relay_faults

#endif  // COPPICE_TESTS_FAULTS_RELAY_TWINS_H_
