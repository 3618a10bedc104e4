// What a study is expected to come to, for a caller who has not made it yet.

#ifndef COPPICE_SERVER_SERVICE_PREVIEW_H_
#define COPPICE_SERVER_SERVICE_PREVIEW_H_

#include <cstddef>

#include "absl/status/status.h"
#include "common/base/cancel_check.h"
#include "coppice/v1/study.pb.h"

namespace coppice::service {

// InvalidArgument names the field; and what `cancel` says, which is asked all the time. Takes up to
// half a minute: more public rows than kMaxPreviewRows, or with more values than kMaxPreviewValues,
// are drawn from at random by the request's seed, and the response says how many.
inline constexpr size_t kMaxPreviewRows = 20'000;
inline constexpr size_t kMaxPreviewValues = 2'000'000;
absl::Status PreviewStudyFor(const v1::PreviewStudyRequest& request,
                             v1::PreviewStudyResponse& response, const CancelCheck& cancel);

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVICE_PREVIEW_H_
