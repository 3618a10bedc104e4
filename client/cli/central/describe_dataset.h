// Describes datasets and their spending as the JSON that the commands print.

#ifndef COPPICE_CLIENT_CLI_CENTRAL_DESCRIBE_DATASET_H_
#define COPPICE_CLIENT_CLI_CENTRAL_DESCRIBE_DATASET_H_

#include <vector>

#include "client/cli/terminal/output.h"

namespace coppice::v1 {
class Cost;
class Dataset;
}  // namespace coppice::v1

namespace coppice::cli {

// Has epsilon and delta, and rho if there is one.
Json DescribeCost(const v1::Cost& cost);

// Has dataset, state, rows, and the budget: total, spent, left. The same members for every dataset.
Json DescribeDatasetBriefly(const v1::Dataset& dataset);
// Adds rho, under zero-concentrated differential privacy.
Json DescribeDataset(const v1::Dataset& dataset);
// Adds, for scripts, the schema, the ledger entries in `dataset` with their releases, and how many
// entries the ledger has.
Json DescribeDatasetWithLedger(const v1::Dataset& dataset);
// The ledger for people: a line per entry, and below it one per release. Planned releases are left
// out once it is known which were made.
std::vector<Json> LedgerTable(const v1::Dataset& dataset);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_CENTRAL_DESCRIBE_DATASET_H_
