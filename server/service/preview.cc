// StudyHandlers::PreviewStudy(): what a study is expected to come to, for a caller who has not made
// it yet. Takes up to half a minute.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "common/wire/field_error.h"
#include "server/curator/estimation/plan.h"
#include "server/curator/estimation/readers_bound.h"
#include "server/curator/partition/public_random.h"
#include "server/service/handlers.h"
#include "server/service/messages.h"

namespace coppice::service {
namespace {

// More public rows than this, or with more values, are drawn from at random by the request's seed,
// and the response says how many.
constexpr size_t kMaxPreviewRows = 20'000;
constexpr size_t kMaxPreviewValues = 2'000'000;
constexpr int kMaxValues = 8;  // 64 studies take some seconds

absl::Status CheckCount(absl::string_view field, int count) {
  if (count >= 1 && count <= kMaxValues) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must have 1 to ", kMaxValues, " values, has ", count));
}

absl::StatusOr<std::vector<Budget>> EpsilonsOf(const v1::PreviewStudyRequest& request) {
  COPPICE_RETURN_IF_ERROR(CheckCount("epsilon_nanos", request.epsilon_nanos_size()));
  std::vector<Budget> epsilons;
  for (int i = 0; i < request.epsilon_nanos_size(); ++i) {
    const uint64_t nanos = request.epsilon_nanos(i);
    if (nanos < kMinEpsilonNanos || nanos > kMaxStudyEpsilonNanos) {
      return FieldError(ElementName("epsilon_nanos", i),
                        absl::StrCat("must be ", kMinEpsilonNanos, " to ", kMaxStudyEpsilonNanos,
                                     ", is ", nanos));
    }
    COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::FromNanos(nanos));
    epsilons.push_back(epsilon);
  }
  return epsilons;
}

// The rows themselves, or as many of them as a preview takes, drawn without replacement.
Table PreviewRows(const Table& rows, uint64_t seed) {
  const size_t features = std::max<size_t>(rows.schema().num_features(), 1);
  const size_t most = std::min(kMaxPreviewRows, std::max<size_t>(kMaxPreviewValues / features, 1));
  std::vector<size_t> drawn(rows.num_rows());
  std::iota(drawn.begin(), drawn.end(), size_t{0});
  if (drawn.size() > most) {
    curator::PublicRandom random(seed, /*stream=*/2);
    for (size_t i = 0; i < most; ++i) {
      std::swap(drawn[i], drawn[i + random.Below(drawn.size() - i)]);
    }
    drawn.resize(most);
  }
  return rows.Select(drawn);
}

v1::Interval ToProto(const curator::Interval& interval) {
  v1::Interval proto;
  proto.set_low(interval.low);
  proto.set_mean(interval.mean);
  proto.set_high(interval.high);
  return proto;
}

v1::Outlook ToProto(const curator::StudyForecast& forecast, const curator::MechanismCost& cost,
                    bool with_labels, bool numbers) {
  v1::Outlook proto;
  proto.set_mechanism(coppice::ToProto(cost.kind));
  proto.set_payload_bytes(cost.payload_bytes);
  proto.set_equivalent_rows(forecast.equivalent_rows);
  proto.set_influence(forecast.influence);
  if (with_labels) {
    *(numbers ? proto.mutable_rmse() : proto.mutable_accuracy()) =
        ToProto(numbers ? forecast.rmse : forecast.accuracy);
    proto.set_gain(forecast.gain.mean);
    *proto.mutable_gain_interval() = ToProto(forecast.gain);
  }
  return proto;
}

// As for a study that is created.
absl::Status CheckRoundingOf(const curator::StudySpec& spec) {
  if (!spec.rounding.has_value()) return absl::OkStatus();
  const std::optional<Target>& target = spec.public_rows->schema().target();
  const absl::Status status =
      target.has_value()
          ? CheckRounding(*spec.rounding, *target)
          : absl::InvalidArgumentError("rounding: is for numbers; the schema has classes");
  return status.ok() ? status : InField("study", status);
}

absl::Status AddFeatureWorths(const curator::Planner& planner, const curator::StudySpec& spec,
                              const Budget& epsilon, double devices, const CancelCheck& cancel,
                              v1::PreviewStudyResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const curator::MechanismCost cost,
                           planner.Cost(epsilon, spec.mechanism, spec.max_payload_bytes));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<curator::FeatureWorth> worths,
                           planner.WorthOfPublicFeatures(devices, cost, cancel));
  for (const curator::FeatureWorth& worth : worths) {
    v1::FeatureWorth& proto = *response.add_public_features();
    proto.set_name(worth.name);
    proto.set_gain(worth.gain);
    proto.set_equivalent_rows(worth.equivalent_rows);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status StudyHandlers::PreviewStudy(const Caller& /*caller*/,
                                         const v1::PreviewStudyRequest& request,
                                         v1::PreviewStudyResponse* response,
                                         const CancelCheck& cancel) const {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Budget> epsilons, EpsilonsOf(request));
  COPPICE_RETURN_IF_ERROR(CheckCount("devices", request.devices_size()));
  for (int i = 0; i < request.devices_size(); ++i) {
    if (request.devices(i) == 0) return FieldError(ElementName("devices", i), "must be positive");
  }
  const absl::StatusOr<curator::StudySpec> spec = PreviewSpec(request.study(), epsilons.front());
  if (!spec.ok()) return InField("study", spec.status());
  COPPICE_RETURN_IF_ERROR(CheckRoundingOf(*spec));
  const bool with_labels = spec->partition.use_labels;
  const bool numbers = spec->public_rows->schema().target().has_value();
  const Table rows = PreviewRows(*spec->public_rows, spec->partition.seed);
  COPPICE_ASSIGN_OR_RETURN(
      const curator::Planner planner,
      curator::Planner::Create(rows, epsilons.front(),
                               {.partition = spec->partition,
                                .expected_devices = static_cast<double>(request.devices(0)),
                                .seed = spec->partition.seed,
                                .rounding = spec->rounding},
                               cancel));
  COPPICE_RETURN_IF_ERROR(AddFeatureWorths(planner, *spec, epsilons.front(),
                                           static_cast<double>(request.devices(0)), cancel,
                                           *response));
  std::vector<double> gains;
  for (const Budget& epsilon : epsilons) {
    COPPICE_ASSIGN_OR_RETURN(const curator::MechanismCost cost,
                             planner.Cost(epsilon, spec->mechanism, spec->max_payload_bytes));
    for (const uint64_t devices : request.devices()) {
      COPPICE_ASSIGN_OR_RETURN(const curator::StudyForecast forecast,
                               planner.Forecast(static_cast<double>(devices), cost, cancel));
      v1::Outlook& added = *response->add_outlooks();
      added = ToProto(forecast, cost, with_labels, numbers);
      added.set_epsilon_nanos(epsilon.nanos());
      added.set_devices(devices);
      const ReadersBound readers = curator::BoundForReaders(spec->public_rows->schema(), epsilon,
                                                            cost.two_sided_mass, devices);
      added.set_readers_epsilon_nanos(readers.epsilon_nanos);
      added.set_readers_delta_atto(readers.delta_atto);
      gains.push_back(forecast.gain.mean);
    }
  }
  const curator::Interval public_only = planner.public_only();
  if (with_labels) {
    *(numbers ? response->mutable_public_only_rmse() : response->mutable_public_only()) =
        ToProto(public_only);
  }
  response->set_public_rows(spec->partition.from_schema ? 0 : rows.num_rows());
  response->set_effective_cells(planner.effective_cells());
  response->set_advice(curator::Advice(
      gains, spec->partition, numbers ? std::optional<double>(public_only.mean) : std::nullopt));
  return absl::OkStatus();
}

}  // namespace coppice::service
