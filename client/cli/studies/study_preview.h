// `coppice study preview`: what accuracy to expect of a study, before anyone is asked for a report.

#ifndef COPPICE_CLIENT_CLI_STUDIES_STUDY_PREVIEW_H_
#define COPPICE_CLIENT_CLI_STUDIES_STUDY_PREVIEW_H_

#include "client/cli/terminal/flags.h"

namespace coppice::cli {

// Adds the verb to `noun`.
void AddStudyPreview(CLI::App& noun, Action& action);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_STUDY_PREVIEW_H_
