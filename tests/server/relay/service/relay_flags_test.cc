#include <fstream>

#include "common/base/status.h"
#include "server/relay/daemon/flags.h"
#include "server/relay/daemon/relay_key.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::relay {
namespace {

using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RelayFlags Good() {
  RelayFlags flags;
  flags.data_dir = "data";
  flags.listen = "0.0.0.0:8445";
  flags.tls_cert = "server.crt";
  flags.tls_key = "server.key";
  flags.admission = "devices";
  flags.curator = "curator.example:8443";
  flags.curator_key = "curator.pem";
  flags.studies = {"wells"};
  flags.tickets = 2000;
  return flags;
}

// The error of a good command line that `change` spoils.
template <typename Change>
Status Spoiled(Change change) {
  RelayFlags flags = Good();
  change(flags);
  return CheckRelayFlags(flags);
}

auto IsWrong(const char* text) { return StatusIs(StatusCode::kInvalidArgument, HasSubstr(text)); }

TEST(RelayFlagsTest, AcceptsACompleteCommandLine) { EXPECT_OK(CheckRelayFlags(Good())); }

TEST(RelayFlagsTest, WhatIsMissingIsNamed) {
  EXPECT_THAT(Spoiled([](auto& flags) { flags.data_dir.clear(); }), IsWrong("keygen"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.curator.clear(); }), IsWrong("--curator is missing"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.curator_key.clear(); }),
              IsWrong("--curator-key is missing"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.studies.clear(); }), IsWrong("--study is missing"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.tickets = 0; }), IsWrong("--tickets is missing"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.tls_cert.clear(); }), IsWrong("--tls-key needs"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.tls_cert = flags.tls_key = ""; }),
              IsWrong("--tls-cert and --tls-key are missing"));
}

TEST(RelayFlagsTest, WhoMayTakeTicketsIsSaidOnce) {
  EXPECT_THAT(Spoiled([](auto& flags) { flags.admission.clear(); }),
              IsWrong("--admission is missing"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.admit_all = true; }),
              IsWrong("give only one of them"));
  EXPECT_OK(Spoiled([](auto& flags) {
    flags.admission.clear();
    flags.admit_all = true;
  }));
}

TEST(RelayFlagsTest, HttpIsAsOpenAsTheOtherPort) {
  EXPECT_OK(Spoiled([](auto& flags) {
    flags.http_listen = "0.0.0.0:8446";
    flags.http_allow_origin = {"https://survey.example"};
  }));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.http_allow_origin = {"https://survey.example"}; }),
              IsWrong("--http-allow-origin needs --http-listen"));
  EXPECT_THAT(Spoiled([](auto& flags) {
                flags.http_listen = "0.0.0.0:8446";
                flags.http_allow_origin = {"survey.example"};
              }),
              IsWrong("must be an origin as browsers send it"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.http_listen = "8446"; }), IsWrong("--http-listen"));
  EXPECT_THAT(Spoiled([](auto& flags) {
                flags.tls_cert = flags.tls_key = "";
                flags.insecure = true;
                flags.admission.clear();
                flags.admit_all = true;
                flags.listen = "127.0.0.1:0";
                flags.http_listen = "0.0.0.0:8446";
              }),
              IsWrong("--insecure needs a loopback address in --http-listen"));
}

TEST(RelayFlagsTest, InsecureIsForLoopbackAndForEverybody) {
  const auto insecure = [](RelayFlags& flags) {
    flags.tls_cert = flags.tls_key = "";
    flags.insecure = true;
    flags.admission.clear();
    flags.admit_all = true;
    flags.listen = "127.0.0.1:0";
  };
  EXPECT_OK(Spoiled(insecure));
  EXPECT_THAT(Spoiled([&](auto& flags) {
                insecure(flags);
                flags.listen = "0.0.0.0:0";
              }),
              IsWrong("--insecure needs a loopback address"));
  EXPECT_THAT(Spoiled([&](auto& flags) {
                insecure(flags);
                flags.admit_all = false;
                flags.admission = "devices";
              }),
              IsWrong("--insecure cannot be used with --admission"));
  EXPECT_THAT(Spoiled([&](auto& flags) {
                insecure(flags);
                flags.client_ca = "ca.crt";
              }),
              IsWrong("--insecure cannot be used with --tls-cert"));
}

