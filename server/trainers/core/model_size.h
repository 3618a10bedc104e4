// How large a model may become, known before it is trained.

#ifndef COPPICE_SERVER_TRAINERS_CORE_MODEL_SIZE_H_
#define COPPICE_SERVER_TRAINERS_CORE_MODEL_SIZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/schema/schema.h"

namespace coppice::trainers {

// The most that a model may have. It follows from the schema and the settings alone, as a plan
// does.
struct ModelShape {
  uint64_t trees = 0;
  uint64_t leaves = 0;      // of all trees; 0: not known
  bool scores = false;      // leaves hold scores and what is known of their noise, not counts
  std::string advice = "";  // what makes the model smaller: "take fewer trees"
};

// The most bytes that a model of this shape takes as a message; 0 if the shape is not known.
uint64_t MostModelBytes(const ModelShape& shape, const Schema& schema);

// Warns of a model that is large as a message, and several times that as a file of text.
std::vector<std::string> WarnOfSize(const ModelShape& shape, const Schema& schema);

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_MODEL_SIZE_H_
