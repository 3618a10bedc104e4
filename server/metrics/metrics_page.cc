#include "server/metrics/metrics_page.h"

#include <openssl/crypto.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/study/sha256.h"

namespace coppice::metrics {

absl::StatusOr<std::unique_ptr<MetricsPage>> MetricsPage::Serve(
    const std::string& listen, std::vector<std::shared_ptr<prometheus::Collectable>> collectables,
    const std::string& password) {
  std::unique_ptr<MetricsPage> page(new MetricsPage());
  page->collectables_ = std::move(collectables);
  try {  // the library's way to say so
    page->exposer_ = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", listen, "num_threads", "2", "request_timeout_ms", "5000"});
  } catch (const std::exception&) {
    return absl::UnavailableError(
        absl::StrCat("--metrics-listen ", listen,
                     ": cannot be had. Is another process on this port, or the address of another "
                     "machine? Port 0 takes a free port"));
  }
  if (!password.empty()) {
    // Before anything is on the page. Hashes are compared, whose length tells nothing.
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

}  // namespace coppice::metrics
