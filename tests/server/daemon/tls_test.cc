#include "server/http/tls.h"

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Certificates of deploy/make-certs.sh, valid through 2030.
class LoadTlsFilesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<coppice::testing::TempDir>();
    const char* source = std::getenv("COPPICE_SOURCE_DIR");
    ASSERT_NE(source, nullptr) << "run by ctest";
    ASSERT_EQ(std::system(StrCat(source, "/deploy/make-certs.sh --force-dates ",
                                 "20300101000000Z 20301231235959Z ", dir_->path(), " > /dev/null")
                              .c_str()),
              0);
  }
  static void TearDownTestSuite() { dir_.reset(); }

  static std::string File(const char* name) { return StrCat(dir_->path(), "/", name); }
  static Status Load(const std::string& certificate, const std::string& key,
                     absl::CivilDay day = absl::CivilDay(2030, 6, 1)) {
    return LoadTlsFiles(certificate, key, "", absl::FromCivil(day, absl::UTCTimeZone())).status();
  }

  static inline std::unique_ptr<coppice::testing::TempDir> dir_;
};

TEST_F(LoadTlsFilesTest, ReadsAPairThatBelongsTogether) {
  ASSERT_OK_AND_ASSIGN(
      const TlsFiles files,
      LoadTlsFiles(File("server.crt"), File("server.key"), "",
                   absl::FromCivil(absl::CivilDay(2030, 6, 1), absl::UTCTimeZone())));
  EXPECT_THAT(files.certificate, StartsWith("-----BEGIN CERTIFICATE-----"));
  EXPECT_THAT(files.key, StartsWith("-----BEGIN PRIVATE KEY-----"));
  EXPECT_EQ(files.client_ca, "");
}

TEST_F(LoadTlsFilesTest, NamesAMissingFile) {
  EXPECT_THAT(Load(File("none.crt"), File("server.key")),
              StatusIs(StatusCode::kNotFound, HasSubstr("--tls-cert")));
  EXPECT_THAT(Load(File("server.crt"), File("none.key")),
              StatusIs(StatusCode::kNotFound, HasSubstr("--tls-key")));
}

TEST_F(LoadTlsFilesTest, RefusesAFileOfTheWrongKind) {
  EXPECT_THAT(Load(File("server.key"), File("server.key")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is not a certificate")));
  EXPECT_THAT(Load(File("server.crt"), File("server.crt")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is not a private key")));
}

TEST_F(LoadTlsFilesTest, RefusesAChainWithAnInvalidCertificate) {
  ASSERT_OK_AND_ASSIGN(const std::string server, ReadFile(File("server.crt")));
  ASSERT_OK_AND_ASSIGN(const std::string authority, ReadFile(File("ca.crt")));
  const std::string chain = File("chain.crt");
  std::ofstream(chain) << server << "words between\n" << authority;
  EXPECT_OK(Load(chain, File("server.key")));
  std::ofstream(chain) << server << authority.substr(0, authority.size() / 2);
  EXPECT_THAT(Load(chain, File("server.key")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is not a certificate")));
}

TEST_F(LoadTlsFilesTest, RefusesTheKeyOfAnotherCertificate) {
  EXPECT_THAT(Load(File("server.crt"), File("client.key")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("does not belong to")));
}

TEST_F(LoadTlsFilesTest, RefusesACertificateOutsideItsValidity) {
  EXPECT_THAT(
      Load(File("server.crt"), File("server.key"), absl::CivilDay(2031, 1, 1)),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("expired at 2030-12-31 23:59:59 UTC")));
  EXPECT_THAT(
      Load(File("server.crt"), File("server.key"), absl::CivilDay(2029, 12, 31)),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is not valid before 2030-01-01")));
}

TEST_F(LoadTlsFilesTest, RefusesAnInvalidClientAuthority) {
  EXPECT_THAT(LoadTlsFiles(File("server.crt"), File("server.key"), File("ca.key"),
                           absl::FromCivil(absl::CivilDay(2030, 6, 1), absl::UTCTimeZone())),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--client-ca")));
}

}  // namespace
}  // namespace coppice::daemon
