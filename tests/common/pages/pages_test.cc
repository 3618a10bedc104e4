#include "common/pages/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/read_file.h"
#include "common/base/text.h"
#include "common/pages/html.h"
#include "tests/common/pages/sample_reports.h"
#include "tests/support/full_tree.h"
#include "tests/support/status_matchers.h"

namespace coppice::report {
namespace {

using ::coppice::testing::FullTree;
using ::coppice::testing::kHostileFeature;
using ::coppice::testing::kHostileName;
using ::coppice::testing::Numeric;
using ::coppice::testing::SampleBudget;
using ::coppice::testing::SampleCurve;
using ::coppice::testing::SampleEvaluation;
using ::coppice::testing::SampleModel;
using ::coppice::testing::SampleNumberEvaluation;
using ::coppice::testing::SamplePlan;
using ::coppice::testing::SampleRecord;
using ::coppice::testing::SampleVerdict;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> AllPages() {
  Json verdict = SampleVerdict();
  verdict["neighbouring"] = kHostileName;
  Json plan = SamplePlan();
  plan["advice"] = kHostileName;
  return {EvaluationPage(SampleEvaluation(kHostileName)),
          EvaluationPage(SampleNumberEvaluation()),
          CurvePage(SampleCurve(kHostileName)),
          PlanPage(plan),
          TreePage(kHostileName, SampleModel()),
          CertificatePage(verdict),
          BudgetPage(SampleBudget()),
          RecordPage(kHostileName, kHostileName, SampleRecord())};
}

std::string Between(const std::string& text, const std::string& begin, const std::string& end) {
  const size_t from = text.find(begin);
  if (from == std::string::npos) return "";
  const size_t start = from + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

TEST(TextTest, LeavesNothingThatHtmlTakesForItsOwn) {
  EXPECT_EQ(Text("<a href='x'>\"&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;");
  EXPECT_EQ(Text("größe ε"), "größe ε");
  EXPECT_EQ(Text(std::string_view("a\0b\x1b", 4)), "a\uFFFDb\uFFFD");
  EXPECT_EQ(Text("\xff"), "\uFFFD");
}

TEST(PagesTest, NamesFromDataAreText) {
  for (const std::string& page : AllPages()) {
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("<b>bold")));
  }
  const std::string tree = TreePage("m-1", SampleModel());
  EXPECT_THAT(tree, HasSubstr(Text(kHostileFeature)));
  EXPECT_THAT(tree, HasSubstr(Text(kHostileName)));
}

// The browser compares the same digest, of the same bytes.
TEST(PagesTest, ThePolicyAllowsTheStyleAndNothingElse) {
  for (const std::string& page : AllPages()) {
    const std::string style = Between(page, "<style>", "</style>");
    std::vector<unsigned char> digest(EVP_MAX_MD_SIZE);
    unsigned size = 0;
    ASSERT_EQ(EVP_Digest(style.data(), style.size(), digest.data(), &size, EVP_sha256(), nullptr),
              1);
    std::vector<unsigned char> base64(4 * digest.size());
    const int letters = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
    const std::string hash(base64.begin(), base64.begin() + letters);
    EXPECT_EQ(Between(page, "Content-Security-Policy\" content=\"", "\""),
              StrCat("default-src 'none'; style-src 'sha256-", hash,
                     "'; base-uri 'none'; form-action 'none'"));
  }
}

// The console uses the files, and its policy their hash.
TEST(PagesTest, TheStyleIsTheFilesByteForByte) {
  const char* source = std::getenv("COPPICE_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  const std::string folder = StrCat(source, "/common/pages/style/");
  ASSERT_OK_AND_ASSIGN(const std::string chart, ReadFile(folder + "chart.css"));
  ASSERT_OK_AND_ASSIGN(const std::string page, ReadFile(folder + "page.css"));
  EXPECT_EQ(ChartStyleSheet(), chart);
  EXPECT_EQ(StyleSheet(), chart + page);
}

TEST(PagesTest, NothingIsLoadedAndNoStyleIsInline) {
  for (const std::string& page : AllPages()) {
    for (const char* outside : {" src=", " href=", "url(", "@import", " style=", " onclick"}) {
      EXPECT_THAT(page, Not(HasSubstr(outside)));
    }
    EXPECT_EQ(std::vector<std::string>(StrSplit(page, "http")).size() - 1,
              std::vector<std::string>(StrSplit(page, "http-equiv")).size() - 1 +
                  std::vector<std::string>(StrSplit(page, "http://www.w3.org/2000/svg")).size() -
                  1);
  }
}

TEST(PagesTest, TheVerdictComesFirst) {
  const std::string page = EvaluationPage(SampleEvaluation("yes"));
  const size_t verdict = page.find("Better than always answering no (0.885) by 0.013");
  ASSERT_NE(verdict, std::string::npos);
  EXPECT_LT(verdict, page.find("<main>"));
  EXPECT_THAT(page, HasSubstr("+0.004 to +0.022"));
  EXPECT_THAT(page, HasSubstr("abstained on 12 others"));
}

TEST(PagesTest, TheConfusionMatrixHasCountsAndShares) {
  const std::string page = EvaluationPage(SampleEvaluation("yes"));
  EXPECT_THAT(page, HasSubstr("<td class=\"heat h6 right\">783<small>97.9 %</small></td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"heat h1\">17<small>2.1 %</small></td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"n\">–</td>"));  // a class that is never predicted
}

TEST(PagesTest, ABinWithoutRowsIsNoPoint) {
  Json evaluation = SampleEvaluation("yes");
  const auto points = [&] {
    return std::vector<std::string>(StrSplit(EvaluationPage(evaluation), "class=\"dot")).size();
  };
  const size_t before = points();
  evaluation["calibration"].push_back(
      {{"low", 0.9}, {"high", 1.0}, {"rows", 0}, {"predicted", 0.0}, {"observed", 0.0}});
  EXPECT_EQ(points(), before);
  evaluation["calibration"].back()["rows"] = 3;
  EXPECT_EQ(points(), before + 1);
}

TEST(PagesTest, AnEvaluationOfNumbersHasTheMeanBesideIt) {
  const std::string page = EvaluationPage(SampleNumberEvaluation());
  EXPECT_THAT(page, HasSubstr("<b>2.431</b><span>2.281 to 2.572</span>"));
  EXPECT_THAT(page, HasSubstr("Always the mean"));
  EXPECT_THAT(page, Not(HasSubstr("Confusion")));
}

// A page leaves out what a command does not print, and nothing fails.
TEST(PagesTest, AShortEvaluationIsAPageToo) {
  const std::string page =
      EvaluationPage({{"model", "m-1"}, {"accuracy", 0.5}, {"rows", 10}, {"auc", nullptr}});
  EXPECT_THAT(page, HasSubstr("<b>0.500</b>"));
  EXPECT_THAT(page, Not(HasSubstr("AUC")));
}

TEST(PagesTest, ACurveHasALineAColumnAndItsSentences) {
  const std::string page = CurvePage(SampleCurve("answer"));
  EXPECT_THAT(page, HasSubstr("<li>auto: ε = 0.5 buys 0.004 over always answering no"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"col\" class=\"n\">local, 1000 devices</th>"));
  EXPECT_THAT(page,
              ContainsRegex("<th scope=\"row\">no privacy</th><td class=\"n\">0.902 ± 0.002"));
  EXPECT_THAT(page, HasSubstr("always “no”"));
  EXPECT_THAT(page, HasSubstr("for auto this is ordinary gradient boosting"));
  EXPECT_THAT(CurveDrawing(SampleCurve("answer"), ChartUse::kFile), HasSubstr("class=\"line s2\""));
}

TEST(PagesTest, WithoutARunWithoutPrivacyNothingIsBeyondTheAxis) {
  Json curve = SampleCurve("answer");
  for (Json& series : curve["series"]) series["non_private"] = nullptr;
  EXPECT_THAT(CurveDrawing(curve, ChartUse::kPart), Not(HasSubstr("hollow")));
  EXPECT_THAT(CurvePage(curve),
              HasSubstr("<th scope=\"row\">no privacy</th><td class=\"n\">–</td>"));
  EXPECT_THAT(CurvePage(curve), Not(HasSubstr("gradient boosting")));
}

TEST(PagesTest, APlanShowsTheGainWithItsOwnBand) {
  const std::string page = PlanPage(SamplePlan());
  EXPECT_THAT(page, HasSubstr("+0.034<small>+0.031 to +0.037</small>"));
  EXPECT_EQ(std::vector<std::string>(StrSplit(page, "class=\"band")).size() - 1, 4u);
}

TEST(PagesTest, APlanOfOneEpsilonIsDrawnOverTheDevices) {
  Json plan = SamplePlan();
  Json studies = Json::array();
  for (const Json& study : plan["studies"]) {
    if (study["epsilon"] == 1.0) studies.push_back(study);
  }
  ASSERT_EQ(studies.size(), 2u);
  plan["studies"] = studies;
  const std::string page = PlanPage(plan);
  EXPECT_THAT(page, HasSubstr("devices that answer"));
  EXPECT_THAT(page, HasSubstr(">ε = 1</text>"));
  EXPECT_THAT(page, Not(HasSubstr("over epsilon")));
  EXPECT_EQ(std::vector<std::string>(StrSplit(page, "class=\"band")).size() - 1, 2u);
}

TEST(PagesTest, APlanSaysWhatAnAccuracyTakes) {
  const std::string page = PlanPage(SamplePlan());
  EXPECT_THAT(page, HasSubstr("<td>1000 devices</td><td>more than was searched</td>"));
  EXPECT_THAT(page, HasSubstr("<td>ε = 1</td><td>20000 devices</td>"));
  EXPECT_THAT(page, HasSubstr("<dt>Always “no”</dt><dd><b>0.761</b>"));
}

TEST(PagesTest, APlanWithoutLabelsIsATable) {
  Json plan = SamplePlan();
  plan.erase("public_only");
  for (Json& study : plan["studies"]) {
    study.erase("accuracy");
    study.erase("gain");
    study.erase("gain_interval");
  }
  EXPECT_THAT(PlanPage(plan), Not(HasSubstr("<svg")));
  EXPECT_THAT(PlanPage(plan), HasSubstr("signed_hadamard"));
}

TEST(PagesTest, APlanOfNumbersHasErrorsInTheirUnits) {
  Json plan = SamplePlan();
  for (const char* of_classes : {"public_only", "majority", "majority_class"}) {
    plan.erase(of_classes);
  }
  plan["public_only_rmse"] = {{"low", 1200.5}, {"mean", 1300.25}, {"high", 1400}};
  for (Json& study : plan["studies"]) {
    study.erase("accuracy");
    study["rmse"] = {{"low", 1100}, {"mean", 1234.56}, {"high", 1300}};
    study["gain"] = 65.69;
    study["gain_interval"] = {60.5, 70};
  }
  const std::string page = PlanPage(plan);
  EXPECT_THAT(page, HasSubstr("<b>1300</b><span>1200 to 1400</span>"));
  EXPECT_THAT(page, HasSubstr("error (RMSE)"));
  EXPECT_THAT(page, HasSubstr("1235<small>1100 to 1300</small>"));
  EXPECT_THAT(page, HasSubstr("65.69<small>60.5 to 70</small>"));
  EXPECT_THAT(page, Not(HasSubstr("<svg")));
}

TEST(PagesTest, ATreeOpensQuestionByQuestion) {
  const std::string page = TreePage("m-1", SampleModel());
  EXPECT_THAT(page, HasSubstr("&lt; 37.5</summary>"));
  EXPECT_EQ(std::vector<std::string>(StrSplit(page, "<details")).size() - 1, 5u + 10u);
  EXPECT_EQ(std::vector<std::string>(StrSplit(page, "class=\"leaf\"")).size() - 1, 15u);
}

TEST(PagesTest, LeavesThatAddUpAreNoAnswers) {
  EXPECT_THAT(TreePage("m-1", SampleModel()), Not(HasSubstr("leaves add")));
  const Schema schema =
      *Schema::CreateRegression({Numeric("x", 0, 1)}, "y", {.min = 10, .max = 20});
  const Tree tree = FullTree(1, schema);
  LeafPrediction leaf;
  leaf.probabilities = {0.75, 0.25};
  const std::vector<LeafPrediction> leaves(tree.num_leaves(), leaf);
  const Model model =
      *Model::Create(schema, {tree, tree}, {leaves, leaves}, {}, LeafKind::kAdditive);
  EXPECT_THAT(TreePage("m-1", model),
              HasSubstr("Here leaves add to the number, which is 15 without any tree."));
}

TEST(PagesTest, ALargeForestIsCutAndSaysSo) {
  const Schema schema = *Schema::Create({Numeric("x", 0, 1)}, "y", {"a", "b"});
  const Tree tree = FullTree(12, schema);  // 8191 nodes
  LeafPrediction leaf;
  leaf.probabilities = {0.5, 0.5};
  const std::vector<LeafPrediction> leaves(tree.num_leaves(), leaf);
  const Model model = *Model::Create(schema, {tree, tree, tree}, {leaves, leaves, leaves}, {});
  const std::string page = TreePage("m-1", model);
  EXPECT_THAT(page, HasSubstr("1 tree is left out"));
  EXPECT_THAT(page, HasSubstr("--tree 2"));
}

TEST(PagesTest, ACertificateThatDoesNotAddUpSaysSo) {
  Json verdict = SampleVerdict();
  EXPECT_THAT(CertificatePage(verdict), Not(HasSubstr("do not use")));
  EXPECT_THAT(CertificatePage(verdict), Not(HasSubstr("one by one"))) << "the words tell them";
  EXPECT_THAT(CertificatePage(verdict), Not(HasSubstr("relay")));
  verdict["relay"] = {{"epsilon", 0.118000001}, {"delta", 1e-8}};
  const std::string relayed = CertificatePage(verdict);
  EXPECT_THAT(relayed, AllOf(HasSubstr("<dt>ε through the relay</dt><dd><b>0.118000001</b>"),
                             HasSubstr("does not collude with it; δ = 1e-08")));
  EXPECT_LT(relayed.find("the loss of privacy"), relayed.find("through the relay"));
  verdict["verified"] = verdict["consistent"] = false;
  verdict["words"] = Json::array();  // as `model verify` prints it then
  EXPECT_THAT(CertificatePage(verdict), HasSubstr("do not use this model"));
  EXPECT_THAT(CertificatePage(verdict), HasSubstr("Releases one by one"));
}

TEST(PagesTest, APlanNeedNotSayHowManyTrees) {
  Json plan = SamplePlan();
  EXPECT_THAT(PlanPage(plan), HasSubstr("<dt>Trees</dt><dd><b>64</b>"));
  plan.erase("trees");
  EXPECT_THAT(PlanPage(plan), Not(HasSubstr("<dt>Trees")));
}

TEST(PagesTest, ABudgetSaysFirstWhatIsLeft) {
  const std::string page = BudgetPage(SampleBudget());
  EXPECT_THAT(page, HasSubstr("<h1>Dataset people</h1>"));
  EXPECT_THAT(page, HasSubstr("<dt>ε left</dt><dd><b>1.5</b>"));
  EXPECT_THAT(page, HasSubstr("<b>1.5</b><span>50 % of 3</span>"));
  EXPECT_THAT(page, HasSubstr("whether each row is there"));
  EXPECT_THAT(page, Not(HasSubstr("δ in all")));
  EXPECT_THAT(page, Not(HasSubstr("On hold")));
}

TEST(PagesTest, WhatAJobPlannedIsToldByWhatItMade) {
  const std::string page = BudgetPage(SampleBudget());
  const auto times = [&](const std::string& text) {
    return std::vector<std::string>(StrSplit(page, text)).size() - 1;
  };
  EXPECT_EQ(times("the sums of each leaf"), 1u);
  EXPECT_EQ(times("the number of rows"), 2u) << "made by one job, planned by the other";
  EXPECT_EQ(times("reserved"), 2u);
}

TEST(PagesTest, ABudgetOfRhosSaysSo) {
  Json dataset = SampleBudget();
  dataset["composition"] = "zcdp";
  dataset["delta_total"] = 1e-6;
  dataset["rho_spent"] = 0.125;
  dataset["epsilon_left_with_delta"] = 1.25;
  const std::string page = BudgetPage(dataset);
  EXPECT_THAT(page, HasSubstr("<dt>ρ spent</dt><dd><b>0.125</b>"));
  EXPECT_THAT(page, HasSubstr("<dt>ε left with δ</dt><dd><b>1.25</b>"));
  EXPECT_THAT(page, HasSubstr("<dt>δ in all</dt><dd><b>1e-06</b>"));
}

TEST(PagesTest, ABudgetOnHoldSaysWhy) {
  Json dataset = SampleBudget();
  dataset["hold"] = "unconfirmed";
  EXPECT_THAT(BudgetPage(dataset), HasSubstr("until an admin confirms the ledger"));
  dataset["hold"] = "closed";
  EXPECT_THAT(BudgetPage(dataset), HasSubstr("Closed permanently"));
}

// An accountant in a process has neither rows nor a name.
TEST(PagesTest, ABudgetNeedNotBeADatasets) {
  const std::string page = BudgetPage(
      {{"epsilon_total", 2.0}, {"epsilon_spent", 0.0}, {"epsilon_left", 2.0}, {"ledger", nullptr}});
  EXPECT_THAT(page, HasSubstr("<h1>Budget</h1>"));
  EXPECT_THAT(page, Not(HasSubstr("Rows")));
  EXPECT_THAT(page, Not(HasSubstr("<table")));
  EXPECT_THAT(BudgetPage(Json::object()), HasSubstr("<dt>ε left</dt><dd><b>–</b>"));
}

TEST(PagesTest, ARecordHasATableOfItsMembersAndOneOfEachList) {
  const std::string page = RecordPage("Study", "Study leavers", SampleRecord());
  EXPECT_THAT(page, HasSubstr("<h1>Study leavers</h1>"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">rejected</th><td>bad ticket 2</td>"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">retired</th><td>yes</td>"));
  EXPECT_THAT(page, HasSubstr("<h2>alarms</h2>"));
  EXPECT_THAT(page, Not(HasSubstr("expires"))) << "null is left out";
  EXPECT_THAT(page, Not(HasSubstr("choice"))) << "so is what is empty";
  EXPECT_THAT(RecordPage("Job", "Job j", Json::object()), HasSubstr("<h1>Job j</h1>"));
}

TEST(PagesTest, ACertificateSaysWhetherTheCuratorSignedIt) {
  Json verdict = SampleVerdict();
  EXPECT_THAT(CertificatePage(verdict), HasSubstr("<dt>Signed by the curator</dt><dd><b>yes</b>"));
  verdict["signature"] = "unpinned";
  EXPECT_THAT(CertificatePage(verdict), HasSubstr("not compared with the curator"));
  verdict["signature"] = "unsigned";
  EXPECT_THAT(CertificatePage(verdict), HasSubstr("nothing shows who made it"));
  verdict["signature"] = "invalid";
  EXPECT_THAT(CertificatePage(verdict), HasSubstr("do not use this model"));
}

}  // namespace
}  // namespace coppice::report
