// A schedule: what happens to a relay, its devices, its curator and the links between them, step by
// step. world.h says what each step does.
//
// The same seed makes the same schedule: one to three deals, each with a crowd that fills its batch
// or is too small for one, and faults at random places of it. tests/support/schedule.h says how a
// schedule is written: "crowd_take 2, relay_kill 3 0, crowd_send 0".

#ifndef COPPICE_TESTS_FAULTS_RELAY_SCHEDULE_H_
#define COPPICE_TESTS_FAULTS_RELAY_SCHEDULE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "tests/support/schedule.h"

namespace coppice::relay_faults {

inline constexpr uint32_t kDevices = 24;
inline constexpr uint32_t kGateways = 4;

// In the order of the table in schedule.cc.
enum class StepKind : uint8_t {
  kExpiry,        // the study is made to expire; only as the first step
  kWork,          // the relay does all that is due
  kStep,          // the relay does one thing that is due
  kCrowdTake,     // how many: devices of the crowd take tickets, and answer
  kCrowdSend,     // 0: all of the crowd that did not hear STORED send; 1: half of them
  kCrowdAgain,    // some that did send once more
  kCrowdOther,    // some send other bytes for tickets that have a report
  kCrowdJunk,     // dishonest devices take tickets, and send what does not open
  kNoClaim,       // somebody sends to tickets of others
  kAnswer,        // device
  kAnswerAll,     // gateway: all its devices answer,
  kDeliverAll,    // gateway: all its devices send
  kTornAnswer,    // device, quarters: it dies when this many quarters of its answer are written
  kDeliver,       // device
  kGateway,       // gateway: dies and opens its journal again
  kLoseCall,      // 0: the next request of a device is lost, 1: the answer
  kRelayKill,     // a, b: the relay is killed after ChangesOf(a, b) changes of its disk
  kRelayCut,      // a, b: a power cut, likewise
  kRelayFails,    // a, b: the disk fails, likewise, and the relay lives
  kRelaySync,     // the relay's next sync fails
  kRelayFull,     // its disk is full
  kRelaySpace,    // its disk works again
  kRelayStart,    // if it is down
  kRelayStop,     // cleanly
  kRelayClock,    // which: its clock jumps
  kSnapshot,      // an image of the relay's disk is taken
  kPutBack,       // 0: the image takes the disk's place, 1: copies of its files do
  kTwin,          // a second relay runs on the image, to the end of its deal
  kCuratorKill,   // writes, kept: the curator is killed at a write of its store
  kCuratorFails,  // writes, kept: a write fails, and the curator lives
  kCuratorFull,   // its disk is full
  kCuratorSpace,  // its disk works again
  kOpenSlow,      // records: its threads open this many more, then none
  kOpenOn,        // they open all again
  kCuratorStart,  // if it is down
  kCuratorStop,   // cleanly
  kCuratorClock,  // which: its clock jumps
  kRotate,        // the sealing key
  kSeal,          // the study
  kSweep,         // the curator does what is due
  kModel,         // a model is built
  kLosePart,      // which, half: of the next parts of batches, a request or an answer is lost
  kLoseOffer,     // half: of the next call for tickets
  kTwice,         // the next part is delivered twice
  kLate,          // which: a part that was sent before comes once more
  kPass,          // how long: time passes
  kEnd,           // time passes until the deal is over
  kForged,        // which: a batch that no honest relay sends
};
inline constexpr size_t kNumStepKinds = 48;

using Step = testing::ScheduledStep<StepKind, 2>;
using Schedule = std::vector<Step>;

Schedule MakeSchedule(uint64_t seed);

// Mostly few, so that each is met; and at times up to the middle of a crowd's reports.
inline uint64_t ChangesOf(uint32_t a, uint32_t b) { return b == 3 ? 40 * a : b == 2 ? 5 * a : a; }

std::string ToText(const Step& step);
std::string ToText(absl::Span<const Step> schedule);
// InvalidArgument names the step.
StatusOr<Schedule> ParseSchedule(std::string_view text);

}  // namespace coppice::relay_faults

#endif  // COPPICE_TESTS_FAULTS_RELAY_SCHEDULE_H_
