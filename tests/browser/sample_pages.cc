// Writes each kind of page into a folder, for browser_test.py: sample_pages DIR

#include <cstdio>
#include <fstream>
#include <string>

#include "tests/common/pages/sample_reports.h"

namespace coppice {
namespace {

bool Write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  return static_cast<bool>(file << text << std::flush);
}

bool WriteAll(const std::string& folder) {
  using testing::kHostileName;
  const testing::SampleJson curve = testing::SampleCurve("answer");
  return Write(folder + "/evaluation.html",
               report::EvaluationPage(testing::SampleEvaluation("yes"))) &&
         Write(folder + "/hostile.html",
               report::EvaluationPage(testing::SampleEvaluation(kHostileName))) &&
         Write(folder + "/regression.html",
               report::EvaluationPage(testing::SampleNumberEvaluation())) &&
         Write(folder + "/curve.html", report::CurvePage(curve)) &&
         Write(folder + "/curve.svg", report::CurveDrawing(curve, report::ChartUse::kFile)) &&
         Write(folder + "/plan.html", report::PlanPage(testing::SamplePlan())) &&
         Write(folder + "/budget.html", report::BudgetPage(testing::SampleBudget())) &&
         Write(folder + "/record.html",
               report::RecordPage("Study", "Study leavers", testing::SampleRecord())) &&
         Write(folder + "/tree.html", report::TreePage("m-91c0", testing::SampleModel())) &&
         Write(folder + "/certificate.html", report::CertificatePage(testing::SampleVerdict()));
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) {
  if (argc == 2 && coppice::WriteAll(argv[1])) return 0;
  std::fputs("usage: sample_pages DIR, a folder that is there\n", stderr);
  return 1;
}
