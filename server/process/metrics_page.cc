#include "server/process/metrics_page.h"

#include <CivetServer.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include <exception>
#include <string_view>
#include <utility>

#include "common/base/file_permissions.h"
#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "server/process/page_sender.h"

namespace coppice::metrics {

namespace {

std::string_view HeaderOf(const mg_connection* request, const char* name) {
  const char* const value = mg_get_header(request, name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// The name that the system has for this machine; empty if it has none.
std::string OwnName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

bool IsForeignHost(std::string_view host) {
  return IsForeignName(host) && !EqualsIgnoreCase(host.substr(0, host.find(':')), OwnName());
}

// Why the request is refused; empty if it is not. Browsers do not show a password to a name for
// which nobody entered it.
std::string_view RefusalOf(const mg_connection* request, bool has_password) {
  const PageSender sender{.origin = HeaderOf(request, "Origin"),
                          .fetch_site = HeaderOf(request, "Sec-Fetch-Site"),
                          .fetch_mode = HeaderOf(request, "Sec-Fetch-Mode"),
                          .fetch_dest = HeaderOf(request, "Sec-Fetch-Dest")};
  if (!sender.origin.empty() || (sender.IsElsewhere() && !sender.IsFollowedLink())) {
    return "a page of another origin sent this request, and only programs and people read metrics";
  }
  if (!has_password && IsForeignHost(HeaderOf(request, "Host"))) {
    return "metrics are not served at this host: use an address, a name without a dot or the "
           "machine's own name, or set --metrics-password-file";
  }
  return "";
}

// As CivetWeb calls it, before it looks at a request: 0 lets the request through.
template <bool has_password>
int Judge(mg_connection* request) {
  constexpr int kForbidden = 403;
  const std::string_view refusal = RefusalOf(request, has_password);
  if (refusal.empty()) return 0;
  // Written here, because mg_send_http_error() overflows CivetWeb's stacks of 100 kB, of which the
  // daemon's thread-local variables take a part.
  const std::string answer = StrCat(
      "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ",
      refusal.size() + 1, "\r\nConnection: close\r\n\r\n", refusal, "\n");
  mg_write(request, answer.data(), answer.size());
  return kForbidden;
}

}  // namespace

StatusOr<std::unique_ptr<MetricsPage>> MetricsPage::Serve(
    const std::string& listen, std::vector<std::shared_ptr<prometheus::Collectable>> collectables,
    const std::string& password) {
  std::unique_ptr<MetricsPage> page(new MetricsPage());
  page->collectables_ = std::move(collectables);
  try {  // the library reports errors by throwing
    CivetCallbacks callbacks;
    callbacks.begin_request = password.empty() ? Judge<false> : Judge<true>;
    page->exposer_ = std::make_unique<prometheus::Exposer>(
        std::vector<std::string>{"listening_ports", listen, "num_threads", "2",
                                 "request_timeout_ms", "5000"},
        &callbacks);
  } catch (const std::exception&) {
    return UnavailableError(StrCat("--metrics-listen ", listen,
                                   ": cannot listen there. Does another process use this port, or "
                                   "is it another machine's address? Port 0 picks a free port"));
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

StatusOr<std::string> LoadMetricsPassword(const std::string& path) {
  constexpr size_t kFewestBytes = 16;  // it is sent in the clear, and only machines type it
  if (path.empty()) return std::string();
  if (IsWorldAccessible(path)) {
    return FailedPreconditionError(
        StrCat("--metrics-password-file ", path,
               ": anyone on this machine can read it: run chmod o-rwx on it"));
  }
  const StatusOr<std::string> text = ReadTextFile(path);
  if (!text.ok()) {
    return Status(text.status().code(),
                  StrCat("--metrics-password-file ", text.status().message()));
  }
  const std::string password = text->substr(0, text->find_first_of("\r\n"));
  if (password.size() >= kFewestBytes) return password;
  return InvalidArgumentError(StrCat("--metrics-password-file ", path, ": the password needs ",
                                     kFewestBytes, " bytes or more, in the first line"));
}

}  // namespace coppice::metrics
