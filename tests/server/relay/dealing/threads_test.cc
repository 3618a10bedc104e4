// Many devices at once while a relay works by itself, mainly for the thread sanitizer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "tests/server/relay/dealing/relay_fixture.h"
#include "tests/support/eventually.h"

namespace coppice::relay::testing {
namespace {

class ThreadsTest : public RelayTest {
 protected:
  // Takes offers and answers them until none is left.
  void ActAsDevices() {
    const auto admit = [](const EpochId&) { return OkStatus(); };
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
  ASSERT_TRUE(coppice::testing::Eventually([&] { return relay_->Ready().ok(); }));
  std::vector<std::thread> devices;
  for (int i = 0; i < 4; ++i) devices.emplace_back([this] { ActAsDevices(); });
  EXPECT_TRUE(coppice::testing::Eventually([&] {
    EXPECT_LE(Totals().dealt, 200u);
    return sent_ >= 200;
  }));
  for (std::thread& device : devices) device.join();
  EXPECT_TRUE(coppice::testing::Eventually([&] { return Totals().delivered > 0; }));
  relay_->Drain();
  EXPECT_EQ(sent_, 200);
  EXPECT_EQ(OnlyBatch().size(), 200u);
  EXPECT_EQ(std::adjacent_find(OnlyBatch().begin(), OnlyBatch().end()), OnlyBatch().end());
}

// A curator that answers nothing until its calls are cancelled.
class SilentCurator final : public CuratorCalls {
 public:
  StatusOr<v1::GetOfferResponse> GetOffer(const v1::GetOfferRequest&) override {
    return AwaitCancel();
  }
  StatusOr<v1::DeliverBatchResponse> DeliverBatch(const v1::DeliverBatchRequest&) override {
    return AwaitCancel();
  }
  void Cancel() override {
    on_cancel_();
    MutexLock lock(mutex_);
    cancelled_ = true;
    changed_.NotifyAll();
  }
  // Before any call starts to be cancelled.
  void OnCancel(std::function<void()> call) { on_cancel_ = std::move(call); }
  void AwaitCalls(int calls) {
    MutexLock lock(mutex_);
    while (calls_ < calls) changed_.Wait(mutex_);
  }

 private:
  Status AwaitCancel() {
    MutexLock lock(mutex_);
    ++calls_;
    changed_.NotifyAll();
    while (!cancelled_) changed_.Wait(mutex_);
    return CancelledError("the relay is stopping");
  }

  Mutex mutex_;
  CondVar changed_;
  std::function<void()> on_cancel_;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

TEST_F(ThreadsTest, StoppingIsNoReasonToWarn) {
  options_.studies = {"wells", "springs"};
  std::mutex mutex;
  std::vector<std::string> said;
  seams_ = {};
  seams_.log = [&](const RelayEvent& event) {
    const std::lock_guard lock(mutex);
    said.push_back(event.text);
  };
  const auto curator = std::make_shared<SilentCurator>();
  ASSERT_OK_AND_ASSIGN(relay_, Relay::Open(options_, key_, curator, seams_));
  curator->AwaitCalls(2);
  curator->OnCancel([this] {
    for (const std::string& study : options_.studies) {
      EXPECT_THAT(
          relay_->TakeOffer(study, "", [](const auto&) { return OkStatus(); }).status().message(),
          ::testing::HasSubstr("the relay is stopping"))
          << "else " << study << " would think that its curator is gone";
    }
  });
  relay_->Drain();
  EXPECT_THAT(said, ::testing::IsEmpty());
}

}  // namespace
}  // namespace coppice::relay::testing
