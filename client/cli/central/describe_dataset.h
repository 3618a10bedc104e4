// Datasets and what was spent of their budgets, as the JSON that the commands print.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_DESCRIBE_DATASET_H_
#define COPPICE_CLIENT_CLI_CENTRAL_DESCRIBE_DATASET_H_

#include <vector>

#include "client/cli/terminal/output.h"

namespace coppice::v1 {
class Cost;
class Dataset;
}  // namespace coppice::v1

namespace coppice::cli {

// epsilon and delta; rho as well where there is one.
Json DescribeCost(const v1::Cost& cost);

// dataset, state, rows; then its budget: in all, spent, left. The same members for every dataset.
Json DescribeDatasetBriefly(const v1::Dataset& dataset);
// With rho, under zero-concentrated differential privacy.
Json DescribeDataset(const v1::Dataset& dataset);
// The same, what its rows look like, and the entries of the ledger that there are in `dataset`,
// with their releases and how many the ledger has in all: for scripts.
Json DescribeDatasetWithLedger(const v1::Dataset& dataset);
// The ledger for people: a line an entry, and below it one a release. What was planned is left out
// once it is known what was made.
std::vector<Json> LedgerTable(const v1::Dataset& dataset);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_DESCRIBE_DATASET_H_
