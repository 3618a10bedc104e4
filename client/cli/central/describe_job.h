// Describes jobs, previews of their costs, and algorithms as the JSON that the commands print.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_DESCRIBE_JOB_H_
#define COPPICE_CLIENT_CLI_CENTRAL_DESCRIBE_JOB_H_

#include <string>

#include "client/cli/terminal/output.h"

namespace coppice::v1 {
class Algorithm;
class Job;
class PreviewJobResponse;
}  // namespace coppice::v1

namespace coppice::cli {

// Has job first, then its model and state, its settings, and the cost; times are null until they
// are known.
Json DescribeJob(const v1::Job& job);
// A line of a list. The same members for every job.
Json DescribeJobBriefly(const v1::Job& job);
// "j1 running, 42 %, about 3m10s left".
std::string JobLine(const v1::Job& job);

// Has fits, reason if not, cost, releases.
Json DescribePreview(const v1::PreviewJobResponse& preview);

Json DescribeAlgorithm(const v1::Algorithm& algorithm);
// The same for people: a paragraph, and one per parameter.
std::string AlgorithmText(const v1::Algorithm& algorithm);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_DESCRIBE_JOB_H_
