// Reads which mutant is chosen, before any other initializer runs.

#include <stdlib.h>

int coppice_mutant = 0;

namespace {

__attribute__((constructor(101))) void ReadMutant() {
  const char* const number = getenv("COPPICE_MUTANT");
  if (number != nullptr) coppice_mutant = atoi(number);
}

}  // namespace
