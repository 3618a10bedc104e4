// Finds the known word that somebody meant: a command, a flag, a setting of a file.

#ifndef COPPICE_COMMON_BASE_NEAREST_WORD_H_
#define COPPICE_COMMON_BASE_NEAREST_WORD_H_

#include <string>
#include <string_view>
#include <vector>

namespace coppice {

// Returns the word in `words` that `word` most likely misspells; empty if none is near. Dashes at
// the beginning do not count.
std::string NearestWord(std::string_view word, const std::vector<std::string>& words);

// Returns what follows the word in an error: "; did you mean \"x\"?", or nothing if none is near.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& words);

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_NEAREST_WORD_H_
