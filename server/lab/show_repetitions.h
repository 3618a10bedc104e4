// Shows the progress of a command if stderr is a terminal.

#ifndef COPPICE_SERVER_LAB_SHOW_REPETITIONS_H_
#define COPPICE_SERVER_LAB_SHOW_REPETITIONS_H_

#include <cstdint>

namespace coppice::lab {

// Prints "3 of 20 repetitions" there, and nothing elsewhere.
void ShowRepetitions(uint32_t finished, uint32_t repeats);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SHOW_REPETITIONS_H_
