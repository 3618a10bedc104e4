#include "server/relay/service/admission.h"

#include <filesystem>
#include <fstream>

#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::relay {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr EpochId kFirst = {1};
constexpr EpochId kSecond = {2};

std::string HexOf(const Sha256Digest& digest) {
  return BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}
std::string HashOf(const std::string& token) { return HexOf(Sha256({token})); }

auto IsUnknown() { return StatusIs(StatusCode::kUnauthenticated, HasSubstr("operator")); }
auto HasTakenAll() { return StatusIs(StatusCode::kResourceExhausted, HasSubstr("taken")); }

class AdmissionTest : public ::testing::Test {
 protected:
  std::string File() const { return dir_.path() + "/devices"; }
  void Write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(File(), std::ios::trunc) << text;
    std::filesystem::permissions(File(), static_cast<std::filesystem::perms>(mode));
  }
  void Open(const std::string& text) {
    Write(text);
    ASSERT_OK_AND_ASSIGN(admission_, Admission::Open(File()));
  }
  Status Take(const std::string& token, const EpochId& epoch = kFirst,
              const std::string& study = "studies/wells") {
    return admission_->Admit(study, epoch, {.token = token, .certificate = {}});
  }
  Status Refused(const std::string& text) {
    Write(text);
    return Admission::Open(File()).status();
  }

  TempDir dir_;
  std::unique_ptr<Admission> admission_;
};

TEST_F(AdmissionTest, CountsTicketsByNameAndDeal) {
  Open(StrCat("# devices\n\n a ", HashOf("token-a"), "\nb\t", HashOf("token-b"), " 1 # one\r\n"));
  for (int i = 0; i < 3; ++i) EXPECT_OK(Take("token-a"));
  EXPECT_THAT(Take("token-a"), HasTakenAll());
  EXPECT_OK(Take("token-b"));
  EXPECT_THAT(Take("token-b"), HasTakenAll());
  EXPECT_OK(Take("token-b", kSecond));
  EXPECT_THAT(Take("token-b", kSecond), HasTakenAll());
  EXPECT_THAT(Take("token-b", kFirst), HasTakenAll());  // a late call
  EXPECT_THAT(Take("token-b", kSecond), HasTakenAll());
  EXPECT_OK(Take("token-b", kFirst, "studies/other"));  // counted per study
}

TEST_F(AdmissionTest, TwoTokensOfANameShareItsTickets) {
  Open(StrCat("a ", HashOf("old"), " 2\na ", HashOf("new"), " 2\n"));
  EXPECT_OK(Take("old"));
  EXPECT_OK(Take("new"));
  EXPECT_THAT(Take("new"), HasTakenAll());
}

TEST_F(AdmissionTest, NobodyElseIsAdmittedAndAllAreToldTheSame) {
  Open(StrCat("a ", HashOf("token-a")));
  const Status nothing = admission_->Admit("studies/wells", kFirst, {});
  EXPECT_THAT(nothing, IsUnknown());
  EXPECT_EQ(Take("token-b"), nothing);
  EXPECT_EQ(Take(HashOf("token-a")), nothing);  // a hash is no token
  EXPECT_EQ(Take(""), nothing);
}

// Certificates are public, so their bytes must not count as a token.
TEST_F(AdmissionTest, ATokenIsNoCertificate) {
  const Sha256Digest digest = Sha256({"der"});
  Open(StrCat("a certificate:", HexOf(digest), " 1\n"));
  EXPECT_THAT(Take("der"), IsUnknown());
  const ShownCredentials certificate{.token = {}, .certificate = digest};
  EXPECT_OK(admission_->Admit("studies/wells", kFirst, certificate));
  EXPECT_THAT(admission_->Admit("studies/wells", kFirst, certificate), HasTakenAll());
}

TEST_F(AdmissionTest, AReloadKeepsWhatWasTaken) {
  Open(StrCat("a ", HashOf("token-a"), " 1\n"));
  EXPECT_FALSE(admission_->HasChanged());
  EXPECT_OK(Take("token-a"));
  Write(StrCat("a ", HashOf("token-a"), " 2\nb ", HashOf("token-b"), "\n"));
  EXPECT_TRUE(admission_->HasChanged());
  EXPECT_OK(admission_->Reload());
  EXPECT_FALSE(admission_->HasChanged());
  EXPECT_OK(Take("token-a"));
  EXPECT_THAT(Take("token-a"), HasTakenAll());
  EXPECT_OK(Take("token-b"));
}

TEST_F(AdmissionTest, ABadFileChangesNothingAndIsNotReadOverAndOver) {
  Open(StrCat("a ", HashOf("token-a")));
  Write("a nonsense\n");
  EXPECT_THAT(admission_->Reload(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 1")));
  EXPECT_FALSE(admission_->HasChanged());
  std::filesystem::remove(File());
  EXPECT_TRUE(admission_->HasChanged());
  EXPECT_THAT(admission_->Reload(), StatusIs(StatusCode::kNotFound, HasSubstr("--admission")));
  EXPECT_FALSE(admission_->HasChanged());
  EXPECT_OK(Take("token-a"));
}

TEST_F(AdmissionTest, BadLinesAreNamed) {
  const std::string good = StrCat("a ", HashOf("token-a"));
  const auto is_bad = [this](const std::string& what) {
    return StatusIs(StatusCode::kInvalidArgument,
                    AllOf(HasSubstr("--admission " + File()), HasSubstr(what)));
  };
  EXPECT_THAT(Refused("# a\n"), is_bad("names nobody"));
  EXPECT_THAT(Refused(good + "\nb\n"), is_bad("line 2: needs NAME"));
  EXPECT_THAT(Refused(good + "0\n"), is_bad("line 1: needs NAME"));
  EXPECT_THAT(Refused("a token:" + HashOf("x")), is_bad("line 1: needs NAME"));
  EXPECT_THAT(Refused(good + " 0\n"), is_bad("from 1 to 1000000"));
  EXPECT_THAT(Refused(good + " 1000001\n"), is_bad("from 1 to 1000000"));
  EXPECT_THAT(Refused(good + " 1 2\n"), is_bad("line 1: needs NAME"));
  EXPECT_THAT(Refused(good + "\nb " + HashOf("token-a")), is_bad("line 2: this token"));
}

TEST_F(AdmissionTest, AFileThatEverybodyReadsIsRefused) {
  Write(StrCat("a ", HashOf("token-a")), 0644);
  EXPECT_THAT(Admission::Open(File()).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("chmod")));
  EXPECT_THAT(Admission::Open(dir_.path() + "/none").status(),
              StatusIs(StatusCode::kNotFound, HasSubstr("--admission")));
}

TEST_F(AdmissionTest, AdmitsEverybodyWithoutAFile) {
  admission_ = Admission::OfEverybody();
  for (int i = 0; i < 10; ++i) EXPECT_OK(Take(""));
  EXPECT_FALSE(admission_->HasChanged());
  EXPECT_OK(admission_->Reload());
}

}  // namespace
}  // namespace coppice::relay
