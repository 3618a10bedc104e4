// Makes a study's definition from a request: the checks, the partition, the terms.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_STUDY_REQUEST_H_
#define COPPICE_SERVER_CURATOR_STUDIES_STUDY_REQUEST_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "server/curator/study/study.h"
#include "server/curator/study/study_info.h"

namespace coppice::curator {

// InvalidArgument unless the ids are well formed and there is a public row.
Status ValidateRequest(const StudySpec& spec);

// InvalidArgument, naming `field`, unless `count` is 1 to `most`.
Status CheckCount(std::string_view field, uint32_t count, uint32_t most);

// SHA-256 of everything that `spec` asks for, including its id and excluding its request id.
std::string HashRequest(const StudySpec& spec);

// Grows the partition and makes the study's definition as `id`. Calls `cancel` before each cell.
StatusOr<StudyDefinition> MakeStudyDefinition(const StudySpec& spec, const std::string& id,
                                              int64_t created_unix_seconds,
                                              const CancelCheck& cancel = {});

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_STUDY_REQUEST_H_
