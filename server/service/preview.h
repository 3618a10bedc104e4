// What a study is expected to come to, for a caller who has not made it yet.

#ifndef COPPICE_SERVER_SERVICE_PREVIEW_H_
#define COPPICE_SERVER_SERVICE_PREVIEW_H_

#include "absl/status/status.h"
#include "coppice/v1/study.pb.h"

namespace coppice {

// InvalidArgument names the field. Takes up to some seconds.
absl::Status PreviewStudyFor(const v1::PreviewStudyRequest& request,
                             v1::PreviewStudyResponse& response);

}  // namespace coppice

#endif  // COPPICE_SERVER_SERVICE_PREVIEW_H_
