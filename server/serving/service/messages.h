// Converts between the services' messages and the curator's values.
//
// Errors     Readers of messages, which may be hostile, return InvalidArgument that names the
//            field. Writers cannot fail.

#ifndef COPPICE_SERVER_SERVING_SERVICE_MESSAGES_H_
#define COPPICE_SERVER_SERVING_SERVICE_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/page.h"
#include "common/base/status.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/report.pb.h"
#include "coppice/v1/study.pb.h"
#include "server/curator/studies/study_calls.h"
#include "server/store/models/models.h"

namespace coppice::service {

// The complete study.
v1::Study ToProto(const curator::StudyInfo& info);
// A study as lists show it: everything except its terms, its forest and its alarms.
v1::Study SummaryOf(const curator::StudyInfo& info);

v1::GetReportHistoryResponse ToProto(const curator::ReportSteps& steps);

// A model as lists show it: name, source, time and certificate.
v1::Model SummaryOf(const models::ModelSummary& summary);

StatusOr<curator::StudySpec> ParseStudySpec(const v1::CreateStudyRequest& request);
// The study that a preview would create. Ids, split rule, sizes and epsilon may be unset.
StatusOr<curator::StudySpec> PreviewSpec(const v1::CreateStudyRequest& request,
                                         const Budget& epsilon);
StatusOr<curator::EstimatorOptions> EstimatorOf(const v1::BuildModelRequest& request);

// 1 to 1000; 0 means 100.
StatusOr<Page> PageOf(uint32_t page_size, const std::string& page_token);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_SERVICE_MESSAGES_H_
