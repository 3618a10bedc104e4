#include "server/relay/daemon/upkeep.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/privacy/openssl_random.h"
#include "server/process/self_test.h"

namespace coppice::relay {
namespace {

absl::Status DiskFails(const std::string& data_dir, absl::string_view what) {
  return absl::UnavailableError(absl::StrCat("--data-dir ", data_dir, ": ", what, " (",
                                             std::strerror(errno), "); check the disk"));
}

// Writes a page to the disk in a nameless file, which leaves nothing behind.
absl::Status TestDataDir(const std::string& data_dir) {
  const int file = open(data_dir.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) return absl::OkStatus();
  if (file < 0) return DiskFails(data_dir, "no file can be made");
  const std::string page(4096, 'p');
  const bool written = write(file, page.data(), page.size()) == static_cast<ssize_t>(page.size()) &&
                       fdatasync(file) == 0;
  const absl::Status status =
      written ? absl::OkStatus() : DiskFails(data_dir, "nothing can be written");
  close(file);
  return status;
}

absl::Status TestSigning(const SigningKey& key) {
  constexpr absl::string_view kMessage = "self-test";
  COPPICE_ASSIGN_OR_RETURN(const Signature signature, key.Sign(kRelayDomain, kMessage));
  if (IsSignedBy(key.public_key(), kRelayDomain, kMessage, signature) &&
      !IsSignedBy(key.public_key(), kBatchDomain, kMessage, signature)) {
    return absl::OkStatus();
  }
  return absl::InternalError("the relay's key does not sign; check this machine and its OpenSSL");
}

absl::Status TestRandom() {
  OpenSslRandom random;
  return TestRandomSource(random);
}

}  // namespace

absl::Status RunRelaySelfTest(const std::string& data_dir, const SigningKey& key, const Log& log) {
  const std::vector<SelfTest> tests = {
      {"random", TestRandom},
      {"disk", [&] { return TestDataDir(data_dir); }},
      {"key", [&] { return TestSigning(key); }},
      {"clock", [] { return TestClockIsAfterBuild(absl::Now()); }}};
  const std::vector<absl::Status> failures = RunSelfTests(tests);
  for (const absl::Status& failure : failures) {
    log.Error("self-test failed", {{"reason", std::string(failure.message())}});
  }
  if (failures.empty()) {
    log.Info("self-test passed");
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(failures.size(), " of ", tests.size(), " self-tests failed: nothing is served"));
}

std::vector<ReadinessCheck> RelayReadinessChecks(const RelayParts& parts) {
  return {{"self-test", [] { return absl::OkStatus(); }},  // or no port would open
          {"deals", [&relay = parts.relay] { return relay.Ready(); }},
          {"disk", [data_dir = parts.flags.data_dir] { return TestDataDir(data_dir); }},
          {"random", TestRandom}};
}

}  // namespace coppice::relay
