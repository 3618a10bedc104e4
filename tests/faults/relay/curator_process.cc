#include "tests/faults/relay/curator_process.h"

#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/terms/sha256.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"

namespace coppice::relay_faults {
namespace {

template <typename Bytes>
std::string StringOf(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Status CuratorProcess::Start() {
  Kill();
  store_ = std::make_unique<FaultyStore>(disk_, bug_);
  models_.emplace();
  COPPICE_ASSIGN_OR_RETURN(studies_, curator::Studies::Open(*store_, *models_, clock_, {},
                                                            {.answer_beside_commits = false}));
  return models_->Load(*store_);
}

void CuratorProcess::End() {
  studies_.reset();
  models_.reset();
  if (store_ != nullptr) store_->Close();
  store_.reset();
}

void CuratorProcess::Kill() {
  if (store_ != nullptr) store_->Die();
  End();
}

void CuratorProcess::Stop() {
  if (!up()) return;
  store_->LetAllRead();
  studies_->Drain();
  End();
}

Status CuratorProcess::AwaitIdle(std::string_view study) {
  const auto is_stored = [](const curator::BatchInfo& batch) {
    return batch.state == curator::BatchState::kStored;
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  while (up()) {
    if (!store_->AwaitIdle()) return DeadlineExceededError("a batch is never counted");
    if (store_->dead() || store_->full()) return OkStatus();
    // Also waits until what was just committed is in memory.
    const Status agrees = studies_->Reconcile();
    if (IsInternal(agrees)) return agrees;
    if (store_->HasStored()) return OkStatus();  // a fault holds them
    const auto info = studies_->Get(study);
    if (!info.ok() || absl::c_none_of(info->relay->batches.newest, is_stored)) break;
    if (std::chrono::steady_clock::now() > until) {
      return DeadlineExceededError("a batch is counted, and the curator does not know");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return OkStatus();
}

StatusOr<v1::GetOfferResponse> CuratorProcess::GetOffer(const v1::GetOfferRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(const std::string study, ParseName(kStudies, request.name()));
  COPPICE_ASSIGN_OR_RETURN(const curator::Studies::Offer offer,
                           studies_->MakeOffer(study, request.tickets()));
  v1::GetOfferResponse response;
  response.set_fingerprint(StringOf(offer.fingerprint));
  for (const Ticket& ticket : offer.tickets) response.add_tickets(ticket.ToBytes());
  if (request.known_manifest() != StringOf(Sha256({offer.manifest->bytes}))) {
    *response.mutable_manifest() = ToProto(*offer.manifest);
  }
  if (request.known_fingerprint() != response.fingerprint()) {
    response.set_terms(*offer.terms_bytes);
    for (const std::string& tree : offer.forest->trees) response.add_forest(tree);
  }
  return response;
}

StatusOr<v1::DeliverBatchResponse> CuratorProcess::DeliverBatch(
    const v1::DeliverBatchRequest& request) {
  COPPICE_ASSIGN_OR_RETURN(const std::string study, ParseName(kStudies, request.study()));
  COPPICE_ASSIGN_OR_RETURN(const curator::BatchProgress progress,
                           studies_->DeliverBatch(study, {.header = request.header(),
                                                          .signature = request.signature(),
                                                          .first_report = request.first_report(),
                                                          .tickets = request.tickets(),
                                                          .encapsulated = request.encapsulated(),
                                                          .ciphertexts = request.ciphertexts()}));
  v1::DeliverBatchResponse response;
  response.set_state(static_cast<v1::BatchState>(progress.state));
  response.set_received(progress.received);
  return response;
}

}  // namespace coppice::relay_faults
