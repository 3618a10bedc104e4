#include "server/lab/show_repetitions.h"

#include <unistd.h>

#include <cstdio>

namespace coppice::lab {

void ShowRepetitions(uint32_t finished, uint32_t repeats) {
  static const bool terminal = isatty(STDERR_FILENO) == 1;
  if (!terminal) return;
  std::fprintf(stderr, "\r%u of %u repetitions%s", finished, repeats,
               finished == repeats ? "\n" : "");
}

}  // namespace coppice::lab
