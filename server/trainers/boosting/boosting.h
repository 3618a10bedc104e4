// Additive models that are fitted step by step. Functions that return a reference return an object
// of static storage.

#ifndef COPPICE_SERVER_TRAINERS_BOOSTING_BOOSTING_H_
#define COPPICE_SERVER_TRAINERS_BOOSTING_BOOSTING_H_

#include <cstdint>
#include <memory>

#include "server/trainers/core/ensemble.h"
#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

const Trainer& Auto();  // auto.cc
// Auto() with this many even cuts per number; 0: as many as it chooses. For tests/bench/cuts_bench.
std::unique_ptr<const Trainer> AutoWithCuts(uint32_t even_cuts);
const Trainer& Logistic();          // logistic.cc
const Trainer& GradientBoosting();  // gradient_boosting.cc; not private
// The most that a model of GradientBoosting() has.
ModelShape MostOfGradientBoosting(const Schema& schema);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_BOOSTING_BOOSTING_H_
