#include <algorithm>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/faults/relay/world_impl.h"

namespace coppice::relay_faults {
namespace {

constexpr size_t kMaxRemembered = 8;

Status Lost() { return UnavailableError("the connection broke"); }

// One relay process's way to the curator.
class CuratorLink final : public relay::CuratorCalls {
 public:
  CuratorLink(World& world, bool is_twin) : world_(world), is_twin_(is_twin) {}

  StatusOr<v1::GetOfferResponse> GetOffer(const v1::GetOfferRequest& request) override {
    if (IsGone()) return CancelledError("the relay is gone");
    return world_.GetOffer(request);
  }
  StatusOr<v1::DeliverBatchResponse> DeliverBatch(const v1::DeliverBatchRequest& request) override {
    if (IsGone()) return CancelledError("the relay is gone");
    return world_.DeliverBatch(request);
  }
  void Cancel() override { is_cancelled_ = true; }

 private:
  bool IsGone() const { return is_cancelled_ || (!is_twin_ && world_.IsRelayDead()); }

  World& world_;
  const bool is_twin_;
  bool is_cancelled_ = false;
};

}  // namespace

RelayProcess::Parts World::PartsOfRelay(const std::string& data_dir, int64_t ahead, bool is_twin) {
  return {
      .data_dir = data_dir,
      .curator_key = curator_key_,
      .now = [this, ahead,
              is_twin] { return absl::FromUnixSeconds(now_ + (is_twin ? ahead : relay_ahead_)); },
      .draw_epoch = [this]() -> StatusOr<EpochId> {
        EpochId epoch{};
        ++epochs_;
        epoch[0] = static_cast<uint8_t>(epochs_ >> 8);
        epoch[1] = static_cast<uint8_t>(epochs_);
        return epoch;
      },
      .link = [this, is_twin] { return std::make_shared<CuratorLink>(*this, is_twin); },
      .log =
          [this, is_twin](const relay::RelayEvent& event) {
            if (!is_twin && StrContains(event.text, "had fewer than")) ++said_short_;
          }};
}

std::unique_ptr<testing::SimulatedDisk> World::NewDisk() {
  auto disk = std::make_unique<testing::SimulatedDisk>(++disks_);
  if (bug_ == Bug::kLyingDisk) disk->LieAboutSyncs();
  return disk;
}

void World::StartRelay() {
  if (relay_->up()) return;
  const Status started = relay_->Start();
  NoteTime();
  if (started.ok() || relay_->is_dead() || relay_->disk().stopped()) return;
  // Only a full or failing disk excuses a relay that does not start.
  const bool is_excused = IsUnavailable(started) || IsResourceExhausted(started);
  if (!is_excused) Expect(started, "the relay does not start");
}

void World::EndRelayIfDead() {
  if (relay_->EndIfDead()) ++tally_.relay_ends;
}

void World::NoteDeal() {
  const StatusOr<v1::GetRelayTermsResponse> answer = relay_->Terms();
  if (!answer.ok()) return;
  v1::RelayTerms terms;
  if (!terms.ParseFromString(answer->relay_terms())) return book_.Violation("the relay's terms");
  book_.SawDeal(terms);
}

// The keys must be gone: whoever reads the relay's disk later must not learn who was dealt what.
void World::CheckKeys() {
  const std::string folder = StrCat(folder_, "/relay/studies/", kStudy, "/epochs/");
  for (const std::string& epoch : book_.SentDeals()) {
    const std::string key = StrCat(folder, BytesToHexString(epoch), "/deal");
    if (relay_->disk().Exists(key))
      book_.Violation("a batch was sent, and the key of its deal is there");
  }
}

// The dead relay has nothing of the disk open.
void World::PutBack(bool of_files_alone) {
  if (image_ == nullptr) return;
  auto disk = image_->Copy(++disks_, of_files_alone);
  disk->CutPower();
  relay_->ReplaceDisk(std::move(disk));
  book_.ImagePutBack(of_files_alone);
  was_copied_ |= of_files_alone;
  ++tally_.images;
}

// Runs a second relay with the same key beside the first until the deal's batch is sent.
void World::RunTwin() {
  if (image_ == nullptr) return;
  auto disk = image_->Copy(++disks_, /*of_files_alone=*/false);
  disk->CutPower();
  const std::string relay = StrCat(folder_, "/relay");
  const std::string other = StrCat(folder_, "/twin");
  if (!disk->RenameFolder(relay, other).ok()) return;
  book_.ImagePutBack(/*of_files_alone=*/false);
  ++tally_.images;
  const int64_t ahead = absl::ToInt64Seconds(kCollectFor) + 1;
  RelayProcess twin(PartsOfRelay(other, ahead, /*is_twin=*/true), std::move(disk));
  if (twin.Start().ok()) twin.Work();
}

StatusOr<v1::GetOfferResponse> World::GetOffer(const v1::GetOfferRequest& request) {
  const std::optional<bool> lost = std::exchange(lose_offer_, std::nullopt);
  if (!curator_.up() || curator_.is_dead() || lost == false) return Lost();
  NoteTime();
  StatusOr<v1::GetOfferResponse> response = curator_.GetOffer(request);
  if (curator_.is_dead() || lost == true) return Lost();
  return response;
}

StatusOr<v1::DeliverBatchResponse> World::DeliverBatch(const v1::DeliverBatchRequest& request) {
  book_.Delivers(request, /*is_forged=*/false);
  Remember(request);
  bool loses_request = false, loses_answer = false;
  if (lose_part_.has_value() && lose_part_->parts-- == 0) {
    (lose_part_->answer ? loses_answer : loses_request) = true;
    lose_part_.reset();
    ++tally_.lost;
  }
  if (given_up_.contains(request.header())) return FailedPreconditionError("it was lost");
  if (bug_ == Bug::kLostIsRefused && (loses_request || loses_answer)) {
    given_up_.insert(request.header());
  }
  if (loses_request) return Lost();
  if (std::exchange(twice_, false)) AtCurator(request, /*is_forged=*/false).IgnoreError();
  StatusOr<v1::DeliverBatchResponse> response = AtCurator(request, /*is_forged=*/false);
  if (loses_answer) return Lost();
  return response;
}

StatusOr<v1::DeliverBatchResponse> World::AtCurator(const v1::DeliverBatchRequest& request,
                                                    bool is_forged) {
  if (!curator_.up() || curator_.is_dead()) return Lost();
  NoteTime();
  const uint64_t failures = curator_.store().failures();
  StatusOr<v1::DeliverBatchResponse> response = curator_.DeliverBatch(request);
  if (curator_.is_dead()) return Lost();
  if (response.ok()) {
    book_.Acknowledged(request, *response);
  } else {
    book_.Refused(request, response.status(), curator_.store().failures() > failures);
    ++(is_forged ? tally_.forged : tally_.refused);
  }
  return response;
}

void World::Remember(const v1::DeliverBatchRequest& request) {
  if (request.tickets().empty()) return;
  requests_.push_back(request);
  if (requests_.size() > kMaxRemembered) requests_.pop_front();
}

void World::DeliverLate(uint32_t which) {
  if (requests_.empty()) return;
  const v1::DeliverBatchRequest request = requests_[which % requests_.size()];
  AtCurator(request, /*is_forged=*/false).IgnoreError();
  ++tally_.late;
}

}  // namespace coppice::relay_faults
