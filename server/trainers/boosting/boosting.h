// Additive models that are fitted in turns. Each function returns an object of static storage.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOSTING_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOSTING_H_

#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

const Trainer& Auto();      // auto.cc
const Trainer& Logistic();  // logistic.cc

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOSTING_H_
