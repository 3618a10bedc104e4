#include "server/daemon/commands/open_store.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/postgres/postgres_store.h"

namespace coppice::daemon {
namespace {

namespace fs = std::filesystem;

Status FileError(std::string_view flag, const std::string& path, int error) {
  return FailedPreconditionError(StrCat(flag, " ", path, ": ", std::strerror(error)));
}

void LogRotation(std::string_view former_key, const Log& log) {
  log.Info("key rotated", {{"former_key", std::string(former_key)},
                           {"advice",
                            "the store no longer needs the former key; remove it from --key-file "
                            "once you no longer need earlier backups"}});
}

void LogStep(vault::VaultStep step, std::string_view former_key, const Log& log) {
  switch (step) {
    case vault::VaultStep::kSealing:
      log.Info("sealing the store",
               {{"advice",
                 "private records are being encrypted, once; earlier backups hold them "
                 "unencrypted: remove those once there is a newer one"}});
      return;
    case vault::VaultStep::kRewrapped:
      LogRotation(former_key, log);
      return;
  }
}

StatusOr<vault::KeyFile> ReadKeyFile(const std::string& path) {
  StatusOr<vault::KeyFile> keys = vault::KeyFile::Load(path);
  if (keys.ok()) return keys;
  return Status(keys.status().code(), StrCat("--key-file ", keys.status().message()));
}

Status CheckDataDir(const std::string& data_dir) {
  std::error_code ignored;
  fs::path path = fs::absolute(data_dir, ignored).lexically_normal();
  while (!fs::exists(path, ignored) && path.has_relative_path()) path = path.parent_path();
  if (!fs::is_directory(path, ignored)) return FileError("--data-dir", data_dir, ENOTDIR);
  if (::access(path.c_str(), W_OK | X_OK) != 0) return FileError("--data-dir", data_dir, errno);
  return OkStatus();
}

StatusOr<vault::KeyedStore> OpenLeasedStore(const std::string& uri, const storage::Lease& lease,
                                            const vault::KeyOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<storage::Store> disk,
                           storage::OpenPostgresStore(uri, lease));
  return vault::KeyedStore::Open(std::move(disk), options);
}

Status MakeDataDir(const std::string& data_dir) {
  COPPICE_RETURN_IF_ERROR(CheckDataDir(data_dir));
  std::error_code error;
  fs::create_directories(data_dir, error);
  return error ? FileError("--data-dir", data_dir, error.value()) : OkStatus();
}

}  // namespace

StatusOr<std::optional<vault::KeyFile>> LoadKeyFile(const std::string& path) {
  if (path.empty()) return std::nullopt;
  COPPICE_ASSIGN_OR_RETURN(vault::KeyFile keys, ReadKeyFile(path));
  return keys;
}

Status CheckLocation(const StoreOptions& options) {
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location, LocationOf(options));
  return location.is_postgres() ? OkStatus() : CheckDataDir(location.address());
}

Status CheckOutsideStore(std::string_view flag, const std::string& path,
                         const StoreOptions& options) {
  if (path.empty()) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location, LocationOf(options));
  const std::pair<std::string_view, std::string> folders[] = {
      {"--data-dir", location.is_postgres() ? "" : location.address()},
      {"--backup-dir", options.backups.folder}};
  for (const auto& [folder_flag, folder_path] : folders) {
    if (folder_path.empty()) continue;
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(fs::absolute(folder_path), error);
    const fs::path file = fs::weakly_canonical(fs::absolute(path), error);
    if (error) return FileError(flag, path, error.value());
    const fs::path relative = file.lexically_relative(folder);
    if (relative.empty() || *relative.begin() == "..") continue;
    return InvalidArgumentError(StrCat(flag, " ", path, " is inside ", folder_flag,
                                       ": it must survive that folder; put it on "
                                       "another disk"));
  }
  return OkStatus();
}

StatusOr<vault::KeyedStore> OpenStore(const StoreOptions& options, const Log& log,
                                      const storage::Lease* lease) {
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location, LocationOf(options));
  if (!location.is_postgres()) COPPICE_RETURN_IF_ERROR(MakeDataDir(location.address()));
  COPPICE_RETURN_IF_ERROR(CheckOutsideStore("--key-file", options.key_file, options));
  vault::KeyOptions keys;
  COPPICE_ASSIGN_OR_RETURN(keys.keys, LoadKeyFile(options.key_file));
  keys.tell = [&log](vault::VaultStep step, std::string_view former_key) {
    LogStep(step, former_key, log);
  };
  StatusOr<vault::KeyedStore> store = lease == nullptr
                                          ? vault::OpenKeyedStore(location, keys)
                                          : OpenLeasedStore(location.address(), *lease, keys);
  if (!store.ok()) {
    return Status(store.status().code(), StrCat(location.is_postgres() ? "--store " : "--data-dir ",
                                                location.Shown(), ": ", store.status().message()));
  }
  if (store->sealed() != nullptr) {
    log.Info("store is sealed", {{"key", store->sealed()->master_id()}});
  } else {
    log.Info("store is plain", {{"advice",
                                 "anyone who can read the disk or a backup can read private rows "
                                 "and keys; encrypt them with --key-file"}});
  }
  return store;
}

Status ReloadKeyFile(const std::string& key_file, vault::SealedStore& store, const Log& log) {
  COPPICE_ASSIGN_OR_RETURN(vault::KeyFile keys, ReadKeyFile(key_file));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> former, store.Rewrap(std::move(keys)));
  if (former.has_value()) LogRotation(*former, log);
  return OkStatus();
}

}  // namespace coppice::daemon
