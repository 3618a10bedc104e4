// Partitions without public rows: all that is public is the schema.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_FROM_SCHEMA_H_
#define COPPICE_SERVER_CURATOR_PARTITION_FROM_SCHEMA_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/base/cancel_check.h"
#include "common/data/table.h"
#include "common/schema/schema.h"
#include "common/tree/tree.h"
#include "server/curator/partition/partition.h"
#include "server/curator/partition/public_random.h"

namespace coppice::curator {

// How many rows stand for a schema: enough to cut by, and few enough to be looked at one by one
// (kManyPublicRows). Stored studies have this many.
inline constexpr size_t kSchemaRows = 1024;
// 16 MB of them.
inline constexpr size_t kMaxFeaturesFromSchema = 2048;

// Rows of nobody that stand for public ones where there are none, spread evenly over what the
// schema allows: each number once in the middle of each of kSchemaRows equal parts of its range,
// each category as often as any other, in an order of its own for every feature (a Latin
// hypercube). None is missing, and all are of the first class, or in the middle of the target's
// range, which is not to be used. InvalidArgument for too many features.
absl::StatusOr<Table> RowsFromSchema(const std::shared_ptr<const Schema>& schema, uint64_t seed);

// One tree by an edge rule, whose edges are the declared ranges and vocabularies. There is nothing
// to compare cuts by: of the longest edges max_edge takes the first, random_max_edge any.
// Categories leave in the order of the vocabulary, a missing value goes left. All cells are cut
// down to max_depth. InvalidArgument if all trees would have more than kMaxNodes nodes.
absl::StatusOr<Tree> GrowTreeFromSchema(const Schema& schema, const PartitionOptions& options,
                                        PublicRandom& random, const CancelCheck& cancel);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_FROM_SCHEMA_H_
