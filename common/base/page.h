// Selects a part of a list: lists are in order of ids and are read page by page.

#ifndef COPPICE_COMMON_BASE_PAGE_H_
#define COPPICE_COMMON_BASE_PAGE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace coppice {

struct Page {
  uint32_t size = 100;  // at most 1000
  std::string after;    // the last id of the previous page; empty for the first
};

// How many entries `page` asks for.
inline size_t PageSize(const Page& page) { return std::clamp<size_t>(page.size, 1, 1000); }

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_PAGE_H_
