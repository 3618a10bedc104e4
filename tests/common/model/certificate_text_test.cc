#include "common/model/certificate_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/text.h"

namespace coppice {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Release OneRelease(const std::string& what, const std::string& mechanism, uint64_t epsilon_nanos) {
  return {.what = what, .mechanism = mechanism, .epsilon_nanos = epsilon_nanos};
}

Certificate Central() {
  Release tree = OneRelease("the tree", "exponential", 250'000'000);
  tree.times = 2;
  Release leaves = OneRelease("the leaves", "laplace", 500'000'000);
  leaves.delta_atto = 1'000'000'000'000;
  leaves.part = "group 1";
  leaves.rho_pico = 125'000'000'000;
  Certificate certificate;
  certificate.epsilon_nanos = 1'000'000'000;
  certificate.delta_atto = 1'000'000'000'000;
  certificate.releases = {tree, leaves};
  certificate.mechanism = "forest";
  certificate.neighbouring = "one row more or less";
  certificate.public_inputs = {"the schema", "the settings"};
  return certificate;
}

Certificate Local() {
  Certificate certificate;
  certificate.epsilon_nanos = 500'000'000;
  certificate.releases = {OneRelease("a report", "laplace", 500'000'000)};
  certificate.mechanism = "laplace";
  certificate.neighbouring = "any value of one device's row for any other (local)";
  certificate.public_inputs = {"the schema", "40 public rows"};
  certificate.reports = 1234;
  return certificate;
}

// The whole text, one section per line.
std::string TextOf(const Certificate& certificate) {
  std::string text;
  for (const CertificateText::Section& section : DescribeCertificate(certificate).sections) {
    EXPECT_FALSE(section.title.empty());
    EXPECT_FALSE(section.sentences.empty());
    StrAppend(&text, section.title, ": ", StrJoin(section.sentences, " "), "\n");
  }
  return text;
}

TEST(CertificateTextTest, PublicRowsOfATableAreSaidToBeUnprotected) {
  EXPECT_THAT(TextOf(Central()), Not(HasSubstr("in both tables")));
  Certificate certificate = Central();
  certificate.public_rows = 200;
  certificate.public_inputs.emplace_back("public rows: 200, sha256 12ab, not protected");
  certificate.diagnosis = "half of the public rows' scores, which fit in part, then 9 trees";
  EXPECT_THAT(TextOf(certificate),
              AllOf(HasSubstr("the settings; public rows: 200, sha256 12ab, not protected."),
                    HasSubstr("The 200 public rows are known to everyone who holds the model"),
                    HasSubstr("A private row that is public too is not protected, and neither is "
                              "whoever is in both tables."),
                    HasSubstr("half of the public rows' scores, which fit in part, then 9 trees."),
                    HasSubstr("is the owner's claim: nothing here can check it.")));
}

TEST(CertificateTextTest, ColumnsFromPrivateRowsAreSaidToBeOutsideOfEpsilon) {
  const Feature age{.name = "age", .max = 120, .values = {}, .from_private_rows = true};
  const Schema open =
      *Schema::Create({Feature{.name = "sex", .max = 1, .values = {}}, age}, "ill", {"no", "yes"});
  const std::string uncovered = UncoveredColumns(open.WithAnswersFromPrivateRows());
  EXPECT_EQ(uncovered,
            "bounds of columns age, ill were read from the private rows and are not covered by ε");
  for (Certificate certificate : {Central(), Local()}) {
    EXPECT_THAT(TextOf(certificate), Not(HasSubstr("private rows")));
    EXPECT_THAT(PrivacyInALine(certificate), Not(HasSubstr("; but")));
    certificate.public_inputs.push_back(uncovered);
    EXPECT_THAT(
        TextOf(certificate),
        HasSubstr("What that does not cover: Public inputs are not protected: the schema; "));
    EXPECT_THAT(TextOf(certificate), HasSubstr(". Bounds of columns age, ill were read"));
    EXPECT_THAT(PrivacyInALine(certificate), HasSubstr("; but " + uncovered));
  }
  EXPECT_EQ(UncoveredColumns(*Schema::Create({Feature{.name = "sex", .max = 1, .values = {}}},
                                             "ill", {"no", "yes"})),
            "");
}

TEST(CertificateTextTest, EachReleaseIsSaidWithItsCost) {
  EXPECT_THAT(
      TextOf(Central()),
      AllOf(HasSubstr("By exponential, 2 times, each at ε = 0.25: the tree."),
            HasSubstr("By laplace, once, at ε = 0.5, δ = 1e-6 (ρ = 0.125), seeing one part of "
                      "the rows (group 1): the leaves."),
            HasSubstr("Together they cost ε = 1, δ = 1e-6. A row is in only one part")));
  EXPECT_THAT(TextOf(Local()), AllOf(HasSubstr("Together they cost ε = 0.5 per report."),
                                     Not(HasSubstr("in only one part"))));
}

TEST(CertificateTextTest, ReadersArePromisedWhatTheirBoundSaysAndItsAssumptions) {
  Certificate certificate = Local();
  EXPECT_THAT(TextOf(certificate), Not(HasSubstr("reads only models")));
  certificate.readers = {.epsilon_nanos = 31'000'000,
                         .delta_atto = 10'000'000'000,
                         .honest_reports = 1110,
                         .dishonest_millionths = 100'000};
  EXPECT_THAT(TextOf(certificate),
              AllOf(HasSubstr("sees at most ε = 0.031, δ = 1e-8 of a device's row"),
                    HasSubstr("1110 of the 1234 reports being honest"),
                    HasSubstr("10 % are assumed not to be"),
                    HasSubstr("towards the curator, only the ε of a report holds"),
                    HasSubstr("Together they cost ε = 0.5 per report.")));
  Certificate central = Central();
  central.readers = certificate.readers;
  EXPECT_THAT(TextOf(central), Not(HasSubstr("reads only models"))) << "no deal of tickets";
}

TEST(CertificateTextTest, TheRelaysPromiseComesAfterTheReportsAndSaysWhatItRestsOn) {
  Certificate certificate = Local();
  EXPECT_THAT(TextOf(certificate), Not(HasSubstr("relay")));
  certificate.readers = {.epsilon_nanos = 31'000'000, .delta_atto = 1, .honest_reports = 1110};
  certificate.relay = {.epsilon_nanos = 118'000'001,
                       .delta_atto = 10'000'000'000,
                       .honest_reports = 540,
                       .dishonest_millionths = 100'000,
                       .batches = 2,
                       .least_accepted = 600,
                       .relay_key = std::string("\x0a\xff", 2)};
  const std::string text = TextOf(certificate);
  EXPECT_THAT(text,
              AllOf(HasSubstr("does not collude with the relay of key 0aff it is protected with "
                              "ε = 0.118000001, δ = 1e-8"),
                    HasSubstr("on 540 reports of each batch being honest"),
                    HasSubstr("Of 2 batches the smallest has 600 accepted reports; 10 %"),
                    HasSubstr("If the relay and the curator collude, only ε = 0.5 holds."),
                    HasSubstr("a reader sees no more than the curator does")));
  EXPECT_LT(text.find("ε = 0.5"), text.find("ε = 0.118000001"));
  EXPECT_THAT(PrivacyInALine(certificate), HasSubstr("ε = 0.5 per report"));
  Certificate central = Central();
  central.relay = certificate.relay;
  EXPECT_THAT(TextOf(central), Not(HasSubstr("relay"))) << "no deal of tickets";
}

TEST(CertificateTextTest, ManyReleasesAreCounted) {
  Certificate certificate = Central();
  certificate.releases.assign(23, certificate.releases[0]);
  EXPECT_THAT(TextOf(certificate), HasSubstr("And 3 releases more"));
}

TEST(CertificateTextTest, LocalIsTowardsTheCuratorTooAndCentralIsNot) {
  EXPECT_THAT(TextOf(Local()),
              AllOf(HasSubstr("protected from everyone, including the curator"),
                    HasSubstr("the number of reports (1234) is public"),
                    HasSubstr("Public inputs are not protected: the schema; 40 public rows."),
                    HasSubstr("Each further report"), Not(HasSubstr("sees the rows"))));
  EXPECT_THAT(TextOf(Central()),
              AllOf(HasSubstr("but not from the curator"), HasSubstr("twice the ε"),
                    HasSubstr("can read its memory, its store or its backups, sees the rows"),
                    Not(HasSubstr("everybody"))));
  Certificate labels = Central();
  labels.neighbouring = "the label of one row; features are public";
  EXPECT_THAT(TextOf(labels), AllOf(HasSubstr("The features of all rows count as public"),
                                    Not(HasSubstr("twice the ε"))));
}

TEST(CertificateTextTest, EpsilonIsSaidAsAFactorThatIsNotTooSmall) {
  // The table of docs/choosing-epsilon.md, rounded up.
  struct {
    uint64_t nanos;
    const char *factor, *from_half, *from_one;
  } constexpr kCases[] = {
      {100'000'000, "e^0.1, at most 1.11,", "53 %", "1.11 %"},
      {1'000'000'000, "e^1, at most 2.72,", "74 %", "2.68 %"},
      {4'000'000'000, "e^4, at most 54.6,", "98.21 %", "36 %"},
      {8'000'000'000, "e^8, at most 2990,", "99.97 %", "97 %"},
      {20'000'000'000, "e^20, at most 4.86e+08,", "99.99999980 %", "99.999980 %"},
      {1'000'000'000'000, "e^1000, at most more than 1e308,", "100 %", "100 %"}};
  for (const auto& one : kCases) {
    Certificate certificate = Local();
    certificate.epsilon_nanos = one.nanos;
    const std::string text = TextOf(certificate);
    EXPECT_THAT(text, HasSubstr(one.factor));
    EXPECT_THAT(text, HasSubstr(StrCat("then seem ", one.from_half, " likely at most")));
    EXPECT_THAT(text, HasSubstr(StrCat("1 % can become ", one.from_one, " at most.")));
    EXPECT_EQ(text.find("near certainty") != std::string::npos, one.nanos >= 4'000'000'000);
  }
}

TEST(CertificateTextTest, DeltaIsAChanceThatThePromiseFails) {
  EXPECT_THAT(TextOf(Central()), HasSubstr("With probability δ = 1e-6 this guarantee may fail"));
  EXPECT_THAT(TextOf(Local()), Not(HasSubstr("δ")));
}

TEST(CertificateTextTest, WithoutPrivacyNothingIsPromised) {
  Certificate none = Central();
  none.neighbouring = "none: trained without privacy";
  none.epsilon_nanos = 0;
  EXPECT_THAT(TextOf(none), AllOf(HasSubstr("protected from nobody"), HasSubstr("exact facts"),
                                  Not(HasSubstr("costs nothing more")), Not(HasSubstr("odds"))));
  EXPECT_EQ(PrivacyInALine(none), "none: trained without privacy");
}

TEST(CertificateTextTest, ARelationThatIsNotKnownIsQuoted) {
  Certificate other = Central();
  other.neighbouring = "a cup of \x1b[31mtea";
  EXPECT_THAT(TextOf(other), AllOf(HasSubstr("in the certificate's words: a cup of �[31mtea"),
                                   Not(HasSubstr("protected from"))));
  other.neighbouring.clear();
  EXPECT_THAT(TextOf(other), HasSubstr("does not say which two cases"));
}

TEST(CertificateTextTest, NumbersAreExactInALine) {
  EXPECT_EQ(PrivacyInALine(Central()),
            "ε = 1, δ = 1e-6; one row more or less, protected from whoever sees the model, but "
            "not from the curator");
  Certificate local = Local();
  local.epsilon_nanos = 1'234'567'890'123'456'789;
  EXPECT_THAT(PrivacyInALine(local), HasSubstr("ε = 1234567890.123456789 per report"));
  local.epsilon_nanos = 1;
  EXPECT_THAT(PrivacyInALine(local), HasSubstr("ε = 1e-9 "));
  local.epsilon_nanos = 123'000;
  EXPECT_THAT(PrivacyInALine(local), HasSubstr("ε = 0.000123 "));
}

}  // namespace
}  // namespace coppice
