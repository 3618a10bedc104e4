#include "server/relay/daemon/upkeep.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"
#include "server/process/self_test.h"

namespace coppice::relay {
namespace {

Status DiskFails(const std::string& data_dir, std::string_view what) {
  return UnavailableError(
      StrCat("--data-dir ", data_dir, ": ", what, " (", std::strerror(errno), "); check the disk"));
}

// Writes a page to the disk in a nameless file, which leaves nothing behind.
Status TestDataDir(const std::string& data_dir) {
  const int file = open(data_dir.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) return OkStatus();
  if (file < 0) return DiskFails(data_dir, "no file can be made");
  const std::string page(4096, 'p');
  const bool written = write(file, page.data(), page.size()) == static_cast<ssize_t>(page.size()) &&
                       fdatasync(file) == 0;
  const Status status = written ? OkStatus() : DiskFails(data_dir, "nothing can be written");
  close(file);
  return status;
}

Status TestSigning(const SigningKey& key) {
  constexpr std::string_view kMessage = "self-test";
  COPPICE_ASSIGN_OR_RETURN(const Signature signature, key.Sign(kRelayDomain, kMessage));
  if (IsSignedBy(key.public_key(), kRelayDomain, kMessage, signature) &&
      !IsSignedBy(key.public_key(), kBatchDomain, kMessage, signature)) {
    return OkStatus();
  }
  return InternalError("the relay's key does not sign; check this machine and its OpenSSL");
}

Status TestRandom() {
  OpenSslRandom random;
  return TestRandomSource(random);
}

}  // namespace

Status RunRelaySelfTest(const std::string& data_dir, const SigningKey& key, const Log& log) {
  const std::vector<SelfTest> tests = {
      {"random", TestRandom},
      {"disk", [&] { return TestDataDir(data_dir); }},
      {"key", [&] { return TestSigning(key); }},
      {"clock", [] { return TestClockIsAfterBuild(absl::Now()); }}};
  const std::vector<Status> failures = RunSelfTests(tests);
  for (const Status& failure : failures) {
    log.Error("self-test failed", {{"reason", std::string(failure.message())}});
  }
  if (failures.empty()) {
    log.Info("self-test passed");
    return OkStatus();
  }
  return FailedPreconditionError(
      StrCat(failures.size(), " of ", tests.size(), " self-tests failed; nothing is served"));
}

std::vector<ReadinessCheck> RelayReadinessChecks(const RelayParts& parts) {
  return {{"self-test", [] { return OkStatus(); }},  // or no port would open
          {"deals", [&relay = parts.relay] { return relay.Ready(); }},
          {"disk", [data_dir = parts.flags.data_dir] { return TestDataDir(data_dir); }},
          {"random", TestRandom}};
}

}  // namespace coppice::relay
