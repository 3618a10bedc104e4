#include "server/daemon/transport/console.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/report/html.h"
#include "server/http/console.h"

namespace coppice::daemon {
namespace {

// As `cmake --install` and the build lay it out: bin/coppiced, share/coppice/console.
std::string InstalledConsole() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path folder =
      program.parent_path().parent_path() / "share" / "coppice" / "console";
  return std::filesystem::exists(folder / "index.html", error) ? folder.string() : "";
}

}  // namespace

std::string ConsoleFolder(const DaemonFlags& flags) {
  if (flags.http_listen.empty() || flags.console == kNoConsole) return "";
  return flags.console.has_value() ? *flags.console : InstalledConsole();
}

absl::StatusOr<std::shared_ptr<const http::Console>> LoadConsole(const DaemonFlags& flags) {
  const std::string folder = ConsoleFolder(flags);
  if (folder.empty()) return nullptr;
  absl::StatusOr<http::ServedFiles> files = http::ReadConsoleFiles(folder);
  if (!files.ok()) {
    return absl::Status(files.status().code(), absl::StrCat("--console ", files.status().message(),
                                                            "; --console none serves none"));
  }
  return std::make_shared<const http::Console>(*std::move(files), report::StyleHash());
}

HttpOptions HttpOptionsOf(const DaemonFlags& flags, std::shared_ptr<const http::Console> console) {
  return {.listen = flags.http_listen,
          .allowed_origins = flags.http_allow_origin,
          .console = std::move(console),
          .max_connections = flags.http_connections};
}

void TellHttp(const DaemonFlags& flags, int port, const Log& log) {
  if (port == 0) return;
  const std::string console = ConsoleFolder(flags);
  log.Info("http", {{"listen", flags.http_listen},
                    {"console", console.empty() ? kNoConsole : console},
                    {"port", absl::StrCat(port)}});
}

}  // namespace coppice::daemon
