// Smooth boosting of weak rules (lazybb.cc). The object is of static storage.

#ifndef COPPICE_SERVER_TRAINERS_LAZYBB_LAZYBB_H_
#define COPPICE_SERVER_TRAINERS_LAZYBB_LAZYBB_H_

#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

const Trainer& LazyBb();

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_LAZYBB_LAZYBB_H_
