// Studies and models as the JSON that the commands print.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_DESCRIBE_H_
#define COPPICE_CLIENT_CLI_TERMINAL_DESCRIBE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "client/cli/terminal/output.h"
#include "common/base/time_text.h"

namespace coppice::v1 {
class Forest;
class Model;
class Study;
}  // namespace coppice::v1

namespace coppice::cli {

// "bad_ticket" of REPORT_OUTCOME_BAD_TICKET.
std::string EnumText(absl::string_view name, absl::string_view prefix);
double EpsilonNumber(uint64_t nanos);
double DeltaNumber(uint64_t atto);
// "ID" of "collection/ID".
std::string IdOf(absl::string_view name);
// The leaves of all trees together.
uint64_t CountLeaves(const v1::Forest& forest);

// study, leaves, fingerprint first; then what the study was made of.
Json DescribeNewStudy(const v1::Study& study);
// With its counts: accepted, duplicate, and rejected by reason.
Json DescribeStudy(const v1::Study& study);
// The same, and every alarm that was computed: for scripts.
Json DescribeStudyWithAlarms(const v1::Study& study);
// The same, and a line for each alarm that is raised.
Json DescribeStudyForPeople(const v1::Study& study);
// A line of a list: what a study has without its terms.
Json DescribeStudyBriefly(const v1::Study& study);

// Without what only a model of a study has, if a job made it, and the other way round.
Json DescribeModel(const v1::Model& model);
// A line of a list. The same members for every model.
Json DescribeModelBriefly(const v1::Model& model);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_DESCRIBE_H_
