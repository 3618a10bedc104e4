// tests/runtimes tests the header with compilers and other programs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "common/base/status.h"
#include "common/export/c_parts.h"
#include "common/export/formats.h"
#include "tests/common/export/sample_models.h"

namespace coppice::formats {
namespace {

using ::coppice::testing::ExportedRegression;
using ::coppice::testing::ExportedSchema;
using ::coppice::testing::kHostileText;
using ::coppice::testing::NumericSplit;
using ::coppice::testing::OneSplit;
using ::coppice::testing::SumOfTwo;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CTextTest, EndsNeitherStringsNorComments) {
  EXPECT_EQ(CString("a \"b\" \\"), R"("a \"b\" \\")");
  EXPECT_EQ(CString("*/ ?\?/\n\xc3\xa9"), R"("\052/ \077\077/\012\303\251")");
  EXPECT_EQ(CComment("*/ \\ ε = 1"), "\\052/ \\134 epsilon = 1");
}

TEST(CTextTest, AnOctalEscapeTakesNoDigitAfterIt) { EXPECT_EQ(CString("\n1"), "\"\\0121\""); }

TEST(CTextTest, IdentifiersAreUniqueAndPlain) {
  Identifiers names;
  EXPECT_EQ(names.Enumerator("p", "income (k$)"), "P_INCOME_K");
  EXPECT_EQ(names.Enumerator("p", "Income-K"), "P_INCOME_K_2");
  EXPECT_EQ(names.Enumerator("p", "\xc3\xa9"), "P_X");
  EXPECT_EQ(names.Enumerator("p", ""), "P_X_2");
  EXPECT_EQ(names.Enumerator("p", std::string(1000, 'a')).size(), 26u);
}

TEST(CHeaderTest, HoldsTheCertificateAndPlainAsciiAlone) {
  const std::string text =
      *ToCHeader(OneSplit(ExportedSchema(), NumericSplit(0, 0.5), {1, -1}, {-1, 1}), "M-91/c0");
  EXPECT_THAT(text, HasSubstr("epsilon = 1.5, delta = 7e-18"));
  EXPECT_THAT(text, HasSubstr("static inline int coppice_m_91_c0_predict("));
  EXPECT_THAT(text, HasSubstr("COPPICE_M_91_C0_CLASS_END = 1"));
  EXPECT_THAT(text, Not(HasSubstr("@_")));
  EXPECT_FALSE(std::regex_search(text, std::regex("[^\\n\\x20-\\x7e]")));
  EXPECT_FALSE(std::regex_search(text, std::regex("\\?\\?")));
}

TEST(CHeaderTest, HasOnlyWhatItsModelNeeds) {
  const std::string number =
      *ToCHeader(OneSplit(ExportedRegression(), NumericSplit(0, 0.5), {0, 1}, {0, 0.5}), "m");
  EXPECT_THAT(number, HasSubstr("static inline double coppice_m_predict("));
  EXPECT_THAT(number, Not(HasSubstr("_exp(")));
  EXPECT_THAT(number, Not(HasSubstr("terms")));
  const std::string derived = *ToCHeader(OneSplit(ExportedSchema(), NumericSplit(3, 0.5), {0, 1},
                                                  {1, 0}, LeafKind::kScores, {SumOfTwo()}),
                                         "m");
  EXPECT_THAT(derived, HasSubstr("terms[][3] = {{0, 1, 0}}"));
  EXPECT_THAT(derived, HasSubstr("signs[][3] = {{1, -1, 0}}"));
}

TEST(CHeaderTest, RefusesNamesThatAreTooLongForAString) {
  const Schema schema = ExportedSchema({"no", std::string(1001, 'y')});
  const Status status =
      ToCHeader(OneSplit(schema, NumericSplit(0, 0.5), {1, -1}, {-1, 1}), "m").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("1001 bytes"));
}

}  // namespace
}  // namespace coppice::formats
