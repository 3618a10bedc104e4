// Describes studies and models as the JSON that the commands print.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_DESCRIBE_H_
#define COPPICE_CLIENT_CLI_TERMINAL_DESCRIBE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "client/cli/terminal/output.h"
#include "common/base/time_text.h"

namespace coppice::v1 {
class Forest;
class Model;
class Study;
}  // namespace coppice::v1

namespace coppice::cli {

// Returns "bad_ticket" for REPORT_OUTCOME_BAD_TICKET.
std::string EnumText(std::string_view name, std::string_view prefix);
double EpsilonNumber(uint64_t nanos);
double DeltaNumber(uint64_t atto);
// Returns "ID" for "collection/ID".
std::string IdOf(std::string_view name);
// Counts the leaves of all trees.
uint64_t CountLeaves(const v1::Forest& forest);

// Has study, leaves, fingerprint first; then the study's parameters.
Json DescribeNewStudy(const v1::Study& study);
// Adds the counts: accepted, duplicate, and rejected by reason.
Json DescribeStudy(const v1::Study& study);
// Adds every alarm that was computed: for scripts.
Json DescribeStudyWithAlarms(const v1::Study& study);
// Adds a line for each raised alarm.
Json DescribeStudyForPeople(const v1::Study& study);
// A line of a list: what a study has without its terms.
Json DescribeStudyBriefly(const v1::Study& study);

// Leaves out what only a study's model has if a job made it, and vice versa.
Json DescribeModel(const v1::Model& model);
// A line of a list. The same members for every model.
Json DescribeModelBriefly(const v1::Model& model);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_DESCRIBE_H_
