// The algorithms that there are, one file each; registry.cc lists them.
//
// Each function returns an object of static storage.

#ifndef COPPICE_SERVER_TRAINERS_ALGORITHMS_H_
#define COPPICE_SERVER_TRAINERS_ALGORITHMS_H_

#include "server/trainers/trainer.h"

namespace coppice {

const Trainer& Auto();          // auto.cc
const Trainer& DpBoost();       // dpboost.cc
const Trainer& LazyBb();        // lazybb.cc
const Trainer& Logistic();      // logistic.cc
const Trainer& Spe();           // spe.cc
const Trainer& Sspe1();         // sspe1.cc
const Trainer& Sspe2();         // public_medians.cc
const Trainer& Pte();           // public_medians.cc
const Trainer& DiPriMe();       // diprime.cc
const Trainer& MedianForest();  // diprime.cc
const Trainer& Rdt();           // random_trees.cc
const Trainer& Dpert();         // random_trees.cc
const Trainer& MaxTree();       // greedy_trees.cc
const Trainer& Dpdf();          // greedy_trees.cc
const Trainer& RandomForest();  // references.cc
const Trainer& ExtraTrees();    // references.cc

}  // namespace coppice

#endif  // COPPICE_SERVER_TRAINERS_ALGORITHMS_H_
