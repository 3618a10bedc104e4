// The public columns that boosting splits: the schema's features in bins, and oblique ones.
//
// They follow from the schema and a fixed seed alone. A numeric column has 31 even cuts, and cuts
// at, and halving the distance to, zero (or the lower bound, if zero is not inside): eight on each
// side. "At most the cut" goes left. In tables that are mostly numeric 511 or 255 even ones, if
// features and classes are few enough. In tables that are mostly numeric there are up to 32 signed
// pairs and 32 signed triples of scaled features, each in 64 even bins of the range that it can
// reach.
//
// Source     docs/mechanisms.md#boost-columns.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_COLUMNS_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_COLUMNS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/schema/derived.h"
#include "common/schema/schema.h"
#include "server/trainers/core/bins.h"

namespace coppice::trainers {

struct BoostColumns {
  std::vector<DerivedFeature> derived;
  std::vector<FeatureBins> bins;  // of the schema's features, then of the derived ones
};

absl::StatusOr<BoostColumns> PublicBoostColumns(const Schema& schema);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOST_COLUMNS_H_
