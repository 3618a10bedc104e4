// What people and scripts are shown of a study, a dataset, a job or a model: messages as JSON, once
// for all who show them. The terminal prints it, Python binds it, the daemon sends it to the
// console, and the pages of common/pages are made from it.
//
// The members' names are a promise to scripts (docs/terminal.md). An absent member means that the
// message says nothing of the kind.
//
// Units      epsilon, delta and rho as numbers; times as "2030-01-31T12:00:00Z"; shares from 0
// to 1.

#ifndef COPPICE_COMMON_DESCRIBE_DESCRIBE_H_
#define COPPICE_COMMON_DESCRIBE_DESCRIBE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/status.h"

namespace coppice::v1 {
class Algorithm;
class Cost;
class Dataset;
class Endpoint;
class Evaluation;
class EndpointVersion;
class Forest;
class Job;
class LedgerEntry;
class Model;
class Outlook;
class PreviewEvaluationResponse;
class PreviewJobResponse;
class Release;
class Study;
}  // namespace coppice::v1

namespace coppice {

using Description = nlohmann::ordered_json;

// Counts the leaves of all trees.
uint64_t CountLeaves(const v1::Forest& forest);

// ---- studies: study.cc

// Has study, leaves, fingerprint first; then the study's parameters.
Description DescribeNewStudy(const v1::Study& study);
// Adds the counts: accepted, duplicate, and rejected by reason.
Description DescribeStudy(const v1::Study& study);
// Adds every alarm that was computed: for scripts.
Description DescribeStudyWithAlarms(const v1::Study& study);
// Adds a line for each raised alarm.
Description DescribeStudyForPeople(const v1::Study& study);
// A line of a list: what a study has without its terms.
Description DescribeStudyBriefly(const v1::Study& study);
// One study of a forecast.
Description DescribeOutlook(const v1::Outlook& outlook, bool with_relay);

// ---- models: model.cc

// Leaves out what only a study's model has if a job made it, and vice versa.
Description DescribeModel(const v1::Model& model);
// A line of a list. The same members for every model.
Description DescribeModelBriefly(const v1::Model& model);
// Has the members what, mechanism, epsilon of one release, times, part.
Description DescribeRelease(const v1::Release& release);
// One version of an endpoint.
Description DescribeVersion(const v1::Endpoint& endpoint, const v1::EndpointVersion& version);
// The version that the endpoint serves.
Description DescribeEndpoint(const v1::Endpoint& endpoint);

// ---- datasets: dataset.cc

// What something cost, or would.
Description DescribeCost(const v1::Cost& cost);
// A line of a list: the state and the budget.
Description DescribeDatasetBriefly(const v1::Dataset& dataset);
Description DescribeDataset(const v1::Dataset& dataset);
// Adds the schema and every entry of the ledger.
Description DescribeDatasetWithLedger(const v1::Dataset& dataset);
// The ledger for people: a line for each entry, then one for each of its releases. What a job
// planned is left out once what it released is known.
std::vector<Description> LedgerTable(const v1::Dataset& dataset);

// ---- jobs: job.cc

// A line of a list.
Description DescribeJobBriefly(const v1::Job& job);
Description DescribeJob(const v1::Job& job);
// "j-12 running, 40 %, about 3m10s left".
std::string JobLine(const v1::Job& job);
// What a job would cost.
Description DescribePreview(const v1::PreviewJobResponse& preview);
// What can be trained, and its parameters.
Description DescribeAlgorithm(const v1::Algorithm& algorithm);
// The same for people.
std::string AlgorithmText(const v1::Algorithm& algorithm);

// ---- private evaluations: evaluation.cc

// Its figures, flat, with their intervals; "covers" says whether these cover what the model is
// worth on rows drawn like these, and "caveat" why not.
Description DescribeEvaluation(const v1::Evaluation& evaluation);
// What an evaluation would cost, and about how wide its interval would be.
Description DescribeEvaluationPreview(const v1::PreviewEvaluationResponse& preview);

// ---- by name, for languages that hold messages as bytes: by_kind.cc

// Describes the serialized message of a kind: "study", "study_briefly", "outlook", "model", ...
//
// Errors     InvalidArgument if there is no such kind, or the bytes are no such message.
StatusOr<Description> DescribeBytes(std::string_view kind, std::string_view message);

}  // namespace coppice

#endif  // COPPICE_COMMON_DESCRIBE_DESCRIBE_H_
