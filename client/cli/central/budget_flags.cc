#include "client/cli/central/budget_flags.h"

#include "common/privacy/delta.h"

namespace coppice::cli {
namespace {

std::string CheckDelta(const std::string& text) {
  return std::string(ParseDelta(text).status().message());
}

std::string CheckBudget(const std::string& text) {
  return Budget::Parse(text).ok() ? ""
                                  : "needs a number from 0.000000001 to 1000000, such as 0.5 or 2";
}

}  // namespace

const Flag AddBudgetFlag(const Command& verb, const std::string& flag,
                         std::optional<Budget>& epsilon, const std::string& description) {
  const auto take = [&epsilon](const std::string& text) { epsilon = *Budget::Parse(text); };
  return verb.AddTaken<std::string>(flag, take, description).Check(CheckBudget, "NUMBER");
}

const Flag AddDeltaFlag(const Command& verb, const std::string& flag, std::string& delta,
                        const std::string& description) {
  return verb.Add(flag, delta, description).Check(CheckDelta, "NUMBER");
}

uint64_t DeltaOf(const std::string& text) { return *ParseDelta(text); }

}  // namespace coppice::cli
