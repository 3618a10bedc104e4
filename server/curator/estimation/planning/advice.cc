// Puts a plan's outcome into one sentence.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>

#include "common/base/text.h"
#include "server/curator/estimation/planning/plan.h"

namespace coppice::curator {

std::string Advice(absl::Span<const double> gains, const PartitionOptions& partition,
                   std::optional<double> public_rmse) {
  if (partition.from_schema) {
    return "Without public rows the partition covers everything that the schema allows, even where "
           "nobody is, and nothing shows how well labels can be predicted; reports will be worth "
           "as many labelled public rows as stated.";
  }
  if (!partition.use_labels) {
    return "Without public labels nothing shows how well labels can be predicted; reports will be "
           "worth as many labelled public rows as stated.";
  }
  const bool numbers = public_rmse.has_value();
  const double least = numbers ? kWorthwhileShare * *public_rmse : kWorthwhileGain;
  const auto worth =
      std::count_if(gains.begin(), gains.end(), [least](double gain) { return gain >= least; });
  if (worth == 0) {
    return StrCat("Reports will not help here: none of these studies is expected to ",
                  numbers ? "have an error smaller by a hundredth than" : "gain half a point over",
                  " the public labels alone. Use more devices or a larger epsilon, or ask nobody.");
  }
  if (worth == static_cast<std::ptrdiff_t>(gains.size())) {
    return "Reports help in every one of these studies.";
  }
  return StrCat("Reports help in ", worth, " of these ", gains.size(),
                " studies. In the others, where the gain is below ",
                numbers ? "a hundredth of the error" : "half a point",
                ", they do not, and there is no need to ask anyone.");
}

}  // namespace coppice::curator
