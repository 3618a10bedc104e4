#include <fstream>

#include <nlohmann/json.hpp>

#include "common/terms/signature.h"
#include "tests/client/cli/run_coppice.h"
#include "tests/client/device/story/door.h"

namespace coppice::testing {
namespace {

// Each visit is a run of the program, of a table with one row.
class DoorOfTerminal final : public Door {
 public:
  DoorOfTerminal(World& world, const DoorOptions& options) : world_(world), options_(options) {}

  Told Visit(const TextRow& row) override {
    const auto cell = [&](const char* column) {
      const auto found = row.find(column);
      return found == row.end() ? std::string() : found->second;
    };
    const std::string table = options_.folder + "/row.csv";
    std::ofstream(table) << "who,x,y\nme," << cell("x") << "," << cell("y") << "\n";
    std::vector<std::string> arguments = {"collect",       "simulate",
                                          "--study",       "sample",
                                          "--data",        table,
                                          "--id-column",   "who",
                                          "--curator-key", ToPin(FakeKey().public_key()),
                                          "--max-epsilon", StrCat(options_.max_epsilon)};
    if (options_.shows_x) arguments.insert(arguments.end(), {"--allow-in-clear", "x"});
    return Run(std::move(arguments));
  }
  Told Deliver() override { return Run({"collect", "resume"}); }

 private:
  Told Run(std::vector<std::string> arguments) {
    if (world_.is_relayed()) {
      arguments.insert(arguments.end(),
                       {"--relay", world_.address, "--relay-key", ToPin(RelayKey().public_key())});
    } else {
      arguments.insert(arguments.end(), {"--server", world_.address});
    }
    arguments.insert(arguments.end(),
                     {"--journal", options_.journal(), "--insecure", "--timeout", "1", "--json"});
    const Outcome outcome = RunCoppice(arguments);
    const auto said = nlohmann::json::parse(outcome.out, nullptr, /*allow_exceptions=*/false);
    if (!said.is_object()) return {};
    const auto count = [&](const char* key) { return said.value(key, uint64_t{0}); };
    uint64_t refused = 0;
    for (const auto& reason :
         said.value(world_.is_relayed() ? "lost" : "refused", nlohmann::json::object())) {
      refused += reason.get<uint64_t>();
    }
    const uint64_t delivered = count("accepted") + count("duplicate") + count("stored");
    return {.answered = delivered + refused + count("answered_before") > 0,
            .delivered = delivered,
            .refused = refused};
  }

  World& world_;
  const DoorOptions options_;
};

}  // namespace

DoorKind TerminalDoor() {
  return {"Terminal", [](World& world, const DoorOptions& options) -> std::unique_ptr<Door> {
            return std::make_unique<DoorOfTerminal>(world, options);
          }};
}

}  // namespace coppice::testing
