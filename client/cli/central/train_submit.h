// coppice train preview and submit: what to train, and what it costs.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_TRAIN_SUBMIT_H_
#define COPPICE_CLIENT_CLI_CENTRAL_TRAIN_SUBMIT_H_

#include "client/cli/terminal/flags.h"

namespace coppice::cli {

void AddTrainPreview(CLI::App& noun, Action& action);
void AddTrainSubmit(CLI::App& noun, Action& action);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_TRAIN_SUBMIT_H_
