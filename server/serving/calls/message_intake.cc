#include "server/serving/calls/message_intake.h"

#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/process/retry_after.h"

namespace coppice::service {

Status MessageIntake::Run(size_t bytes, const std::string& owner, std::function<void()> work) {
  if (bytes <= calls::ByteLoad::kSmall) {
    work();
    return OkStatus();
  }
  COPPICE_ASSIGN_OR_RETURN(calls::HeldBytes held, Admit(bytes));
  const auto kept = std::make_shared<calls::HeldBytes>(std::move(held));
  return AskToWaitForLoad(lane_.Run([kept, work = std::move(work)] { work(); }, owner));
}

StatusOr<calls::HeldBytes> MessageIntake::Admit(size_t bytes) {
  if (bytes <= calls::ByteLoad::kSmall) return calls::HeldBytes();
  if (bytes > most_) {
    return ResourceExhaustedError(StrCat("the request would take ", bytes >> 20,
                                         " MiB of memory, more than the ", most_ >> 20,
                                         " MiB for all requests: send fewer elements at a time"));
  }
  if (load_.TryHold(bytes)) return calls::HeldBytes(load_, bytes);
  return AskToWaitForLoad(
      ResourceExhaustedError("too many large requests are being read; try again later"));
}

}  // namespace coppice::service
