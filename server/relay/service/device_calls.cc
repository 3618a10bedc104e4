#include "server/relay/service/device_calls.h"

#include <utility>

#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "server/process/retry_after.h"

namespace coppice::relay {
namespace {

constexpr absl::Duration kWaitUnderLoad = absl::Seconds(2);

// Field 1, length-delimited, of this many bytes.
std::string HeadOfEnvelope(size_t size) {
  std::string head(1, '\x0a');
  for (; size >= 0x80; size >>= 7) head.push_back(static_cast<char>((size & 0x7f) | 0x80));
  head.push_back(static_cast<char>(size));
  return head;
}

}  // namespace

bool DeviceCalls::IsUnderLoad() const {
  return pending_reports_.load(std::memory_order_relaxed) >= limits_.pending_reports / 2 ||
         offers_.bytes() >= limits_.offer_bytes;
}

Status DeviceCalls::RefuseForLoad() {
  refused_by_load_.fetch_add(1, std::memory_order_relaxed);
  return service::AskToWait(
      ResourceExhaustedError("the relay has too much to do just now; come again a little later"),
      kWaitUnderLoad);
}

StatusOr<DealtOffer> DeviceCalls::TakeOffer(const v1::TakeOfferRequest& request,
                                            absl::FunctionRef<ShownCredentials()> shown) {
  if (IsUnderLoad()) return RefuseForLoad();
  COPPICE_ASSIGN_OR_RETURN(
      std::string envelope,
      relay_.TakeOffer(request.study(), request.epoch(), [&](const EpochId& epoch) {
        Status admitted = admission_.Admit(request.study(), epoch, shown());
        if (!admitted.ok()) refused_by_admission_.fetch_add(1, std::memory_order_relaxed);
        return admitted;
      }));
  const size_t size = envelope.size();
  offers_.Hold(size);
  return DealtOffer{HeadOfEnvelope(size), std::move(envelope), calls::HeldBytes(offers_, size)};
}

void DeviceCalls::Submit(v1::SubmitSealedReportRequest& request,
                         std::function<void(const StatusOr<SubmitOutcome>&)> done) {
  if (pending_reports_.fetch_add(1, std::memory_order_relaxed) >= limits_.pending_reports) {
    pending_reports_.fetch_sub(1, std::memory_order_relaxed);
    return done(RefuseForLoad());
  }
  relay_.Submit(request.epoch(),
                {.ticket = std::move(*request.mutable_ticket()),
                 .claim = std::move(*request.mutable_claim()),
                 .encapsulated = std::move(*request.mutable_encapsulated()),
                 .ciphertext = std::move(*request.mutable_ciphertext())},
                [this, done = std::move(done)](StatusOr<SubmitOutcome> outcome) {
                  pending_reports_.fetch_sub(1, std::memory_order_relaxed);
                  if (!IsResourceExhausted(outcome.status())) return done(outcome);
                  done(service::AskToWait(outcome.status(), kWaitUnderLoad));
                });
}

ServiceTotals DeviceCalls::totals() const {
  return {.refused_by_admission = refused_by_admission_.load(std::memory_order_relaxed),
          .refused_by_load = refused_by_load_.load(std::memory_order_relaxed)};
}

}  // namespace coppice::relay
