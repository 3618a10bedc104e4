// One way into the device: the session in C++, the C interface, gRPC, the terminal, Python.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_STORY_DOOR_H_
#define COPPICE_TESTS_CLIENT_DEVICE_STORY_DOOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "common/schema/schema.h"
#include "tests/client/device/story/world.h"

namespace coppice::testing {

struct DoorOptions {
  std::string folder;  // of the journal, and of what else the door needs
  double max_epsilon = 4;
  bool shows_x = false;  // whether the feature may be sent in the clear

  std::string journal() const { return folder + "/journal"; }
};

// What a door says of a visit.
struct Told {
  bool answered = false;  // the study has an answer, from now or before
  uint64_t delivered = 0;
  uint64_t refused = 0;  // for good
};

// A device behind a door, which is closed when this ends, as a process that is killed.
class Door {
 public:
  virtual ~Door() = default;
  // Answers "sample" by the row, and delivers what waits.
  virtual Told Visit(const TextRow& row) = 0;
  // Delivers what waits.
  virtual Told Deliver() = 0;
};

struct DoorKind {
  std::string name;
  std::function<std::unique_ptr<Door>(World& world, const DoorOptions& options)> open;
};
inline void PrintTo(const DoorKind& kind, std::ostream* out) { *out << kind.name; }

DoorKind SessionDoor();  // carried in this process
DoorKind GrpcDoor();     // carried over gRPC
DoorKind CDoor();
DoorKind TerminalDoor();  // `coppice collect simulate` and `resume`
DoorKind PythonDoor();    // with COPPICE_STORY_PYTHON in the environment: it needs the package

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_STORY_DOOR_H_
