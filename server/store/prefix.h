// Key prefixes as ranges.

#ifndef COPPICE_SERVER_STORE_PREFIX_H_
#define COPPICE_SERVER_STORE_PREFIX_H_

#include <optional>
#include <string>

namespace coppice::storage {

// Returns the first key after all that start with `prefix`; none if there is no such key.
inline std::optional<std::string> EndOfPrefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  ++prefix.back();
  return prefix;
}

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_PREFIX_H_