TEST(RelayFlagsTest, TheCuratorIsCalledWithTlsBeyondLoopback) {
  EXPECT_THAT(Spoiled([](auto& flags) { flags.curator_insecure = true; }), IsWrong("--curator: "));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.curator = "curator"; }), IsWrong("--curator: "));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.curator_cert = "relay.crt"; }),
              IsWrong("go together"));
}

TEST(RelayFlagsTest, DealsMustBePossible) {
  EXPECT_THAT(Spoiled([](auto& flags) { flags.studies = {"We/lls"}; }), IsWrong("--study needs"));
  EXPECT_THAT(Spoiled([](auto& flags) {
                flags.studies = {"wells", "studies/wells"};
              }),
              IsWrong("given twice"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.min_batch = 2001; }), IsWrong("--min-batch 2001"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.deal = "12"; }), IsWrong("--deal needs a duration"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.collect = "-1h"; }), IsWrong("--collect needs"));
  EXPECT_THAT(Spoiled([](auto& flags) { flags.collect = "1h"; }), IsWrong("--collect is shorter"));
}

TEST(RelayFlagsTest, OptionsAreWhatTheFlagsSay) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const SigningKey key, MakeRelayKey(dir.path() + "/relay"));
  RelayFlags flags = Good();
  flags.studies = {"studies/wells", "rivers"};
  flags.curator_key = ToPin(key.public_key());
  flags.min_batch = 1500;
  flags.deal = "30m";
  ASSERT_OK_AND_ASSIGN(const RelayOptions options, RelayOptionsOf(flags));
  EXPECT_THAT(options.studies, ElementsAre("wells", "rivers"));
  EXPECT_EQ(options.curator_key, key.public_key());
  EXPECT_EQ(options.min_batch, 1500u);
  EXPECT_EQ(options.deal_for, absl::Minutes(30));
  EXPECT_EQ(options.collect_for, absl::Hours(24));

  flags.curator_key = dir.path() + "/curator.pem";
  std::ofstream(flags.curator_key) << ToPem(key.public_key());
  ASSERT_OK_AND_ASSIGN(const RelayOptions from_file, RelayOptionsOf(flags));
  EXPECT_EQ(from_file.curator_key, key.public_key());
  flags.curator_key = "ed25519:nonsense";
  EXPECT_THAT(RelayOptionsOf(flags).status(), IsWrong("--curator-key"));
  flags.curator_key = dir.path() + "/none";
  EXPECT_THAT(RelayOptionsOf(flags).status(), IsWrong("--curator-key"));
}

TEST(RelayKeyTest, IsMadeOnceForItsOwnerAlone) {
  const TempDir dir;
  const std::string folder = dir.path() + "/relay";
  EXPECT_THAT(LoadRelayKey(folder).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("keygen")));
  EXPECT_THAT(CheckDataDir(folder), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("keygen")));
  ASSERT_OK_AND_ASSIGN(const SigningKey made, MakeRelayKey(folder));
  EXPECT_OK(CheckDataDir(folder));
  ASSERT_OK_AND_ASSIGN(const SigningKey loaded, LoadRelayKey(folder));
  EXPECT_EQ(loaded.public_key(), made.public_key());
  EXPECT_THAT(MakeRelayKey(folder).status(),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("exists already")));
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(folder + "/relay.key").permissions(),
            perms::owner_read | perms::owner_write);

  std::filesystem::permissions(folder + "/relay.key", static_cast<perms>(0644));
  EXPECT_THAT(LoadRelayKey(folder).status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("chmod 600")));
  std::filesystem::permissions(folder, static_cast<perms>(0755));
  EXPECT_THAT(CheckDataDir(folder),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("chmod o-rwx")));
  EXPECT_THAT(CheckDataDir(folder + "/relay.key"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is not a folder")));
}

TEST(RelayKeyTest, RefusesAFileThatIsNotAKey) {
  const TempDir dir;
  std::ofstream(dir.path() + "/relay.key") << "nonsense";
  std::filesystem::permissions(dir.path() + "/relay.key",
                               static_cast<std::filesystem::perms>(0600));
  EXPECT_THAT(LoadRelayKey(dir.path()).status(), IsWrong("relay.key"));
}

}  // namespace
}  // namespace coppice::relay
