// Descriptions of serialized messages, for languages that have messages of their own.

#include "common/base/text.h"
#include "common/describe/describe.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/study.pb.h"
#include "coppice/v1/training.pb.h"

namespace coppice {
namespace {

template <typename Message, Description (*describe)(const Message&)>
StatusOr<Description> DescribeAs(std::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgumentError("the bytes are no message of this kind");
  }
  return describe(message);
}

Description WithoutRelay(const v1::Outlook& outlook) { return DescribeOutlook(outlook, false); }
Description WithRelay(const v1::Outlook& outlook) { return DescribeOutlook(outlook, true); }

struct Kind {
  std::string_view name;
  StatusOr<Description> (*describe)(std::string_view bytes);
};

constexpr Kind kKinds[] = {
    {"algorithm", &DescribeAs<v1::Algorithm, DescribeAlgorithm>},
    {"cost", &DescribeAs<v1::Cost, DescribeCost>},
    {"dataset", &DescribeAs<v1::Dataset, DescribeDatasetWithLedger>},
    {"dataset_briefly", &DescribeAs<v1::Dataset, DescribeDatasetBriefly>},
    {"endpoint", &DescribeAs<v1::Endpoint, DescribeEndpoint>},
    {"evaluation", &DescribeAs<v1::Evaluation, DescribeEvaluation>},
    {"evaluation_preview", &DescribeAs<v1::PreviewEvaluationResponse, DescribeEvaluationPreview>},
    {"job", &DescribeAs<v1::Job, DescribeJob>},
    {"job_briefly", &DescribeAs<v1::Job, DescribeJobBriefly>},
    {"job_preview", &DescribeAs<v1::PreviewJobResponse, DescribePreview>},
    {"model", &DescribeAs<v1::Model, DescribeModel>},
    {"model_briefly", &DescribeAs<v1::Model, DescribeModelBriefly>},
    {"outlook", &DescribeAs<v1::Outlook, WithoutRelay>},
    {"outlook_with_relay", &DescribeAs<v1::Outlook, WithRelay>},
    {"release", &DescribeAs<v1::Release, DescribeRelease>},
    {"study", &DescribeAs<v1::Study, DescribeStudyWithAlarms>},
    {"study_briefly", &DescribeAs<v1::Study, DescribeStudyBriefly>},
};

}  // namespace

StatusOr<Description> DescribeBytes(std::string_view kind, std::string_view message) {
  for (const Kind& known : kKinds) {
    if (known.name == kind) return known.describe(message);
  }
  return InvalidArgumentError(StrCat("there are no descriptions of \"", kind, "\""));
}

}  // namespace coppice
