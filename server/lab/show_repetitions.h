// How far a command is, where its stderr is a terminal.

#ifndef COPPICE_SERVER_LAB_SHOW_REPETITIONS_H_
#define COPPICE_SERVER_LAB_SHOW_REPETITIONS_H_

#include <cstdint>

namespace coppice::lab {

// "3 of 20 repetitions"; nothing elsewhere.
void ShowRepetitions(uint32_t finished, uint32_t repeats);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SHOW_REPETITIONS_H_
