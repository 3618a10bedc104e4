// `coppice study reports`: how many reports met which outcome, over time.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/cli/studies/commands.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/time_text.h"
#include "common/describe/text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {
namespace {

struct ReportsFlags {
  ServerFlags server;
  OutputFlags output;
  std::string study;
};

std::string OutcomeText(v1::ReportOutcome outcome) { return EnumText(outcome); }

// The same members for every step: each outcome that occurred in any step.
Json DescribeStep(const v1::ReportStep& step, const std::set<v1::ReportOutcome>& outcomes) {
  Json json = {{"begin", TimeText(step.begin_unix_seconds())}};
  for (const v1::ReportOutcome outcome : outcomes) json[OutcomeText(outcome)] = 0;
  for (const v1::ReportCount& count : step.counts()) {
    json[OutcomeText(count.outcome())] = count.reports();
  }
  return json;
}

Status ShowReports(const ReportsFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::GetReportHistoryRequest request;
  request.set_name(MakeName(kStudies, flags.study));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::GetReportHistoryResponse>(request));
  std::set<v1::ReportOutcome> outcomes = {v1::REPORT_OUTCOME_ACCEPTED};
  for (const v1::ReportStep& step : response.steps()) {
    for (const v1::ReportCount& count : step.counts()) outcomes.insert(count.outcome());
  }
  std::vector<Json> steps;
  for (const v1::ReportStep& step : response.steps()) {
    const bool is_shown = flags.output.json || step.counts_size() > 0;
    if (is_shown) steps.push_back(DescribeStep(step, outcomes));
  }
  if (flags.output.json) {
    PrintObject(
        {{"study", flags.study}, {"step_seconds", response.step_seconds()}, {"steps", steps}},
        /*json=*/true);
    return OkStatus();
  }
  PrintRows(steps, /*json=*/false);
  Note(StrCat("Each line is a step of ", response.step_seconds(),
              " s; steps without reports are left out. Steps begin when the daemon started; "
              "`coppice study show` has the totals from before."));
  return OkStatus();
}

}  // namespace

void AddStudyReports(const Command& noun) {
  const auto flags = std::make_shared<ReportsFlags>();
  const Command verb = noun.AddCommand("reports",
                                       "Show how many reports a study received in each time step "
                                       "since the daemon started, by outcome",
                                       "coppice study reports --study s-4f2a");
  AddIdFlag(verb, "--study", flags->study, "Id of the study");
  SetRemoteAction(verb, flags, ShowReports);
}

}  // namespace coppice::cli
