// Forests whose trees are grown without gradients. Each function returns an object of static
// storage.

#ifndef COPPICE_SERVER_TRAINERS_FORESTS_FORESTS_H_
#define COPPICE_SERVER_TRAINERS_FORESTS_FORESTS_H_

#include "server/trainers/core/trainer.h"

namespace coppice::trainers {

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

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_FORESTS_FORESTS_H_
