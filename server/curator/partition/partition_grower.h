// Grows one tree of a partition. GrowPartition() checks the arguments; see partition.h.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_PARTITION_GROWER_H_
#define COPPICE_SERVER_CURATOR_PARTITION_PARTITION_GROWER_H_

#include "absl/status/statusor.h"
#include "common/base/cancel_check.h"
#include "common/data/table.h"
#include "common/tree/tree.h"
#include "server/curator/partition/partition.h"
#include "server/curator/partition/public_random.h"

namespace coppice::curator {

// InvalidArgument if the tree would have more than kMaxNodes nodes.
absl::StatusOr<Tree> GrowTree(const Table& public_rows, const PartitionOptions& options,
                              PublicRandom& random, const CancelCheck& cancel);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_PARTITION_GROWER_H_
