#include "server/store/rocksdb/backups.h"

#include <rocksdb/utilities/backup_engine.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "server/store/rocksdb/database_files.h"
#include "server/store/rocksdb/rocksdb_engine.h"

namespace coppice::storage {
namespace {

namespace fs = std::filesystem;

// The message names the backup's folder, whatever could not be read or written.
absl::Status ToBackupStatus(const rocksdb::Status& status, const std::string& folder) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsIncomplete()) return absl::CancelledError("the backup was stopped");
  if (status.IsNotFound()) {
    return absl::NotFoundError(absl::StrCat("there is no such backup in ", folder));
  }
  if (status.IsCorruption()) {
    return absl::DataLossError(
        absl::StrCat("the backup in ", folder, " is damaged (", status.ToString(), ")"));
  }
  return ToStatus(status, folder);
}

rocksdb::BackupEngineOptions OptionsOf(const std::string& folder,
                                       const rocksdb::Options& database) {
  rocksdb::BackupEngineOptions options(folder);
  options.info_log = database.info_log.get();
  options.sync = true;
  options.callback_trigger_interval_size = uint64_t{1} << 20;
  return options;
}

StoreBackup ToBackup(const rocksdb::BackupInfo& info) {
  return {.id = info.backup_id,
          .unix_seconds = info.timestamp,
          .bytes = info.size,
          .files = info.number_files};
}

// Reads backups. NotFound if there are none: opening would make the folder.
class BackupReader {
 public:
  static absl::StatusOr<BackupReader> Open(const std::string& folder, rocksdb::Env* env = nullptr) {
    std::error_code error;
    if (!fs::is_directory(fs::path(folder) / "meta", error)) {
      return absl::NotFoundError(absl::StrCat("there are no backups in ", folder));
    }
    BackupReader reader;
    rocksdb::BackupEngineReadOnly* engine = nullptr;
    COPPICE_RETURN_IF_ERROR(ToBackupStatus(
        rocksdb::BackupEngineReadOnly::Open(OptionsOf(folder, reader.database_),
                                            env == nullptr ? rocksdb::Env::Default() : env,
                                            &engine),
        folder));
    reader.engine_.reset(engine);
    return reader;
  }

  const rocksdb::BackupEngineReadOnly* operator->() const { return engine_.get(); }

 private:
  BackupReader() = default;

  rocksdb::Options database_ = EngineOptions();  // has the log that the engine writes to
  std::unique_ptr<rocksdb::BackupEngineReadOnly> engine_;
};

absl::Status CheckTables(rocksdb::DB& db, const BackupOptions& options) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  for (const rocksdb::LiveFileMetaData& table : tables) {
    if (options.progress && !options.progress(0)) return absl::CancelledError("stopped");
    const std::string file = absl::StrCat(table.db_path, "/", table.relative_filename);
    const absl::Status sound = CheckTable(file);
    if (!sound.ok()) {
      return absl::DataLossError(absl::StrCat("no backup is made of a damaged store: ", file, ": ",
                                              sound.message(), ". Restore the last good backup"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<StoreBackup> MakeBackup(rocksdb::DB& db, const BackupOptions& options) {
  const std::string& folder = options.folder;
  COPPICE_RETURN_IF_ERROR(MakePrivateFolder(folder));
  COPPICE_RETURN_IF_ERROR(CheckTables(db, options));
  const rocksdb::Options database = EngineOptions();
  const rocksdb::BackupEngineOptions engine_options = OptionsOf(folder, database);
  rocksdb::BackupEngine* opened = nullptr;
  COPPICE_RETURN_IF_ERROR(
      ToBackupStatus(rocksdb::BackupEngine::Open(engine_options, db.GetEnv(), &opened), folder));
  const std::unique_ptr<rocksdb::BackupEngine> engine(opened);

  uint64_t bytes = 0;
  rocksdb::CreateBackupOptions create;
  create.flush_before_backup = true;  // the next backup can share files, but not the log
  create.progress_callback = [&] {
    bytes += engine_options.callback_trigger_interval_size;
    if (options.progress && !options.progress(bytes)) engine->StopBackup();
  };
  rocksdb::BackupID id = 0;
  COPPICE_RETURN_IF_ERROR(
      ToBackupStatus(engine->CreateNewBackupWithMetadata(create, &db, "", &id), folder));
  rocksdb::BackupInfo info;
  COPPICE_RETURN_IF_ERROR(ToBackupStatus(engine->GetBackupInfo(id, &info), folder));
  if (options.keep > 0) {
    COPPICE_RETURN_IF_ERROR(ToBackupStatus(engine->PurgeOldBackups(options.keep), folder));
  }
  return ToBackup(info);
}

absl::StatusOr<std::vector<StoreBackup>> ListBackups(const std::string& folder) {
  COPPICE_ASSIGN_OR_RETURN(const BackupReader reader, BackupReader::Open(folder));
  std::vector<rocksdb::BackupInfo> infos;
  reader->GetBackupInfo(&infos);
  std::vector<StoreBackup> backups;
  for (const rocksdb::BackupInfo& info : infos) backups.push_back(ToBackup(info));
  std::sort(backups.begin(), backups.end(),
            [](const StoreBackup& a, const StoreBackup& b) { return a.id < b.id; });
  return backups;
}

absl::Status VerifyBackup(const std::string& folder, uint32_t id) {
  COPPICE_ASSIGN_OR_RETURN(const BackupReader reader, BackupReader::Open(folder));
  return ToBackupStatus(reader->VerifyBackup(id, /*verify_with_checksum=*/true), folder);
}

absl::Status CopyBackup(const std::string& folder, uint32_t id, const std::string& database,
                        rocksdb::Env* env) {
  COPPICE_ASSIGN_OR_RETURN(const BackupReader reader, BackupReader::Open(folder, env));
  COPPICE_RETURN_IF_ERROR(MakePrivateFolder(database));
  return ToBackupStatus(reader->RestoreDBFromBackup(id, database, database), folder);
}

}  // namespace coppice::storage
