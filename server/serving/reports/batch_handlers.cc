#include <string>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "server/curator/spool/batch_receiver.h"
#include "server/process/retry_after.h"
#include "server/serving/reports/report_handlers.h"

namespace coppice::service {

void BatchHandlers::Register(HandlerRegistry& registry) {
  registry.Add(*this, &BatchHandlers::DeliverBatch);
}

Status BatchHandlers::DeliverBatch(const Caller& /*caller*/, const v1::DeliverBatchRequest& request,
                                   v1::DeliverBatchResponse* response) {
  const StatusOr<std::string> study = ParseName(kStudies, request.study());
  if (!study.ok()) return InField("study", study.status());
  const curator::BatchPart part{.header = request.header(),
                                .signature = request.signature(),
                                .first_report = request.first_report(),
                                .tickets = request.tickets(),
                                .encapsulated = request.encapsulated(),
                                .ciphertexts = request.ciphertexts()};
  const StatusOr<curator::BatchProgress> progress = studies_.DeliverBatch(*study, part);
  if (!progress.ok()) return AskToWaitForLoad(progress.status());
  response->set_state(static_cast<v1::BatchState>(progress->state));
  response->set_received(progress->received);
  return OkStatus();
}

}  // namespace coppice::service
