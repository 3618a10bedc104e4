// Partitions without public rows: only the schema is public.
//
// Then nothing says where the rows are, let alone where their classes change. What is left is to
// cover the declared ranges evenly, so that no region is coarser than another, and to let reports
// alone fill the leaves. Rows that stand for the schema are a Latin hypercube (McKay, Beckman,
// Conover 1979): each column by itself is perfectly even, however few rows there are.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_FROM_SCHEMA_H_
#define COPPICE_SERVER_CURATOR_PARTITION_FROM_SCHEMA_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/cancel_check.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "server/curator/partition/partition.h"

namespace coppice::curator {

// The number of rows that stand for a schema: enough to cut by, and few enough to be evaluated one
// by one (kManyPublicRows). Stored studies have this many.
inline constexpr size_t kSchemaRows = 1024;
// Bounds the rows at 16 MB.
inline constexpr size_t kMaxFeaturesFromSchema = 2048;

// Synthetic rows in place of public ones, spread evenly over what the schema allows (a Latin
// hypercube): each number once in the middle of each of kSchemaRows equal parts of its range, each
// category as often as any other, in a separate order for every feature. No value is missing. All
// rows have the first class or the middle of the target's range, which callers must not use.
// InvalidArgument for too many features.
StatusOr<Table> RowsFromSchema(const std::shared_ptr<const Schema>& schema, uint64_t seed);

// Grows one tree by an edge rule whose edges are the declared ranges and vocabularies. Nothing
// ranks the cuts: of the longest edges max_edge takes the first, random_max_edge any. Categories
// leave in vocabulary order, a missing value goes left. All cells are cut down to max_depth.
// InvalidArgument if all trees together would have more than kMaxNodes nodes.
StatusOr<Tree> GrowTreeFromSchema(const Schema& schema, const PartitionOptions& options,
                                  PublicRandom& random, const CancelCheck& cancel);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_FROM_SCHEMA_H_
