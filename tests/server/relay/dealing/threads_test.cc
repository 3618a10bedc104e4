// Many devices at once, while a relay works by itself: for the thread sanitizer above all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/server/relay/dealing/relay_fixture.h"

namespace coppice::relay::testing {
namespace {

class ThreadsTest : public RelayTest {
 protected:
  // Takes offers and answers them until none is left.
  void ActAsDevices() {
    const auto admit = [](const EpochId&) { return absl::OkStatus(); };
    const std::string epoch = OpenEpoch();
    while (true) {
      const auto envelope = relay_->TakeOffer("studies/wells", epoch, admit);
      if (!envelope.ok()) return;
      const SealedReport report = ReportFor(OpenEnvelope(*envelope));
      EXPECT_EQ(Submit(epoch, report), SubmitOutcome::kStored);
      if (++sent_ % 16 == 0) {
        EXPECT_EQ(Submit(epoch, report), SubmitOutcome::kStored);
      }
    }
  }

  std::atomic<int> sent_ = 0;
};

TEST_F(ThreadsTest, EveryTicketIsDealtOnceAndEveryReportArrives) {
  options_.tickets = 200;
  Manifest manifest = RelayedManifest(RelayedTerms());
  manifest.expires_unix_seconds = 0;
  curator_.offers.manifest = SignManifest(KeyOf(1), manifest);
  curator_.offers.tamper = [&](v1::GetOfferResponse&) {
    if (curator_.offers.next_ticket == 200) {
      curator_.offers.failure = {grpc::StatusCode::UNAVAILABLE, "one pool is enough"};
    }
  };
  seams_ = {};
  Open();
  for (int i = 0; i < 3000 && !relay_->Ready().ok(); ++i) absl::SleepFor(absl::Milliseconds(10));
  ASSERT_OK(relay_->Ready());
  std::vector<std::thread> devices;
  for (int i = 0; i < 4; ++i) devices.emplace_back([this] { ActAsDevices(); });
  for (int i = 0; i < 6000 && sent_ < 200; ++i) {
    EXPECT_LE(Totals().dealt, 200u);
    absl::SleepFor(absl::Milliseconds(5));
  }
  for (std::thread& device : devices) device.join();
  for (int i = 0; i < 3000 && Totals().delivered == 0; ++i) absl::SleepFor(absl::Milliseconds(10));
  relay_->Drain();
  EXPECT_EQ(sent_, 200);
  EXPECT_EQ(OnlyBatch().size(), 200u);
  EXPECT_EQ(std::adjacent_find(OnlyBatch().begin(), OnlyBatch().end()), OnlyBatch().end());
}

}  // namespace
}  // namespace coppice::relay::testing
