// Additive models that are fitted in turns. Functions that return a reference return an object of
// static storage.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOSTING_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOSTING_H_

#include <cstdint>
#include <memory>

#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

const Trainer& Auto();  // auto.cc
// Auto() with this many even cuts of each number instead of as many as it chooses, which are 0:
// what tests/bench/cuts_bench measures.
std::unique_ptr<const Trainer> AutoWithCuts(uint32_t even_cuts);
const Trainer& Logistic();  // logistic.cc

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOSTING_H_
