#include "server/daemon/transport/console.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/pages/html.h"
#include "server/http/console.h"
#include "server/http/site.h"

namespace coppice::daemon {
namespace {

// The installed folder, laid out by `cmake --install` and the build: bin/coppiced,
// share/FOLDER/index.html. Empty if it does not exist.
std::string Installed(const char* folder) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path found = program.parent_path().parent_path() / "share" / folder;
  return std::filesystem::exists(found / "index.html", error) ? found.string() : "";
}

// The folder that the flag names or, without it, the installed one; empty if none is served.
std::string FolderOf(const WebOptions& web, const std::optional<std::string>& flag,
                     const char* installed) {
  if (web.listen.empty() || flag == kNoFolder) return "";
  return flag.has_value() ? *flag : Installed(installed);
}

std::string ConsoleFolder(const WebOptions& web) {
  return FolderOf(web, web.console, "coppice/console");
}

std::string SiteFolder(const WebOptions& web) {
  return FolderOf(web, web.site, "doc/coppice/html");
}

std::string OrNone(const std::string& folder) { return folder.empty() ? kNoFolder : folder; }

Status FlagError(const Status& status, std::string_view flag) {
  return Status(status.code(),
                StrCat(flag, " ", status.message(), "; ", flag, " ", kNoFolder, " serves none"));
}

}  // namespace

StatusOr<std::shared_ptr<const http::Console>> LoadConsole(const WebOptions& web) {
  const std::string folder = ConsoleFolder(web);
  if (folder.empty()) return nullptr;
  StatusOr<http::ServedFiles> files = http::ReadConsoleFiles(folder);
  if (!files.ok()) return FlagError(files.status(), "--console");
  return std::make_shared<const http::Console>(*std::move(files), report::StyleHash());
}

StatusOr<std::shared_ptr<const http::Site>> LoadSite(const WebOptions& web) {
  const std::string folder = SiteFolder(web);
  if (folder.empty()) return nullptr;
  StatusOr<http::ServedFiles> files = http::ReadSiteFiles(folder);
  if (!files.ok()) return FlagError(files.status(), "--site");
  return std::make_shared<const http::Site>(*std::move(files));
}

HttpOptions HttpOptionsOf(const WebOptions& web, std::shared_ptr<const http::Console> console,
                          std::shared_ptr<const http::Site> site) {
  return {.listen = web.listen,
          .allowed_origins = web.allow_origin,
          .console = std::move(console),
          .site = std::move(site),
          .max_connections = web.connections};
}

void TellHttp(const WebOptions& web, int port, const Log& log) {
  if (port == 0) return;
  log.Info("http", {{"listen", web.listen},
                    {"console", OrNone(ConsoleFolder(web))},
                    {"site", OrNone(SiteFolder(web))},
                    {"port", StrCat(port)}});
}

}  // namespace coppice::daemon
