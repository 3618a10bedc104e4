// Parts of a span.

#ifndef COPPICE_COMMON_BASE_PART_OF_H_
#define COPPICE_COMMON_BASE_PART_OF_H_

#include <algorithm>
#include <cstddef>

#include "absl/types/span.h"

namespace coppice {

// As span.subspan(from, count), with an empty part where that throws: what throws is compiled
// Abseil, which the rooms of a device do not link.
template <typename T>
constexpr absl::Span<T> PartOf(absl::Span<T> span, size_t from,
                               size_t count = absl::Span<T>::npos) {
  from = std::min(from, span.size());
  return absl::Span<T>(span.data() + from, std::min(count, span.size() - from));
}

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_PART_OF_H_
