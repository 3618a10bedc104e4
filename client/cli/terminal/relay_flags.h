// Flags for a study's relay.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_RELAY_FLAGS_H_
#define COPPICE_CLIENT_CLI_TERMINAL_RELAY_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/command_line/command_line.h"
#include "common/terms/signature.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {

struct RelayFlags {
  std::string key;
  std::optional<uint64_t> min_batch;
  std::string dishonest, delta;  // empty: the curator's choice
};

// Adds --min-batch, --dishonest, --relay-delta. `flags` must outlive the parsing.
Flag AddBatchFlags(const Command& command, RelayFlags& flags);
// Adds these and --relay-key.
void AddRelayFlags(const Command& command, RelayFlags& flags);

// Sets nothing unless --min-batch is given. InvalidArgument if the key can no longer be read.
Status SetRelay(const RelayFlags& flags, v1::StudySettings& settings);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_RELAY_FLAGS_H_
