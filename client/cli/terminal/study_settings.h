// A study's settings on the command line: each with its flag and with what `coppice study show`
// says.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_STUDY_SETTINGS_H_
#define COPPICE_CLIENT_CLI_TERMINAL_STUDY_SETTINGS_H_

#include "client/cli/terminal/output.h"
#include "common/command_line/command_line.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {

// One flag per setting. `settings` must outlive the parsing.
void AddSettingsFlags(const Command& command, v1::StudySettings& settings);

// Adds the settings to `json`; one that asks for nothing is left out, except the minimum of
// reports.
void DescribeSettings(const v1::StudySettings& settings, Json& json);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_STUDY_SETTINGS_H_
