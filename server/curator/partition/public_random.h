// The name that partitions use for public randomness, which common/base/public_random.h defines.

#ifndef COPPICE_SERVER_CURATOR_PARTITION_PUBLIC_RANDOM_H_
#define COPPICE_SERVER_CURATOR_PARTITION_PUBLIC_RANDOM_H_

#include "common/base/public_random.h"

namespace coppice::curator {

using coppice::PublicRandom;

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PARTITION_PUBLIC_RANDOM_H_
