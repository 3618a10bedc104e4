// StudyHandlers::PreviewStudy() and ForecastStudy(): forecasts for a study before it is made and
// afterwards. Both take up to half a minute.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/pages/pages.h"
#include "common/terms/report_form.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "server/curator/estimation/inspection/readers_bound.h"
#include "server/curator/estimation/planning/plan.h"
#include "server/curator/estimation/planning/plan_json.h"
#include "server/curator/estimation/planning/study_defaults.h"
#include "server/curator/study/study_settings.h"
#include "server/serving/service/handlers.h"
#include "server/serving/service/messages.h"

namespace coppice::service {
namespace {

// If there are more public rows or values than this, rows are drawn at random with the request's
// seed; the response has their number.
constexpr size_t kMaxPreviewRows = 5'000;
constexpr size_t kMaxPreviewValues = 2'000'000;
constexpr int kMaxValues = 8;  // 64 studies take some seconds

Status CheckCount(std::string_view field, int count) {
  if (count <= kMaxValues) return OkStatus();
  return FieldError(field, StrCat("must have at most ", kMaxValues, " values, has ", count));
}

StatusOr<std::vector<Budget>> EpsilonsOf(const v1::PreviewStudyRequest& request) {
  COPPICE_RETURN_IF_ERROR(CheckCount("epsilon_nanos", request.epsilon_nanos_size()));
  std::vector<Budget> epsilons;
  if (request.epsilon_nanos().empty()) {
    for (const uint64_t nanos : curator::kForecastEpsilonNanos) {
      epsilons.push_back(*Budget::FromNanos(nanos));
    }
  }
  for (int i = 0; i < request.epsilon_nanos_size(); ++i) {
    const uint64_t nanos = request.epsilon_nanos(i);
    if (nanos < kMinEpsilonNanos || nanos > kMaxStudyEpsilonNanos) {
      return FieldError(
          ElementName("epsilon_nanos", i),
          StrCat("must be ", kMinEpsilonNanos, " to ", kMaxStudyEpsilonNanos, ", is ", nanos));
    }
    COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::FromNanos(nanos));
    epsilons.push_back(epsilon);
  }
  return epsilons;
}

// The rows, or as many of them as a preview accepts, drawn without replacement.
Table PreviewRows(const Table& rows, uint64_t seed) {
  const size_t features = std::max<size_t>(rows.schema().num_features(), 1);
  const size_t most = std::min(kMaxPreviewRows, std::max<size_t>(kMaxPreviewValues / features, 1));
  std::vector<size_t> drawn(rows.num_rows());
  std::iota(drawn.begin(), drawn.end(), size_t{0});
  if (drawn.size() > most) {
    PublicRandom random(seed, /*stream=*/2);
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

v1::Outlook ToProto(const curator::PlannedStudy& study, bool with_labels, bool numbers) {
  v1::Outlook proto;
  const curator::StudyForecast& forecast = study.forecast;
  proto.set_epsilon_nanos(study.epsilon.nanos());
  proto.set_devices(study.devices);
  proto.set_mechanism(coppice::ToProto(study.cost.kind));
  proto.set_payload_bytes(study.cost.payload_bytes);
  proto.set_equivalent_rows(forecast.equivalent_rows);
  proto.set_influence(forecast.influence);
  if (with_labels) {
    *(numbers ? proto.mutable_rmse() : proto.mutable_accuracy()) =
        ToProto(numbers ? forecast.rmse : forecast.accuracy);
    proto.set_gain(forecast.gain.mean);
    *proto.mutable_gain_interval() = ToProto(forecast.gain);
  }
  proto.set_readers_epsilon_nanos(study.readers.epsilon_nanos);
  proto.set_readers_delta_atto(study.readers.delta_atto);
  return proto;
}

// The check that creating a study makes.
Status CheckRoundingOf(const curator::StudySpec& spec) {
  if (!spec.rounding.has_value()) return OkStatus();
  const std::optional<Target>& target = spec.public_rows->schema().target();
  const Status status =
      target.has_value() ? CheckRounding(*spec.rounding, *target)
                         : InvalidArgumentError("rounding: is for numbers; the schema has classes");
  return status.ok() ? status : InField("study", status);
}

// The question to a planner.
struct Question {
  std::vector<Budget> epsilons{};
  std::vector<uint64_t> devices{};
  std::optional<MechanismKind> mechanism{};  // chosen if unset
  size_t max_payload_bytes = 0;
  bool with_page = false;
  std::optional<curator::RelaySettings> relay{};  // the relay that reports would come through
};

// Fewer devices than a batch needs make no batch, and nothing would reach the curator.
void AddRelay(const curator::PlannedStudy& study, const curator::RelaySettings& relay,
              v1::Outlook& outlook) {
  if (study.devices < relay.min_batch) return;
  const curator::BatchBound bound =
      curator::BoundForBatches(study.epsilon, study.cost.two_sided_mass, relay.min_batch,
                               relay.dishonest_millionths, relay.delta_atto);
  outlook.set_relay_epsilon_nanos(bound.epsilon_nanos);
  outlook.set_relay_delta_atto(bound.epsilon_nanos == 0 ? 0 : relay.delta_atto);
}

// A plan needs no relay's key.
StatusOr<std::optional<curator::RelaySettings>> RelayOf(const v1::CreateStudyRequest& request,
                                                        const Schema& schema) {
  if (!request.settings().has_relay()) return std::nullopt;
  v1::StudySettings settings;
  *settings.mutable_relay() = request.settings().relay();
  if (settings.relay().relay_key().empty()) {
    settings.mutable_relay()->set_relay_key(
        std::string(std::tuple_size_v<decltype(curator::RelaySettings::relay_key)>, '\0'));
  }
  COPPICE_ASSIGN_OR_RETURN(const curator::StudySettings parsed,
                           curator::ParseStudySettings(settings));
  if (ReportForm::For(schema).ShowsSomething()) {
    return FieldError(
        "settings.relay",
        "public features would identify devices, so no batch could hide which report is whose");
  }
  return parsed.relay;
}

StatusOr<std::vector<uint64_t>> DevicesOf(
    const google::protobuf::RepeatedField<uint64_t>& devices) {
  COPPICE_RETURN_IF_ERROR(CheckCount("devices", devices.size()));
  if (devices.empty()) {
    return std::vector<uint64_t>(std::begin(curator::kForecastDevices),
                                 std::end(curator::kForecastDevices));
  }
  for (int i = 0; i < devices.size(); ++i) {
    if (devices[i] == 0) return FieldError(ElementName("devices", i), "must be positive");
  }
  return std::vector<uint64_t>(devices.begin(), devices.end());
}

// Answers for the first combination of epsilon and devices.
StatusOr<std::vector<curator::FeatureWorth>> WorthsOf(const curator::Planner& planner,
                                                      const Question& question,
                                                      const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(
      const curator::MechanismCost cost,
      planner.Cost(question.epsilons.front(), question.mechanism, question.max_payload_bytes));
  return planner.WorthOfPublicFeatures(static_cast<double>(question.devices.front()), cost, cancel);
}

StatusOr<std::vector<curator::PlannedStudy>> StudiesOf(const curator::Planner& planner,
                                                       const Schema& schema,
                                                       const Question& question,
                                                       const CancelCheck& cancel) {
  std::vector<curator::PlannedStudy> studies;
  for (const Budget& epsilon : question.epsilons) {
    COPPICE_ASSIGN_OR_RETURN(const curator::MechanismCost cost,
                             planner.Cost(epsilon, question.mechanism, question.max_payload_bytes));
    for (const uint64_t devices : question.devices) {
      COPPICE_ASSIGN_OR_RETURN(curator::PlannedStudy study,
                               curator::PlanStudy(planner, schema, epsilon, cost, devices, cancel));
      studies.push_back(std::move(study));
    }
  }
  return studies;
}

std::string RenderPlan(const curator::Planner& planner,
                       const std::vector<curator::PlannedStudy>& studies,
                       const std::vector<curator::FeatureWorth>& worths, const Table& rows,
                       const std::optional<curator::RelaySettings>& relay) {
  std::optional<curator::Baseline> baseline;
  if (planner.partition().use_labels) baseline = curator::BaselineAmong(rows);
  auto plan = curator::PlanJson(planner, studies, baseline);
  if (!worths.empty()) plan["public_features"] = curator::WorthsJson(worths);
  if (relay.has_value()) {
    plan["relay"] = curator::BatchesJson(studies, relay->min_batch, relay->dishonest_millionths,
                                         relay->delta_atto);
  }
  return report::PlanPage(plan);
}

// `rows` must be the planner's.
Status Answer(const curator::Planner& planner, const Table& rows, const Question& question,
              const CancelCheck& cancel, v1::PreviewStudyResponse& response) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<curator::FeatureWorth> worths,
                           WorthsOf(planner, question, cancel));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<curator::PlannedStudy> studies,
                           StudiesOf(planner, rows.schema(), question, cancel));
  for (const curator::FeatureWorth& worth : worths) {
    v1::FeatureWorth& proto = *response.add_public_features();
    proto.set_name(worth.name);
    proto.set_gain(worth.gain);
    proto.set_equivalent_rows(worth.equivalent_rows);
  }
  const bool with_labels = planner.partition().use_labels;
  const bool numbers = planner.predicts_numbers();
  for (const curator::PlannedStudy& study : studies) {
    v1::Outlook& outlook = *response.add_outlooks();
    outlook = ToProto(study, with_labels, numbers);
    if (question.relay.has_value()) AddRelay(study, *question.relay, outlook);
  }
  if (with_labels) {
    *(numbers ? response.mutable_public_only_rmse() : response.mutable_public_only()) =
        ToProto(planner.public_only());
  }
  response.set_public_rows(curator::PublicRowsOf(planner));
  response.set_effective_cells(planner.effective_cells());
  response.set_advice(curator::AdviceOn(planner, studies));
  if (question.relay.has_value()) {
    *response.mutable_relay() = curator::ToProto({.relay = question.relay}).relay();
    response.mutable_relay()->clear_relay_key();  // a forecast needs none
  }
  if (question.with_page)
    response.set_page(RenderPlan(planner, studies, worths, rows, question.relay));
  return OkStatus();
}

}  // namespace

