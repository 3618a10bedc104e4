#include <google/protobuf/stubs/logging.h>

#include <cstdlib>

#include "client/cli/commands.h"

int main(int argc, char** argv) {
  // gRPC's own log lines about a failed handshake say less than our error does.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  // And protobuf's name fields of an answer that is refused anyway.
  google::protobuf::SetLogHandler(nullptr);
  return coppice::cli::RunCommandLine(argc, argv);
}
