// Passes over rows on several threads.

#ifndef COPPICE_SERVER_TRAINERS_CORE_ROW_RANGES_H_
#define COPPICE_SERVER_TRAINERS_CORE_ROW_RANGES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "common/base/parallel.h"
#include "common/base/status.h"

namespace coppice::trainers {

// Ranges of fewer rows are not worth a thread: starting one takes as long as a pass over some
// 10,000 rows.
inline constexpr size_t kMinRowsOfRange = size_t{1} << 15;

inline size_t NumRowRanges(size_t rows, uint32_t threads) {
  return std::clamp<size_t>(rows / kMinRowsOfRange, 1, std::max<uint32_t>(threads, 1));
}

// Calls work(range, first, end) for each of NumRowRanges() ranges of rows, which are about equal
// and together all rows, each once, on as many threads. What `work` does with a row must not depend
// on the range that it is in, so that the number of threads changes nothing: sums of whole numbers
// may be added up by range, sums of floating-point numbers may not.
template <typename Work>
void ForRowRanges(size_t rows, uint32_t threads, const Work& work) {
  const size_t ranges = NumRowRanges(rows, threads);
  if (ranges == 1) return work(size_t{0}, size_t{0}, rows);
  const auto begin_of = [&](size_t range) { return rows / ranges * range; };
  RunInParallel(ranges, static_cast<uint32_t>(ranges), [&](size_t range) {
    work(range, begin_of(range), range + 1 == ranges ? rows : begin_of(range + 1));
    return OkStatus();
  }).IgnoreError();
}

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_ROW_RANGES_H_
