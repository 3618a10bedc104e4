#include "server/lab/batch_bound.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/ldp/amplification.h"
#include "common/privacy/delta.h"
#include "common/terms/report_form.h"

namespace coppice::lab {
namespace {

using BatchReport = nlohmann::ordered_json;

struct Batch {
  uint64_t honest = 0;
  uint64_t delta = 0;
};

StatusOr<Batch> SmallestBatch(const PlanFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const uint64_t delta, ShuffleDelta(flags.delta, flags.min_batch));
  const uint64_t honest = HonestReports(flags.min_batch, kDefaultDishonestMillionths);
  if (honest > 0) return Batch{.honest = honest, .delta = delta};
  return InvalidArgumentError(
      "--min-batch: with one report in ten assumed dishonest, no honest report is left; give 2 or "
      "more");
}

// Returns the mechanism of a study, and the epsilon of a report of `local` in the smallest batch.
StatusOr<BatchReport> BatchEpsilon(const PlanFlags& flags, const curator::Planner& planner,
                                   std::optional<MechanismKind> mechanism, const Budget& local,
                                   const Batch& batch) {
  COPPICE_ASSIGN_OR_RETURN(const curator::MechanismCost cost,
                           planner.Cost(local, mechanism, flags.max_payload));
  COPPICE_ASSIGN_OR_RETURN(
      const Budget central,
      PromisedEpsilon({batch.honest, local, cost.two_sided_mass}, batch.delta));
  return BatchReport{{"epsilon", local.epsilon()},
                     {"mechanism", std::string(MechanismName(cost.kind))},
                     {"batch_epsilon", central.epsilon()}};
}

StatusOr<Budget> LargestEpsilon(const PlanFlags& flags, const curator::Planner& planner,
                                std::optional<MechanismKind> mechanism, const Batch& batch) {
  COPPICE_ASSIGN_OR_RETURN(const Budget central, ParseShuffleEpsilon(flags.central_epsilon));
  return LargestLocalEpsilon(
      batch.honest, central, batch.delta, [&](const Budget& tried) -> StatusOr<double> {
        COPPICE_ASSIGN_OR_RETURN(const curator::MechanismCost cost,
                                 planner.Cost(tried, mechanism, flags.max_payload));
        return cost.two_sided_mass;
      });
}

}  // namespace

double DeltaNumber(uint64_t delta) { return static_cast<double>(delta) / kDeltaOne; }

StatusOr<Budget> ParseShuffleEpsilon(const std::string& text) {
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::Parse(text));
  if (epsilon.nanos() >= kMinEpsilonNanos && epsilon.nanos() <= kMaxAmplifiedNanos) return epsilon;
  return InvalidArgumentError("must be from 0.01 to 20");
}

StatusOr<uint64_t> ShuffleDelta(const std::string& text, uint64_t reports) {
  uint64_t delta = DefaultShuffleDelta(reports);
  if (!text.empty()) {
    COPPICE_ASSIGN_OR_RETURN(delta, ParseDelta(text));
  }
  const uint64_t most = kDeltaOne / 10 / reports;
  if (delta > 0 && delta <= most) return delta;
  return InvalidArgumentError(StrCat("--delta: must be above 0 and at most 1 / (10 reports), for ",
                                     reports, " reports ", DeltaNumber(most),
                                     "; with more, the promise may fail for someone"));
}

void AddBatchFlags(const Command& command, PlanFlags& flags) {
  command
      .Add("--min-batch", flags.min_batch,
           "reports that a relay collects before it passes them on: prints the central epsilon "
           "towards the curator")
      .InRange(uint64_t{2}, kMaxShuffledReports);
  command
      .Add("--delta", flags.delta,
           "of that epsilon, at most 1 / (10 reports) (default: 1e-8, or that)")
      .Check(
          [](const std::string& text) { return std::string(ParseDelta(text).status().message()); });
  command
      .Add("--central-epsilon", flags.central_epsilon,
           "target for such a batch: prints the largest epsilon of one report")
      .Check([](const std::string& text) {
        return std::string(ParseShuffleEpsilon(text).status().message());
      });
}

Status CheckBatchFlags(const PlanFlags& flags) {
  if (flags.min_batch > 0) return SmallestBatch(flags).status();
  if (flags.delta.empty() && flags.central_epsilon.empty()) return OkStatus();
  return InvalidArgumentError(
      "--delta and --central-epsilon are about a relay's batches; give --min-batch too");
}

Status CheckBatchSchema(const PlanFlags& flags, const Schema& schema) {
  if (flags.min_batch == 0 || !ReportForm::For(schema).ShowsSomething()) return OkStatus();
  return InvalidArgumentError(
      "--min-batch: devices of this schema show public features, by which reports can be told "
      "apart, so no batch hides whose they are");
}

StatusOr<BatchReport> BatchJson(const PlanFlags& flags, const curator::Planner& planner,
                                const std::vector<std::optional<MechanismKind>>& mechanisms) {
  if (flags.min_batch == 0) return BatchReport();
  COPPICE_ASSIGN_OR_RETURN(const Batch batch, SmallestBatch(flags));
  BatchReport studies = BatchReport::array();
  BatchReport largest = BatchReport::array();
  Status refused;
  const auto add = [&](BatchReport& to, std::optional<MechanismKind> mechanism,
                       const StatusOr<Budget>& local) {
    const auto made = local.ok() ? BatchEpsilon(flags, planner, mechanism, *local, batch)
                                 : StatusOr<BatchReport>(local.status());
    refused.Update(made.status());
    if (made.ok()) to.push_back(*made);
  };
  for (const std::optional<MechanismKind>& mechanism : mechanisms) {
    for (const std::string& text : flags.epsilons) add(studies, mechanism, Budget::Parse(text));
    if (flags.central_epsilon.empty()) continue;
    add(largest, mechanism, LargestEpsilon(flags, planner, mechanism, batch));
  }
  if (studies.empty() || (largest.empty() && !flags.central_epsilon.empty())) return refused;
  BatchReport report = {{"min_batch", flags.min_batch},
                        {"honest_reports", batch.honest},
                        {"delta", DeltaNumber(batch.delta)},
                        {"studies", std::move(studies)}};
  if (!flags.central_epsilon.empty()) report["largest"] = std::move(largest);
  return report;
}

std::string BatchText(const BatchReport& batches) {
  if (batches.is_null()) return "";
  std::string text = absl::StrFormat(
      "\nThrough a relay, in batches of at least %d reports, %d of them of honest devices, delta "
      "%g:\n\n%8s  %-18s %20s\n",
      batches["min_batch"].get<uint64_t>(), batches["honest_reports"].get<uint64_t>(),
      batches["delta"].get<double>(), "epsilon", "mechanism", "towards the curator");
  const auto add = [&](const BatchReport& row) {
    absl::StrAppendFormat(&text, "%8s  %-18s %20.9f\n", row["epsilon"].dump(),
                          row["mechanism"].get_ref<const std::string&>(),
                          row["batch_epsilon"].get<double>());
  };
  for (const BatchReport& row : batches["studies"]) add(row);
  if (batches.contains("largest")) {
    StrAppend(&text, "\nThe largest epsilon of a report that reaches it:\n\n");
    for (const BatchReport& row : batches["largest"]) add(row);
  }
  StrAppend(&text,
            "\nThat is towards a curator that does not collude with the relay, which deals tickets "
            "at random.\nIf the two collude, a report has the epsilon of the first column. See "
            "docs/relay.md.\n");
  return text;
}

}  // namespace coppice::lab
