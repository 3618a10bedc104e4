#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/wire/proto/convert.h"
#include "server/serving/service/handlers.h"

namespace coppice::service {
namespace {

using owners::Resource;
using Found = std::optional<Resource>;

class Finder {
 public:
  Finder(const curator::StudyCalls& studies, const central::Datasets& datasets,
         const central::Jobs& jobs, const central::Evaluations& evaluations,
         const models::Models& models, const models::Endpoints& endpoints)
      : studies_(studies),
        datasets_(datasets),
        jobs_(jobs),
        evaluations_(evaluations),
        models_(models),
        endpoints_(endpoints) {}

  Found operator()(std::string_view kind, std::string_view id) const {
    if (kind == kStudies) return Owned(kind, id, studies_.OwnerOf(id));
    if (kind == kDatasets) return Owned(kind, id, datasets_.OwnerOf(id));
    if (kind == kEndpoints) return Owned(kind, id, endpoints_.OwnerOf(id));
    if (kind == kJobs) return MadeOf(kind, id, jobs_.DatasetOf(id));
    if (kind == kEvaluations) return MadeOf(kind, id, evaluations_.DatasetOf(id));
    if (kind == kModels) return FindModel(id);
    return std::nullopt;
  }

 private:
  static Found Owned(std::string_view kind, std::string_view id, std::optional<std::string> owner) {
    if (!owner.has_value()) return std::nullopt;
    return Resource{.names = {MakeName(kind, id)}, .owner = *std::move(owner)};
  }

  // A resource made from `source` belongs to its owner, or to nobody if `source` is gone.
  static Found MadeFrom(std::string_view kind, std::string_view id, Found source) {
    Resource made{.names = {MakeName(kind, id)}};
    if (!source.has_value()) return made;
    made.owner = std::move(source->owner);
    made.names.insert(made.names.end(), source->names.begin(), source->names.end());
    return made;
  }

  Found MadeOf(std::string_view kind, std::string_view id,
               const std::optional<std::string>& dataset) const {
    if (!dataset.has_value()) return std::nullopt;
    return MadeFrom(kind, id, (*this)(kDatasets, *dataset));
  }

  Found FindModel(std::string_view id) const {
    const StatusOr<models::ModelSummary> model = models_.Describe(id);
    if (!model.ok()) return std::nullopt;
    for (const std::string_view kind : {kStudies, kJobs}) {
      const StatusOr<std::string> source = ParseName(kind, model->source);
      if (source.ok()) return MadeFrom(kModels, id, (*this)(kind, *source));
    }
    return MadeFrom(kModels, id, std::nullopt);
  }

  const curator::StudyCalls& studies_;
  const central::Datasets& datasets_;
  const central::Jobs& jobs_;
  const central::Evaluations& evaluations_;
  const models::Models& models_;
  const models::Endpoints& endpoints_;
};

}  // namespace

ResourceFinder MakeResourceFinder(const curator::StudyCalls& studies,
                                  const central::Datasets& datasets, const central::Jobs& jobs,
                                  const central::Evaluations& evaluations,
                                  const models::Models& models,
                                  const models::Endpoints& endpoints) {
  return Finder(studies, datasets, jobs, evaluations, models, endpoints);
}

}  // namespace coppice::service
