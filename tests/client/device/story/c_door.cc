#include <memory>

#include "client/device/c/coppice_device.h"
#include "tests/client/device/story/door.h"

namespace coppice::testing {
namespace {

class DoorInC final : public Door {
 public:
  DoorInC(World& world, const DoorOptions& options) : world_(world) {
    coppice_device_options given;
    coppice_device_options_init(&given);
    const std::string journal = options.journal();
    const PublicKey curator = FakeKey().public_key();
    const PublicKey relay = RelayKey().public_key();
    given.journal_path = journal.c_str();
    given.subject = "me";
    given.curator_key = curator.data();
    given.relay_key = relay.data();
    given.max_send_delay_seconds = 0;
    const char* const x = "x";
    given.shows = &x;
    given.num_shows = options.shows_x ? 1 : 0;
    given.max_epsilon_nanos = Budget::FromEpsilon(options.max_epsilon)->nanos();
    coppice_error error;
    EXPECT_EQ(coppice_device_open(&given, &device_, &error), COPPICE_OK) << error.text;
  }
  ~DoorInC() override { coppice_device_close(device_); }

  Told Visit(const TextRow& row) override { return Run("sample", row); }
  Told Deliver() override { return Run(nullptr, {}); }

 private:
  Told Run(const char* study, const TextRow& row) {
    coppice_visit_options options;
    coppice_visit_options_init(&options);
    (world_.is_relayed() ? options.relay : options.curator) = world_.address.c_str();
    options.study = study;
    options.context = const_cast<TextRow*>(&row);
    options.read_row = [](void* from, const coppice_terms*, coppice_row* to) {
      for (const auto& [column, text] : *static_cast<TextRow*>(from)) {
        coppice_row_set_text(to, column.c_str(), text.data(), text.size());
      }
    };
    coppice_visit* visit = nullptr;
    coppice_error error;
    if (coppice_visit_open(device_, &options, &visit, &error) != COPPICE_OK) return {};
    Carry(visit, world_);
    auto outcome = Sized<coppice_outcome>();
    EXPECT_EQ(coppice_visit_get_outcome(visit, &outcome), COPPICE_OK);
    coppice_visit_close(visit);
    return {.answered = outcome.answer.code == COPPICE_OK,
            .delivered = outcome.delivered + outcome.stored,
            .refused = outcome.refused + outcome.lost};
  }

  World& world_;
  coppice_device* device_ = nullptr;
};

}  // namespace

DoorKind CDoor() {
  return {"C", [](World& world, const DoorOptions& options) -> std::unique_ptr<Door> {
            return std::make_unique<DoorInC>(world, options);
          }};
}

}  // namespace coppice::testing
