#include <google/protobuf/stubs/logging.h>

#include <cstdlib>

#include "client/cli/commands.h"

int main(int argc, char** argv) {
  // gRPC's own log lines about a failed handshake say less than our error.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  // Protobuf would log field names of a response that is refused anyway.
  google::protobuf::SetLogHandler(nullptr);
  return coppice::cli::RunCommandLine(argc, argv);
}
