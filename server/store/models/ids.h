// Ids of the things that callers make (studies, datasets, models, jobs) and of their requests.
//
// Errors  InvalidArgument that names the field. IdOrRandom(): Unavailable if the system's random
//         source fails; FailedPrecondition with the last refusal if every id it drew was refused.

#ifndef COPPICE_SERVER_STORE_MODELS_IDS_H_
#define COPPICE_SERVER_STORE_MODELS_IDS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice::models {

inline constexpr size_t kMaxRequestIdBytes = 128;

// Checks a request's id, which keeps a repeated request from making a thing twice.
Status CheckRequestId(std::string_view request_id);

// Accepts an empty id, too: the curator then makes one.
Status CheckNewId(std::string_view field, std::string_view id);

// Refuses an id that was drawn, and says why; the message begins with the id's resource. Null
// refuses none.
using DrawnIdCheck = std::function<Status(const std::string& id)>;

// Where seven in eight of all ids are refused, one request in 600,000 fails. Twice as many draws
// would serve only policies that keep nearly every id.
inline constexpr int kMaxDraws = 100;

// `id` or, if empty, 12 random characters of a-z 0-9, which nobody guesses or uses twice: the first
// of at most kMaxDraws that `may_draw` accepts. Nothing else draws the id of a resource.
StatusOr<std::string> IdOrRandom(const std::string& id, const DrawnIdCheck& may_draw = {});

}  // namespace coppice::models

#endif  // COPPICE_SERVER_STORE_MODELS_IDS_H_
