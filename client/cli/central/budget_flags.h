// --epsilon and --delta of datasets and jobs: decimals, converted exactly and rounded down, so that
// no more is spent than was written.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_BUDGET_FLAGS_H_
#define COPPICE_CLIENT_CLI_CENTRAL_BUDGET_FLAGS_H_

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace coppice::cli {

// By the rules of Budget::Parse(); of text that passed, EpsilonOf() (flags.h) is the budget.
CLI::Option* AddBudgetFlag(CLI::App& verb, const std::string& flag, std::string& epsilon,
                           const std::string& description);

CLI::Option* AddDeltaFlag(CLI::App& verb, const std::string& flag, std::string& delta,
                          const std::string& description);
// Of text that passed the flag's check.
uint64_t DeltaOf(const std::string& text);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_BUDGET_FLAGS_H_
