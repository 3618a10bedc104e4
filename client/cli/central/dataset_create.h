// coppice dataset create, and upload, which goes on where a create was cut off.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_DATASET_CREATE_H_
#define COPPICE_CLIENT_CLI_CENTRAL_DATASET_CREATE_H_

#include "client/cli/terminal/flags.h"

namespace coppice::cli {

void AddDatasetCreate(CLI::App& noun, Action& action);
void AddDatasetUpload(CLI::App& noun, Action& action);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_DATASET_CREATE_H_
