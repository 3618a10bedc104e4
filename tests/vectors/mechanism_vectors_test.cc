// Checks the payloads of the vectors where only a device is built: on other machines it sends the
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
