// Boosting with private gradients (dpboost.cc). The object is of static storage.

#ifndef COPPICE_SERVER_TRAINERS_DPBOOST_DPBOOST_H_
#define COPPICE_SERVER_TRAINERS_DPBOOST_DPBOOST_H_

#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

const Trainer& DpBoost();

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_DPBOOST_DPBOOST_H_
