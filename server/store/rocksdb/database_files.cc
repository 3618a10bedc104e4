#include "server/store/rocksdb/database_files.h"

#include <fcntl.h>
#include <rocksdb/sst_file_reader.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/rocksdb/rocksdb_engine.h"

namespace coppice::storage {
namespace {

namespace fs = std::filesystem;

StatusOr<std::vector<fs::path>> FilesIn(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back(it->path());
  }
  if (error) {
    return UnavailableError(StrCat("cannot list the folder ", folder, ": ", error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string DamageOfFile(const fs::path& file) {
  if (file.extension() == ".sst") return std::string(CheckTable(file.string()).message());
  std::ifstream stream(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
  if (stream.bad()) return "cannot be read";
  return DamageOfLog(bytes);
}

Status Sync(const std::string& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC);
  const bool synced = file >= 0 && fsync(file) == 0;
  if (file >= 0) close(file);
  if (synced) return OkStatus();
  return UnavailableError(StrCat("cannot sync ", path));
}

}  // namespace

std::string StoreFolder(const std::string& data_dir) {
  return (fs::path(data_dir) / "rocksdb").string();
}

Status MakeFolder(const fs::path& folder) {
  std::error_code error;
  // The folder gets its mode when it is made: before a chmod somebody could open it.
  if (mkdir(folder.c_str(), S_IRWXU) == 0 || fs::is_directory(folder, error)) {
    return OkStatus();
  }
  return UnavailableError(
      StrCat("cannot make the folder ", folder.string(), ": ", std::strerror(errno)));
}

Status CheckPrivateFolder(const fs::path& folder) {
  struct stat found {};
  if (stat(folder.c_str(), &found) != 0) return OkStatus();
  // Root reads everything anyway, and owns the mounted volumes of most containers.
  const uid_t user = geteuid();
  if (user != 0 && found.st_uid != user && found.st_uid != 0) {
    return FailedPreconditionError(StrCat("the folder ", folder.string(),
                                          " belongs to another user, who could read the private "
                                          "rows and keys that go into it: name a new folder"));
  }
  if ((found.st_mode & S_IRWXO) == 0) return OkStatus();
  return FailedPreconditionError(
      StrCat("the folder ", folder.string(),
             " is open to everyone on this machine, and private rows and keys go into it: run "
             "chmod o-rwx on it if nothing else uses it, or name a new folder"));
}

Status MakePrivateFolder(const fs::path& folder) {
  COPPICE_RETURN_IF_ERROR(MakeFolder(folder));
  return CheckPrivateFolder(folder);
}

StatusOr<bool> HoldsStore(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path name = it->path().filename();
    if (name == "CURRENT" || name.extension() == ".sst" || name.extension() == ".log") return true;
  }
  if (!error || error == std::errc::no_such_file_or_directory) return false;
  return UnavailableError(
      StrCat("cannot list the folder ", folder.string(), ": ", error.message()));
}

Status CheckTable(const std::string& file) {
  rocksdb::SstFileReader reader(EngineOptions());
  rocksdb::Status status = reader.Open(file);
  if (status.ok()) status = reader.VerifyChecksum();
  std::error_code error;
  if (status.ok() || !fs::exists(file, error)) return OkStatus();
  return DataLossError(status.ToString());
}

StatusOr<std::vector<FileProblem>> CheckFiles(
    const std::string& database, const std::function<void(const std::string& file)>& progress) {
  COPPICE_ASSIGN_OR_RETURN(const bool holds_store, HoldsStore(database));
  if (!holds_store) return NotFoundError(StrCat(database, " holds no store"));
  COPPICE_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(database));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesIn(database));
  std::vector<FileProblem> problems;
  for (const fs::path& file : files) {
    if (file.extension() != ".sst" && file.extension() != ".log") continue;
    progress(file.string());
    std::string damage = DamageOfFile(file);
    if (!damage.empty()) problems.push_back({.file = file.string(), .what = std::move(damage)});
  }
  return problems;
}

Status SalvageFiles(const std::string& database) {
  { COPPICE_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(database)); }
  return ToOpenStatus(rocksdb::RepairDB(database, EngineOptions()), database);
}

Status CopyFiles(const std::string& database, const std::string& copy) {
  COPPICE_ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(database));
  std::error_code error;
  if (fs::exists(copy, error)) {
    return FailedPreconditionError(StrCat(copy, " exists already: name a new folder"));
  }
  COPPICE_RETURN_IF_ERROR(MakePrivateFolder(copy));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesIn(database));
  for (const fs::path& file : files) {
    const fs::path to = fs::path(copy) / file.filename();
    if (!fs::copy_file(file, to, error)) {
      return UnavailableError(
          StrCat("cannot copy ", file.string(), " to ", copy, ": ", error.message()));
    }
    COPPICE_RETURN_IF_ERROR(Sync(to.string(), O_RDONLY));
  }
  return Sync(copy, O_RDONLY | O_DIRECTORY);
}

Status SwapIn(const std::string& made, const std::string& database) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<fs::path> files, FilesIn(made));
  for (const fs::path& file : files) COPPICE_RETURN_IF_ERROR(Sync(file.string(), O_RDONLY));
  COPPICE_RETURN_IF_ERROR(Sync(made, O_RDONLY | O_DIRECTORY));
  std::error_code error;
  // A daemon that failed at its first start leaves an empty folder, which can be replaced.
  const bool replaces = fs::exists(database, error) && !fs::is_empty(database, error);
  const unsigned flags = replaces ? RENAME_EXCHANGE : 0;
  if (renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, database.c_str(), flags) != 0) {
    return UnavailableError(
        StrCat("cannot put ", made, " in the place of ", database, ": ", std::strerror(errno)));
  }
  for (const std::string& path : {made, database}) {
    COPPICE_RETURN_IF_ERROR(Sync(fs::path(path).parent_path().string(), O_RDONLY | O_DIRECTORY));
  }
  return OkStatus();
}

}  // namespace coppice::storage
