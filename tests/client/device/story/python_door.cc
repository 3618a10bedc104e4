#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <nlohmann/json.hpp>

#include "common/terms/signature.h"
#include "tests/client/device/story/door.h"

namespace coppice::testing {
namespace {

// Each visit is a run of python_door.py, told by a file what to do.
class DoorOfPython final : public Door {
 public:
  DoorOfPython(World& world, const DoorOptions& options) : world_(world), options_(options) {}

  Told Visit(const TextRow& row) override { return Run("sample", row); }
  Told Deliver() override { return Run(nullptr, {}); }

 private:
  Told Run(const nlohmann::json& study, const TextRow& row) {
    const std::string asked = options_.folder + "/asked.json";
    std::ofstream(asked) << nlohmann::json{{"server", world_.address},
                                           {"relayed", world_.is_relayed()},
                                           {"journal", options_.journal()},
                                           {"curator_key", ToPin(FakeKey().public_key())},
                                           {"relay_key", ToPin(RelayKey().public_key())},
                                           {"max_epsilon", options_.max_epsilon},
                                           {"shows_x", options_.shows_x},
                                           {"study", study},
                                           {"row", row}};
    const std::string command = StrCat("python3 ", std::getenv("COPPICE_SOURCE_DIR"),
                                       "/tests/client/device/story/python_door.py ", asked);
    FILE* const program = popen(command.c_str(), "r");
    EXPECT_NE(program, nullptr);
    std::string said(1000, '\0');
    said.resize(std::fread(said.data(), 1, said.size(), program));
    EXPECT_EQ(pclose(program), 0);
    const auto told = nlohmann::json::parse(said, nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(told.is_object()) << said;
    if (!told.is_object()) return {};
    return {.answered = told["answered"].get<bool>(),
            .delivered = told["delivered"].get<uint64_t>(),
            .refused = told["refused"].get<uint64_t>()};
  }

  World& world_;
  const DoorOptions options_;
};

}  // namespace

DoorKind PythonDoor() {
  return {"Python", [](World& world, const DoorOptions& options) -> std::unique_ptr<Door> {
            return std::make_unique<DoorOfPython>(world, options);
          }};
}

}  // namespace coppice::testing
