// `model evaluate --dataset`: the curator evaluates on a dataset's private rows, at a price.

#ifndef COPPICE_CLIENT_CLI_MODELS_EVALUATE_PRIVATE_H_
#define COPPICE_CLIENT_CLI_MODELS_EVALUATE_PRIVATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "client/cli/terminal/flags.h"
#include "common/base/status.h"
#include "common/command_line/command_line.h"
#include "common/privacy/budget.h"

namespace coppice::cli {

struct PrivateFlags {
  std::string dataset;  // empty: evaluate on the caller's own rows
  std::optional<Budget> epsilon;
  std::string by;
  double reach = 0;
  std::optional<uint64_t> preview;
  std::string request_id;
};

// Adds --dataset and what belongs to it. Returns --dataset.
Flag AddPrivateFlags(const Command& verb, PrivateFlags& flags);

// Evaluates the model, or says what that would cost, and prints the result.
Status EvaluateOnDataset(const ServerFlags& server, const std::string& model,
                         const PrivateFlags& flags, bool json);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_MODELS_EVALUATE_PRIVATE_H_