Status StudyHandlers::PreviewStudy(const Caller& /*caller*/, const v1::PreviewStudyRequest& request,
                                   v1::PreviewStudyResponse* response,
                                   const CancelCheck& cancel) const {
  Question question{.with_page = request.with_page()};
  COPPICE_ASSIGN_OR_RETURN(question.epsilons, EpsilonsOf(request));
  COPPICE_ASSIGN_OR_RETURN(question.devices, DevicesOf(request.devices()));
  const Budget& first = question.epsilons.front();
  const StatusOr<curator::StudySpec> spec = PreviewSpec(request.study(), first);
  if (!spec.ok()) return InField("study", spec.status());
  COPPICE_RETURN_IF_ERROR(CheckRoundingOf(*spec));
  question.mechanism = spec->mechanism;
  question.max_payload_bytes = spec->max_payload_bytes;
  StatusOr<std::optional<curator::RelaySettings>> relay =
      RelayOf(request.study(), spec->public_rows->schema());
  if (!relay.ok()) return InField("study", relay.status());
  question.relay = *relay;
  const Table rows = PreviewRows(*spec->public_rows, spec->partition.seed);
  COPPICE_ASSIGN_OR_RETURN(
      const curator::Planner planner,
      curator::Planner::Create(rows, first,
                               {.partition = spec->partition,
                                .expected_devices = static_cast<double>(question.devices.front()),
                                .seed = spec->partition.seed,
                                .rounding = spec->rounding},
                               cancel));
  return Answer(planner, rows, question, cancel, *response);
}

Status StudyHandlers::ForecastStudy(const Caller& /*caller*/,
                                    const v1::ForecastStudyRequest& request,
                                    v1::ForecastStudyResponse* response,
                                    const CancelCheck& cancel) const {
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ParseName(kStudies, request.name()));
  Question question{.with_page = request.with_page()};
  COPPICE_ASSIGN_OR_RETURN(question.devices, DevicesOf(request.devices()));
  COPPICE_ASSIGN_OR_RETURN(const curator::PublicSide study, studies_.GetPublicSide(id));
  question.epsilons = {study.terms->epsilon};
  question.mechanism = study.terms->mechanism;
  question.relay = study.relay;
  const Table rows = PreviewRows(*study.rows, study.partition.seed);
  COPPICE_ASSIGN_OR_RETURN(const curator::Planner planner,
                           curator::Planner::Create(rows, study.terms->epsilon,
                                                    {.partition = study.partition,
                                                     .seed = study.partition.seed,
                                                     .rounding = study.terms->rounding,
                                                     .forest = study.forest},
                                                    cancel));
  return Answer(planner, rows, question, cancel, *response->mutable_forecast());
}

}  // namespace coppice::service
