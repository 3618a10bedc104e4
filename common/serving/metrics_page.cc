#include "common/serving/metrics_page.h"

#include <openssl/crypto.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/file_permissions.h"
#include "common/base/read_file.h"
#include "common/study/sha256.h"

namespace coppice::metrics {

absl::StatusOr<std::unique_ptr<MetricsPage>> MetricsPage::Serve(
    const std::string& listen, std::vector<std::shared_ptr<prometheus::Collectable>> collectables,
    const std::string& password) {
  std::unique_ptr<MetricsPage> page(new MetricsPage());
  page->collectables_ = std::move(collectables);
  try {  // the library reports errors by throwing
    page->exposer_ = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", listen, "num_threads", "2", "request_timeout_ms", "5000"});
  } catch (const std::exception&) {
    return absl::UnavailableError(
        absl::StrCat("--metrics-listen ", listen,
                     ": cannot be had. Is another process on this port, or the address of another "
                     "machine? Port 0 takes a free port"));
  }
  if (!password.empty()) {
    // Checked before anything is rendered. Compares hashes, so that the time reveals no length.
    const auto is_known = [digest = Sha256({password})](const std::string& /*user*/,
                                                        const std::string& shown) {
      const Sha256Digest other = Sha256({shown});
      return CRYPTO_memcmp(digest.data(), other.data(), digest.size()) == 0;
    };
    page->exposer_->RegisterAuth(is_known, "coppiced");
  }
  for (const auto& collectable : page->collectables_) {
    page->exposer_->RegisterCollectable(collectable);
  }
  return page;
}

absl::StatusOr<std::string> LoadMetricsPassword(const std::string& path) {
  constexpr size_t kFewestBytes = 16;  // it is sent in the clear, and only machines type it
  if (path.empty()) return std::string();
  if (IsWorldAccessible(path)) {
    return absl::FailedPreconditionError(
        absl::StrCat("--metrics-password-file ", path,
                     ": everybody on this machine may read it: chmod o-rwx it"));
  }
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) {
    return absl::Status(text.status().code(),
                        absl::StrCat("--metrics-password-file ", text.status().message()));
  }
  const std::string password = text->substr(0, text->find_first_of("\r\n"));
  if (password.size() >= kFewestBytes) return password;
  return absl::InvalidArgumentError(absl::StrCat("--metrics-password-file ", path,
                                                 ": the password needs ", kFewestBytes,
                                                 " bytes or more, in the first line"));
}

}  // namespace coppice::metrics
