// Rows with labels and rows without, for the semi-supervised trainers.

#ifndef COPPICE_SERVER_TRAINERS_FORESTS_SEMI_SUPERVISED_H_
#define COPPICE_SERVER_TRAINERS_FORESTS_SEMI_SUPERVISED_H_

#include <cstdint>
#include <vector>

#include "common/base/status.h"
#include "server/trainers/core/bins.h"
#include "server/trainers/core/private_releaser.h"
#include "server/trainers/core/settings.h"

namespace coppice::trainers {

// Returns labelled: the share of the labelled rows whose label is used.
Parameter LabelledParameter();

struct Sides {
  std::vector<uint32_t> labelled, unlabelled;  // positions
};

// A row without a label is unlabelled; one with a label is labelled with probability `share`, by
// its own coin, whatever the other rows are.
StatusOr<Sides> DrawSides(const BinnedRows& rows, double share, PrivateReleaser& releaser);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_FORESTS_SEMI_SUPERVISED_H_
