#include "server/store/rocksdb/backups.h"

#include <rocksdb/utilities/backup_engine.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/rocksdb/database_files.h"
#include "server/store/rocksdb/rocksdb_engine.h"

namespace coppice::storage {
namespace {

namespace fs = std::filesystem;

// The message names the backup's folder, whatever could not be read or written.
Status ToBackupStatus(const rocksdb::Status& status, const std::string& folder) {
  if (status.ok()) return OkStatus();
  if (status.IsIncomplete()) return CancelledError("the backup was stopped");
  if (status.IsNotFound()) {
    return NotFoundError(StrCat("there is no such backup in ", folder));
  }
  if (status.IsCorruption()) {
    return DataLossError(StrCat("the backup in ", folder, " is damaged (", status.ToString(), ")"));
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
  static StatusOr<BackupReader> Open(const std::string& folder, rocksdb::Env* env = nullptr) {
    std::error_code error;
    if (!fs::is_directory(fs::path(folder) / "meta", error)) {
      return NotFoundError(StrCat("there are no backups in ", folder));
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

Status CheckTables(rocksdb::DB& db, const BackupOptions& options) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  for (const rocksdb::LiveFileMetaData& table : tables) {
    if (options.progress && !options.progress(0)) return CancelledError("stopped");
    const std::string file = StrCat(table.db_path, "/", table.relative_filename);
    const Status sound = CheckTable(file);
    if (!sound.ok()) {
      return DataLossError(StrCat("no backup is made of a damaged store: ", file, ": ",
                                  sound.message(), ". Restore the last good backup"));
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<StoreBackup> MakeBackup(rocksdb::DB& db, const BackupOptions& options) {
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

StatusOr<std::vector<StoreBackup>> ListBackups(const std::string& folder) {
  COPPICE_ASSIGN_OR_RETURN(const BackupReader reader, BackupReader::Open(folder));
  std::vector<rocksdb::BackupInfo> infos;
  reader->GetBackupInfo(&infos);
  std::vector<StoreBackup> backups;
  for (const rocksdb::BackupInfo& info : infos) backups.push_back(ToBackup(info));
  std::sort(backups.begin(), backups.end(),
            [](const StoreBackup& a, const StoreBackup& b) { return a.id < b.id; });
  return backups;
}

Status VerifyBackup(const std::string& folder, uint32_t id) {
  COPPICE_ASSIGN_OR_RETURN(const BackupReader reader, BackupReader::Open(folder));
  return ToBackupStatus(reader->VerifyBackup(id, /*verify_with_checksum=*/true), folder);
}

Status CopyBackup(const std::string& folder, uint32_t id, const std::string& database,
                  rocksdb::Env* env) {
  COPPICE_ASSIGN_OR_RETURN(const BackupReader reader, BackupReader::Open(folder, env));
  COPPICE_RETURN_IF_ERROR(MakePrivateFolder(database));
  return ToBackupStatus(reader->RestoreDBFromBackup(id, database, database), folder);
}

}  // namespace coppice::storage
