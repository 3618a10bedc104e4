// coppice model explain: how a model came to a prediction, tree by tree.

#ifndef COPPICE_CLIENT_CLI_MODELS_EXPLAIN_H_
#define COPPICE_CLIENT_CLI_MODELS_EXPLAIN_H_

#include <string>

#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/output.h"
#include "common/schema/schema.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {

void AddExplain(CLI::App& noun, Action& action);

// One object a row: the prediction, and every tree with its way.
Json DescribeExplanation(size_t row, const v1::Prediction& prediction,
                         const v1::Explanation& explanation, const Schema& schema);
// The same for people.
std::string ExplanationText(size_t row, const v1::Prediction& prediction,
                            const v1::Explanation& explanation, const Schema& schema);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_MODELS_EXPLAIN_H_
