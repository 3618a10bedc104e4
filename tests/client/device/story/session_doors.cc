#include "client/device/grpc/grpc_carrier.h"
#include "client/device/run_session.h"
#include "common/privacy/openssl_random.h"
#include "tests/client/device/served_carrier.h"
#include "tests/client/device/story/door.h"

namespace coppice::testing {
namespace {

class InProcessDoor final : public Door {
 public:
  InProcessDoor(World& world, const DoorOptions& options, std::unique_ptr<Carrier> carrier)
      : world_(world),
        policy_{.max_epsilon = *Budget::FromEpsilon(options.max_epsilon),
                .allowed_in_clear =
                    options.shows_x ? std::vector<std::string>{"x"} : std::vector<std::string>{}},
        store_(*JournalStore::Open(options.journal())),
        carrier_(std::move(carrier)) {}

  Told Visit(const TextRow& row) override { return Run("sample", row); }
  Told Deliver() override { return Run("", {}); }

 private:
  Told Run(const std::string& study, const TextRow& row) {
    OpenSslRandom random;
    DeviceSession session(
        {.policy = policy_,
         .offers = offers_,
         .journal = store_->journal(),
         .random = random,
         .relay = &relay_},
        {.server = world_.address, .route = world_.route, .subjects = {"me"}, .study = study});
    EXPECT_TRUE(RunSession(session, {.journal = *store_, .carrier = *carrier_},
                           [&](size_t, const Terms& terms) { return EncodeText(terms, row); })
                    .ok());
    const SessionOutcome& outcome = session.outcome();
    return {.answered = outcome.answer.ok(),
            .delivered = outcome.deliveries.delivered(),
            .refused = outcome.deliveries.refused.size()};
  }

  World& world_;
  const Policy policy_;
  const OfferPolicy offers_{.curator_key = FakeKey().public_key()};
  KnownRelay relay_{.policy = {.relay_key = RelayKey().public_key(), .max_send_delay_seconds = 0}};
  std::unique_ptr<JournalStore> store_;
  std::unique_ptr<Carrier> carrier_;
};

}  // namespace

DoorKind SessionDoor() {
  return {"Session", [](World& world, const DoorOptions& options) -> std::unique_ptr<Door> {
            return std::make_unique<InProcessDoor>(world, options,
                                                   std::make_unique<ServedCarrier<World>>(world));
          }};
}

DoorKind GrpcDoor() {
  return {"Grpc", [](World& world, const DoorOptions& options) -> std::unique_ptr<Door> {
            const ConnectOptions connect{.server = world.address, .insecure = true};
            const RetryOptions once{.give_up_after = absl::ZeroDuration()};
            GrpcCarrier carrier = world.is_relayed() ? *GrpcCarrier::ToRelay(connect, once)
                                                     : *GrpcCarrier::ToCurator(connect, once);
            return std::make_unique<InProcessDoor>(
                world, options, std::make_unique<GrpcCarrier>(std::move(carrier)));
          }};
}

}  // namespace coppice::testing
