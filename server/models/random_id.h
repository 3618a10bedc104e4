// Ids for studies, models, datasets and jobs whose maker does not name them.

#ifndef COPPICE_SERVER_MODELS_RANDOM_ID_H_
#define COPPICE_SERVER_MODELS_RANDOM_ID_H_

#include <string>

#include "absl/status/statusor.h"

namespace coppice {

// 12 random characters of a-z 0-9: an id that nobody guesses or uses twice. Unavailable if the
// system's random source fails.
absl::StatusOr<std::string> MakeRandomId();

}  // namespace coppice

#endif  // COPPICE_SERVER_MODELS_RANDOM_ID_H_
