// Ids of the things that callers make (studies, datasets, models, jobs) and of their requests.
//
// Errors  InvalidArgument that names the field. IdOrRandom(): Unavailable if the system's random
//         source fails.

#ifndef COPPICE_SERVER_MODELS_IDS_H_
#define COPPICE_SERVER_MODELS_IDS_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace coppice::models {

inline constexpr size_t kMaxRequestIdBytes = 128;

// Checks a request's id, which keeps a repeated request from making a thing twice.
absl::Status CheckRequestId(absl::string_view request_id);

// Accepts an empty id, too: the curator then makes one.
absl::Status CheckNewId(absl::string_view field, absl::string_view id);

// `id` or, if empty, 12 random characters of a-z 0-9, which nobody guesses or uses twice.
absl::StatusOr<std::string> IdOrRandom(const std::string& id);

}  // namespace coppice::models

#endif  // COPPICE_SERVER_MODELS_IDS_H_
