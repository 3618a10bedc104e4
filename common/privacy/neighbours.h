// What a central guarantee is about: two tables are neighbours if they differ in this.

#ifndef COPPICE_COMMON_PRIVACY_NEIGHBOURS_H_
#define COPPICE_COMMON_PRIVACY_NEIGHBOURS_H_

#include <cstdint>
#include <string_view>

namespace coppice {

// Stable numbers: the wire and the store use them.
enum class Neighbours : uint8_t {
  kAddOrRemoveRow = 1,  // one row more or less
  kChangeLabel = 2,     // the label of one row; features are public
};

// "add_or_remove_row", "change_label".
inline std::string_view NeighboursName(Neighbours neighbours) {
  return neighbours == Neighbours::kAddOrRemoveRow ? "add_or_remove_row" : "change_label";
}

}  // namespace coppice

#endif  // COPPICE_COMMON_PRIVACY_NEIGHBOURS_H_
