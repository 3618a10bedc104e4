// coppice study and coppice collect.

#ifndef COPPICE_CLIENT_CLI_STUDIES_COMMANDS_H_
#define COPPICE_CLIENT_CLI_STUDIES_COMMANDS_H_

#include "common/command_line/command_line.h"

namespace coppice::cli {

// coppice study: create, preview, forecast, join, tokens, list, key, show, counts, reports,
// seal, delete.
void AddStudyCommands(CommandLine& line);
void AddStudyPreview(const Command& study);
void AddStudyForecast(const Command& study);
void AddStudyJoin(const Command& study);
void AddStudyCounts(const Command& study);
void AddStudyReports(const Command& study);

// coppice collect: simulate, resume, history.
void AddCollectCommands(CommandLine& line);
void AddCollectSimulate(const Command& collect);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_COMMANDS_H_
