// --epsilon and --delta of datasets and jobs: decimals, converted exactly and rounded down, so that
// no more is spent than was written.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_BUDGET_FLAGS_H_
#define COPPICE_CLIENT_CLI_CENTRAL_BUDGET_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/command_line/command_line.h"
#include "common/privacy/budget.h"

namespace coppice::cli {

// The text becomes a Budget here, and nowhere after.
const Flag AddBudgetFlag(const Command& verb, const std::string& flag,
                         std::optional<Budget>& epsilon, const std::string& description);

const Flag AddDeltaFlag(const Command& verb, const std::string& flag, std::string& delta,
                        const std::string& description);
// `text` must have passed the flag's check.
uint64_t DeltaOf(const std::string& text);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_BUDGET_FLAGS_H_
