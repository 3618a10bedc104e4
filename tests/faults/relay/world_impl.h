// The World of world.h: one object, in files by what happens to it.
//
//   world.cc          the steps of a schedule, and what is looked at after each
//   world_relay.cc    the relay starts, ends and is copied; its calls to the curator
//   world_devices.cc  devices and the crowd answer and send
//   world_curator.cc  the curator starts and ends; models; what a dishonest relay sends
//   world_end.cc      everything works again

#ifndef COPPICE_TESTS_FAULTS_RELAY_WORLD_IMPL_H_
#define COPPICE_TESTS_FAULTS_RELAY_WORLD_IMPL_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "client/device/journal_store.h"
#include "client/device/session.h"
#include "common/base/status.h"
#include "common/encrypt/report_seal.h"
#include "common/ldp/local_mechanism.h"
#include "tests/faults/relay/book.h"
#include "tests/faults/relay/curator_process.h"
#include "tests/faults/relay/relay_process.h"
#include "tests/faults/relay/schedule.h"
#include "tests/faults/relay/world.h"

namespace coppice::relay_faults {

// A device of the crowd; it remembers what it sent.
struct CrowdMember {
  Sealed sealed;
  bool is_done = false;  // it heard an outcome; every outcome is final
};

// What the crowd knows of a deal.
struct CrowdDeal {
  std::string epoch;
  seal::ReportSealer sealer;
  size_t ciphertext_bytes = 0;
  size_t cell = 0;
  std::string payload;
};

class World final : public faults::World<Step> {
 public:
  World(const std::string& folder, Bug bug);

  Tally MakeTally() const;

  // ---- world_relay.cc: what the relay's link calls
  StatusOr<v1::GetOfferResponse> GetOffer(const v1::GetOfferRequest& request);
  StatusOr<v1::DeliverBatchResponse> DeliverBatch(const v1::DeliverBatchRequest& request);
  bool IsRelayDead() const { return relay_->is_dead(); }

  // ---- world_devices.cc: what a device's carrier calls
  StatusOr<v1::GetRelayTermsResponse> DeviceAsksTerms();
  StatusOr<v1::TakeOfferResponse> DeviceTakes(const v1::TakeOfferRequest& request);
  StatusOr<v1::SubmitSealedReportResponse> DeviceSubmits(
      uint32_t device, const v1::SubmitSealedReportRequest& request);

 private:
  // ---- world.cc
  void Begin(absl::Span<const Step> schedule) override;
  void Do(const Step& step) override;
  void DoRelay(const Step& step);
  void DoCurator(const Step& step);
  void EndStep() override;
  void TellBook();
  void Pass(int64_t seconds);
  void NoteTime();
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  void Expect(const Status& status, std::string_view what);

  // ---- world_relay.cc
  RelayProcess::Parts PartsOfRelay(const std::string& data_dir, int64_t ahead, bool is_twin);
  std::unique_ptr<testing::SimulatedDisk> NewDisk();
  void StartRelay();
  void EndRelayIfDead();
  void NoteDeal();
  void CheckKeys();
  void PutBack(bool of_files_alone);
  void RunTwin();
  StatusOr<v1::DeliverBatchResponse> AtCurator(const v1::DeliverBatchRequest& request,
                                               bool is_forged);
  void Remember(const v1::DeliverBatchRequest& request);
  void DeliverLate(uint32_t which);

  // ---- world_devices.cc
  std::string JournalOf(uint32_t gateway) const;
  void OpenGateway(uint32_t gateway);
  void Visit(uint32_t device, SessionPlan plan);
  void Answer(uint32_t device);
  void AnswerTorn(uint32_t device, uint32_t quarters);
  void Deliver(uint32_t device);
  std::optional<CrowdDeal> JoinDeal();
  std::optional<Sealed> TakeTicket(CrowdDeal& deal, bool is_junk);
  Report SealFor(CrowdDeal& deal, const std::string& ticket);
  void CrowdTakes(uint32_t count, bool is_junk);
  void CrowdSends(bool half);
  void CrowdSendsAgain();
  void CrowdSendsOther();
  void SendWithoutClaim();
  std::vector<RelayProcess::Outcome> Submit(const std::vector<Sealed>& reports, bool has_claim);
  void SubmitOfCrowd(const std::vector<CrowdMember*>& members);

  // ---- world_curator.cc
  void StartCurator();
  void EndCuratorIfDead();
  void Rotate();
  void Seal();
  void BuildModel(bool is_final);
  void Forge(uint32_t which);
  void DeliverForged(const Batch& from, v1::BatchHeader header, size_t reports,
                     const SigningKey& key, uint64_t first);

  // ---- world_end.cc
  void Heal();
  void Finish() override;
  void LetRelayFinish();
  void CheckFinished();
  void FinishStudy();

  const std::string folder_;
  const Bug bug_;
  std::mt19937_64 random_{1};
  std::atomic<int64_t> now_{1'800'000'000};
  std::atomic<int64_t> curator_ahead_{0};
  int64_t relay_ahead_ = 0;
  int64_t expires_ = 0;
  Book book_;
  CuratorProcess curator_;
  PublicKey curator_key_{};
  std::shared_ptr<const Terms> terms_;
  std::shared_ptr<const Forest> forest_;
  std::unique_ptr<RelayProcess> relay_;
  std::unique_ptr<testing::SimulatedDisk> image_;
  bool was_copied_ = false;  // a deal's files were; such a deal is set aside
  uint32_t epochs_ = 0;
  uint32_t disks_ = 0;
  uint64_t said_short_ = 0;  // deals that the relay's log called too small

  std::optional<uint64_t> checked_writes_;  // of the curator's process

  std::array<std::unique_ptr<JournalStore>, kGateways> gateways_;
  std::optional<bool> lose_call_;  // true: a device's next answer; false: its request
  std::deque<CrowdMember> crowd_;

  struct LostPart {
    uint32_t parts = 0;  // that come before it
    bool answer = false;
  };
  std::optional<LostPart> lose_part_;
  std::optional<bool> lose_offer_;
  bool twice_ = false;
  std::deque<v1::DeliverBatchRequest> requests_;
  std::set<std::string> given_up_;  // headers, with the bug kLostIsRefused

  Tally tally_;
};

}  // namespace coppice::relay_faults

#endif  // COPPICE_TESTS_FAULTS_RELAY_WORLD_IMPL_H_
