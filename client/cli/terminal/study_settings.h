// Command-line flags for a study's settings, and their text in `coppice study show`.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_STUDY_SETTINGS_H_
#define COPPICE_CLIENT_CLI_TERMINAL_STUDY_SETTINGS_H_

#include "client/cli/terminal/output.h"
#include "common/command_line/command_line.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {

// Adds one flag per setting. `settings` must outlive the parsing.
void AddSettingsFlags(const Command& command, v1::StudySettings& settings);

// Adds the settings to `json`; unset ones are left out, except the minimum of reports.
void DescribeSettings(const v1::StudySettings& settings, Json& json);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_STUDY_SETTINGS_H_
