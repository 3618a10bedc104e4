// The payloads of the vectors, where nothing but a device is built: on another machine it sends the
// same bytes.

#include <gtest/gtest.h>

#include "tests/vectors/stored_file.h"
#include "tests/vectors/vectors.h"

namespace coppice::vectors {
namespace {

TEST(MechanismVectorsTest, PayloadsAreThoseOfTheTree) {
  for (const VectorFile& made : MakeMechanismVectors()) ExpectStored(made);
}

}  // namespace
}  // namespace coppice::vectors
