// Visits a paged list as one.

#ifndef COPPICE_SERVER_SERVING_METRICS_ALL_PAGES_H_
#define COPPICE_SERVER_SERVING_METRICS_ALL_PAGES_H_

#include "common/base/page.h"

namespace coppice::metrics {

// Calls `visit` with every element of the pages that `list` returns.
template <typename List, typename Visit>
void ForEachOf(List list, Visit visit) {
  Page page{.size = 1000, .after = ""};
  for (;;) {
    const auto infos = list(page);
    for (const auto& info : infos) visit(info);
    if (infos.size() < page.size) return;
    page.after = infos.back().id;
  }
}

}  // namespace coppice::metrics

#endif  // COPPICE_SERVER_SERVING_METRICS_ALL_PAGES_H_
