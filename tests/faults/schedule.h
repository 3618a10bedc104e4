// A schedule: what happens to a small world of devices, a network, a curator and its disk, step by
// step. world.h says what each step does.
//
// The same seed makes the same schedule. tests/support/schedule.h says how it is written.

#ifndef COPPICE_TESTS_FAULTS_SCHEDULE_H_
#define COPPICE_TESTS_FAULTS_SCHEDULE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "tests/support/schedule.h"

namespace coppice::testing {

inline constexpr uint32_t kDevices = 36;
inline constexpr uint32_t kGateways = 4;
inline constexpr uint32_t kSlots = 3;

// In the order of the table in schedule.cc.
enum class StepKind : uint8_t {
  kOffer,        // device: fetches an offer and journals its answer
  kSend,         // device: sends its report, answering first if it has not, and hears the outcome
  kSendLost,     // device: the request is lost
  kSendUnheard,  // device: the answer is lost
  kSendLate,     // device: the request stays in the network
  kSendTwice,    // device: the network delivers two copies together
  kBatch,        // gateway: sends all that is undelivered of a slot in one message
  kGroup,        // device, how many: that many devices send while the disk is held
  kArrive,       // which: a request that stayed in the network arrives
  kSlow,         // writes wait; devices give up waiting
  kFlow,         // writes go on
  kKill,         // changes: the process is killed after this many changes of the disk; 0: now
  kCut,          // changes, what becomes of unsynced bytes, seed: a power cut, likewise
  kStart,        // if the curator is down
  kStop,         // cleanly
  kLow,          // the disk is nearly full
  kFull,         // the disk is full
  kSpace,        // it has space again
  kShortWrite,   // writes: the write of the log after this many fails half-way
  kFailedSync,   // writes: the sync of the log after this many fails
  kClock,        // which: the clock steps
  kSeal,         // slot
  kRemake,       // slot: its study is deleted, and another one made
  kModel,        // slot: a model is built
  kGateway,      // gateway: crashes, and opens its journal again
  kSnapshot,     // the folder is copied
  kPutBack,      // the curator stops, the copy takes the folder's place, the curator starts
  kBackup,       // an online backup
  kBackupBusy,   // device, how many, changes: likewise; after this many changes of it that many
                 // devices are answered
  kRestore,      // 0 newest, 1 oldest: the curator stops, and starts on that backup in a new folder
  kResend,       // gateway, slot: sends all that it ever answered once more, delivered or not
  kAnew,         // device: forgets its answer; its token gives it the ticket to answer with again
  kForged,       // device, which: somebody sends a report that is no device's (forgeries.h)
  kBadToken,     // device, which: somebody asks for a ticket without a token that is good for it
  kImpostor,     // device, which: gets an offer that its curator has not signed (forgeries.h)
  kRotate,       // 1: now, 0: at the next start, the curator signs with a new key, endorsed
  kBreak,        // likewise, not endorsed
  kStranger,     // the curator is started with a key that is not its own
  kPin,          // gateway: its owner pins the key that signs now
};
inline constexpr size_t kNumStepKinds = 39;

using Step = ScheduledStep<StepKind, 3>;
using Schedule = std::vector<Step>;

Schedule MakeSchedule(uint64_t seed);

std::string ToText(const Step& step);
std::string ToText(absl::Span<const Step> schedule);
// InvalidArgument names the step.
StatusOr<Schedule> ParseSchedule(std::string_view text);

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_SCHEDULE_H_
