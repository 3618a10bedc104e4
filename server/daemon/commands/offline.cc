#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/command_line/command_line.h"
#include "server/daemon/commands/commands.h"
#include "server/daemon/commands/open_store.h"
#include "server/daemon/config/flags.h"
#include "server/daemon/maintenance/maintenance.h"
#include "server/daemon/maintenance/restore.h"
#include "server/serving/access/patterns.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/rocksdb/backups.h"
#include "server/store/rocksdb/database_files.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "server/store/store_format.h"
#include "server/store/store_location.h"
#include "server/store/vault/keyed_store.h"

namespace coppice::daemon {
namespace {

using Json = nlohmann::ordered_json;

struct OfflineFlags {
  std::string store;
  std::string data_dir;
  std::string folder;  // --backup, --to, --from
  std::string to;      // for copy
  std::string owner;
  std::string drop_model;
  std::vector<std::string> resources = {"*"};
  std::string key_file;
  uint32_t backup_id = 0;
  uint32_t keep = 0;
  bool dry_run = false;
  bool list = false;
  bool json = false;
};

int64_t Now() { return absl::ToUnixSeconds(absl::Now()); }

std::string TimeText(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

// Shows what is being read, in a line that is rewritten; does nothing unless stderr is a terminal.
class Line {
 public:
  Line() : visible_(isatty(STDERR_FILENO) != 0) {}
  ~Line() {
    if (visible_) std::cerr << "\r\33[K" << std::flush;
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  maintenance::ProgressCallback Progress() const {
    return [this](const std::string& what) {
      if (visible_) std::cerr << "\r\33[K" << what << std::flush;
    };
  }

 private:
  const bool visible_;
};

void PrintJson(const Json& object) {
  std::cout << object.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
}

void PrintLine(const OfflineFlags& flags, const std::string& kind, const std::string& key,
               const std::string& what) {
  if (flags.json) return PrintJson({{"kind", kind}, {"key", key}, {"what", what}});
  std::cout << kind << ": " << key << ": " << what << "\n";
}

void PrintFindings(const OfflineFlags& flags, const maintenance::Findings& findings) {
  for (const maintenance::Problem& problem : findings.problems) {
    PrintLine(flags, "problem", problem.key, problem.what);
  }
  for (const maintenance::Note& note : findings.notes)
    PrintLine(flags, "note", note.key, note.what);
  if (flags.json) {
    Json counts = Json::object();
    for (const auto& [kind, count] : findings.counts) counts[kind] = count;
    return PrintJson({{"kind", "summary"},
                      {"problems", findings.problems.size()},
                      {"notes", findings.notes.size()},
                      {"read", counts}});
  }
  std::vector<std::string> counts;
  for (const auto& [kind, count] : findings.counts) counts.push_back(StrCat(count, " ", kind));
  std::cout << findings.problems.size() << " problems, " << findings.notes.size()
            << " notes. Read, by kind: " << StrJoin(counts, ", ") << "\n";
}

void PrintSteps(const OfflineFlags& flags, const std::string& kind,
                const std::vector<maintenance::RepairStep>& steps) {
  for (const maintenance::RepairStep& step : steps) PrintLine(flags, kind, step.key, step.what);
}

void PrintBackup(const OfflineFlags& flags, const storage::StoreBackup& backup) {
  if (flags.json) {
    return PrintJson({{"kind", "backup"},
                      {"backup", backup.id},
                      {"created", TimeText(backup.unix_seconds)},
                      {"bytes", backup.bytes},
                      {"files", backup.files}});
  }
  std::cout << "backup " << backup.id << " of " << TimeText(backup.unix_seconds) << ", "
            << backup.bytes << " bytes in " << backup.files << " files\n";
}

// The data directory for a command that works on files. InvalidArgument with the advice `instead`
// if the store is a database.
StatusOr<std::string> DataDirOf(const OfflineFlags& flags, std::string_view instead) {
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location,
                           LocationOf(flags.store, flags.data_dir));
  if (!location.is_postgres()) return location.address();
  return InvalidArgumentError(
      StrCat("--store is in PostgreSQL, but this command works on the files of a data directory: ",
             instead));
}

// NotFound if there is no store, so that none is created.
Status CheckHoldsStore(const storage::StoreLocation& location) {
  if (location.is_postgres()) {
    return storage::OpenPostgresStoreForReading(location.address()).status();
  }
  COPPICE_ASSIGN_OR_RETURN(const bool there,
                           storage::HoldsStore(storage::StoreFolder(location.address())));
  if (there) return OkStatus();
  return NotFoundError(StrCat(location.address(), " holds no store"));
}

// Each command returns the exit code.

StatusOr<int> Check(const OfflineFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location,
                           LocationOf(flags.store, flags.data_dir));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<vault::KeyFile> keys, LoadKeyFile(flags.key_file));
  StatusOr<maintenance::Findings> findings = InternalError("");
  {
    const Line line;
    findings = maintenance::CheckStore(location, line.Progress(), keys);
  }
  COPPICE_RETURN_IF_ERROR(findings.status());
  PrintFindings(flags, *findings);
  return findings->problems.empty() ? kExitDone : kExitFailed;
}

// Opens the store without the summary of a model that does not parse, and reads no model.
StatusOr<int> DropModel(const OfflineFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location,
                           LocationOf(flags.store, flags.data_dir));
  COPPICE_RETURN_IF_ERROR(CheckHoldsStore(location));
  if (!flags.folder.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const std::string data_dir,
                             DataDirOf(flags, "leave --backup out, and back up the database"));
    COPPICE_RETURN_IF_ERROR(storage::CopyFiles(storage::StoreFolder(data_dir), flags.folder));
  }
  vault::KeyOptions options;
  COPPICE_ASSIGN_OR_RETURN(options.keys, LoadKeyFile(flags.key_file));
  COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store, vault::OpenKeyedStore(location, options));
  COPPICE_RETURN_IF_ERROR(storage::OpenFormat(*store));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<maintenance::RepairStep> done,
                           maintenance::DropModel(*store, flags.drop_model, Now()));
  PrintSteps(flags, "done", done);
  return kExitDone;
}

StatusOr<int> Repair(const OfflineFlags& flags) {
  if (!flags.drop_model.empty()) {
    if (!flags.dry_run) return DropModel(flags);
    return InvalidArgumentError(
        "--drop-model deletes one model, and cannot be combined with --dry-run");
  }
  COPPICE_ASSIGN_OR_RETURN(const std::string data_dir,
                           DataDirOf(flags, "restore a base backup of the database instead"));
  COPPICE_ASSIGN_OR_RETURN(const std::optional<vault::KeyFile> keys, LoadKeyFile(flags.key_file));
  if (flags.dry_run) {
    COPPICE_ASSIGN_OR_RETURN(const maintenance::Findings findings,
                             maintenance::CheckStore(data_dir, Line().Progress(), keys));
    PrintSteps(flags, "plan", maintenance::PlanRepair(findings));
    return findings.problems.empty() ? kExitDone : kExitFailed;
  }
  if (flags.folder.empty()) {
    return InvalidArgumentError(
        "--backup DIR is missing: the files as they are now are copied there first. Or use "
        "--dry-run, which changes nothing");
  }
  StatusOr<maintenance::RepairResult> result = InternalError("");
  {
    const Line line;
    result = maintenance::RepairStore(data_dir, flags.folder, Now(), line.Progress(), keys);
  }
  COPPICE_RETURN_IF_ERROR(result.status());
  PrintSteps(flags, "done", result->done);
  PrintFindings(flags, result->left);
  return result->left.problems.empty() ? kExitDone : kExitFailed;
}

StatusOr<int> Backup(const OfflineFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const std::string data_dir,
                           DataDirOf(flags, "use pg_basebackup of the database server instead"));
  COPPICE_RETURN_IF_ERROR(CheckHoldsStore(storage::StoreLocation::DataDir(data_dir)));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<storage::Store> store,
                           storage::OpenRocksDbStore(data_dir));
  COPPICE_RETURN_IF_ERROR(storage::HasFormat(*store).status());
  // Copies what is on disk: sealed records stay sealed, and no key is needed.
  COPPICE_RETURN_IF_ERROR(vault::CheckNotHalfSealed(*store));
  const Line line;
  const maintenance::ProgressCallback tell = line.Progress();
  COPPICE_ASSIGN_OR_RETURN(
      const storage::StoreBackup backup,
      store->Backup({.folder = flags.folder, .keep = flags.keep, .progress = [&](uint64_t bytes) {
                       tell(StrCat(bytes >> 20, " MiB written"));
                       return true;
                     }}));
  PrintBackup(flags, backup);
  return kExitDone;
}

constexpr char kForgets[] =
    "What was acknowledged after the backup was made is lost. Reports of that time are in no sum; "
    "a "
    "device that sends one again is counted, once. What was deleted since is there again: delete "
    "it "
    "again. What was spent of datasets since is not in their ledgers: every dataset refuses jobs "
    "until an admin has confirmed the head that was noted last (coppice dataset confirm) or, if "
    "charges are lost, has written them off (coppice dataset write-off). Datasets that were made "
    "since have lost their ledgers, and their names are free: do not upload the same people "
    "again as if nothing were spent. With the daemon's --spending-journal the losses are known "
    "and the names stay taken. Jobs that were waiting or running fail, and stay charged.";

StatusOr<int> Restore(const OfflineFlags& flags) {
  if (flags.list) {
    COPPICE_ASSIGN_OR_RETURN(const std::vector<storage::StoreBackup> backups,
                             storage::ListBackups(flags.folder));
    for (const storage::StoreBackup& backup : backups) PrintBackup(flags, backup);
    return kExitDone;
  }
  if (flags.data_dir.empty()) return InvalidArgumentError("--data-dir DIR is missing");
  COPPICE_ASSIGN_OR_RETURN(const std::optional<vault::KeyFile> keys, LoadKeyFile(flags.key_file));
  StatusOr<maintenance::RestoreResult> result = InternalError("");
  {
    const Line line;
    result = maintenance::RestoreStore(flags.folder, flags.backup_id, flags.data_dir, Now(),
                                       line.Progress(), /*env=*/nullptr, keys);
  }
  COPPICE_RETURN_IF_ERROR(result.status());
  PrintBackup(flags, result->backup);
  for (const std::string& dataset : result->on_hold) {
    PrintLine(flags, "hold", dataset,
              "waits for an admin to confirm the ledger's head or to write off what is lost");
  }
  PrintFindings(flags, result->findings);
  std::cerr << "coppiced: " << kForgets << "\n";
  if (result->findings.problems.empty()) return kExitDone;
  std::cerr << "coppiced: the store is restored, but the backup had problems: run `coppiced "
               "repair`, or restore another backup (--list, --backup-id)\n";
  return kExitFailed;
}

StatusOr<int> Assign(const OfflineFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const owners::Patterns resources,
                           owners::Patterns::Parse(flags.resources));
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation location,
                           LocationOf(flags.store, flags.data_dir));
  COPPICE_RETURN_IF_ERROR(CheckHoldsStore(location));
  vault::KeyOptions options;
  COPPICE_ASSIGN_OR_RETURN(options.keys, LoadKeyFile(flags.key_file));
  COPPICE_ASSIGN_OR_RETURN(const vault::KeyedStore store, vault::OpenKeyedStore(location, options));
  COPPICE_RETURN_IF_ERROR(storage::OpenFormat(*store));
  std::vector<std::string> assigned;
  COPPICE_RETURN_IF_ERROR(
      maintenance::RunAudited(*store, Now(), "store/assign-owner", [&]() -> Status {
        COPPICE_ASSIGN_OR_RETURN(assigned,
                                 maintenance::AssignOwner(*store, flags.owner, resources));
        return OkStatus();
      }));
  for (const std::string& name : assigned) {
    PrintLine(flags, "assigned", name, StrCat("belongs to ", flags.owner));
  }
  return kExitDone;
}

StatusOr<int> AssignDatasets(const OfflineFlags& flags) {
  OfflineFlags datasets = flags;
  datasets.resources = {"datasets/*"};
  return Assign(datasets);
}

StatusOr<int> Copy(const OfflineFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation from,
                           storage::StoreLocation::Parse(flags.folder));
  COPPICE_ASSIGN_OR_RETURN(const storage::StoreLocation to,
                           storage::StoreLocation::Parse(flags.to));
  const Line line;
  COPPICE_ASSIGN_OR_RETURN(const maintenance::CopyResult copied,
                           maintenance::CopyStore(from, to, line.Progress()));
  if (flags.json) {
    PrintJson({{"kind", "copy"},
               {"records", copied.records},
               {"bytes", copied.bytes},
               {"digest", copied.digest}});
  } else {
    std::cout << copied.records << " records, " << copied.bytes << " bytes, digest "
              << copied.digest << "\n";
  }
  return kExitDone;
}

constexpr const char* kCommands[] = {"check",   "repair",       "backup",         "copy",
                                     "restore", "assign-owner", "assign-datasets"};

using Command = StatusOr<int> (*)(const OfflineFlags&);

void AddDataDir(CLI::App& app, OfflineFlags& flags) {
  app.add_option("--data-dir", flags.data_dir, "The daemon's data directory")->type_name("DIR");
}

void AddStore(CLI::App& app, OfflineFlags& flags) {
  app.add_option("--store", flags.store,
                 "The daemon's store: rocksdb:DIR, or postgresql://HOST/DATABASE")
      ->type_name("STORE");
  AddDataDir(app, flags);
}

void AddKeyFile(CLI::App& app, OfflineFlags& flags) {
  app.add_option("--key-file", flags.key_file, "The daemon's key file, if its store is sealed")
      ->type_name("FILE");
}

// Adds a command's flags to `app`, which keeps pointers into `flags`.
Command AddCommand(const std::string& name, CLI::App& app, OfflineFlags& flags) {
  app.add_flag("--json", flags.json, "Print one JSON object a line");
  if (name == "check") {
    app.description(
        "Verifies a store while no daemon is running on it, and changes nothing: the checksums of "
        "all files of a data directory, every record as the daemon would load it, and that the "
        "records fit together. Prints every problem, and exits with 1 if there is one.");
    AddStore(app, flags);
    AddKeyFile(app, flags);
    return Check;
  }
  if (name == "repair") {
    app.description(
        "Repairs a damaged data directory so that a daemon can start on it; no daemon may be "
        "running. Copies the files first. Puts what cannot be read into quarantine, inside the "
        "store; a dataset whose ledger is damaged cannot be charged any more. Never invents a "
        "report or refunds a charge. Prints what it does and what is lost, and exits with 1 if "
        "problems remain. Restoring a backup may lose less: see --dry-run.");
    AddStore(app, flags);
    AddKeyFile(app, flags);
    app.add_option("--backup", flags.folder,
                   "Copy the files to this folder first; it must not exist")
        ->type_name("DIR");
    app.add_flag("--dry-run", flags.dry_run, "Print what would be done, and change nothing");
    app.add_option("--drop-model", flags.drop_model,
                   "Only delete this model, without reading it: for a model that is damaged or "
                   "larger than memory. Endpoints that serve it go into quarantine. Copying the "
                   "files first is optional")
        ->type_name("ID");
    return Repair;
  }
  if (name == "backup") {
    app.description(
        "Adds a backup of a data directory to a folder of backups, while no daemon is running on "
        "it. While one is, use `coppice admin backup`. Backups of a store that is not encrypted "
        "(--key-file of the daemon) contain private rows and the ticket key in plain: keep them as "
        "safe as the directory. What is encrypted stays encrypted, and no key is needed.");
    AddStore(app, flags);
    app.add_option("--to", flags.folder,
                   "Folder of backups, which others must not be able to read; created if missing")
        ->type_name("DIR")
        ->required();
    app.add_option("--keep", flags.keep, "Number of backups to keep, the newest; 0 keeps all")
        ->type_name("N")
        ->capture_default_str();
    return Backup;
  }
  if (name == "copy") {
    app.description(
        "Copies a store into an empty one, of either kind, while no daemon is running on them, and "
        "compares the two. The source is not changed. What is encrypted stays encrypted, and no "
        "key is needed. An interrupted copy does not open as a store.");
    app.add_option("--from", flags.folder, "rocksdb:DIR, or postgresql://HOST/DATABASE")
        ->type_name("STORE")
        ->required();
    app.add_option("--to", flags.to, "The same, without a record")->type_name("STORE")->required();
    return Copy;
  }
  if (name == "assign-owner" || name == "assign-datasets") {
    app.description(
        name == "assign-owner"
            ? "Gives every study, dataset and endpoint without an owner to one entry of the "
              "policy, while no daemon is running. Resources made without a policy have no owner, "
              "and only the operator sees them. Existing owners are kept."
            : "Gives every dataset without an owner to one entry of the policy, as assign-owner "
              "--resource 'datasets/*' does.");
    AddStore(app, flags);
    AddKeyFile(app, flags);
    app.add_option("--owner", flags.owner, "Name of the policy's entry")
        ->type_name("NAME")
        ->required();
    if (name == "assign-datasets") return AssignDatasets;
    app.add_option(
           "--resource", flags.resources,
           "Only resources that match this pattern, such as 'studies/team-a-*'; may be repeated")
        ->type_name("PATTERN")
        ->default_str("*");
    return Assign;
  }
  app.description(
      "Verifies a backup, makes a data directory from it, and checks the result. Refuses a "
      "directory that holds a store. Afterwards every dataset refuses jobs until an admin confirms "
      "its ledger or writes off what it lost.");
  AddDataDir(app, flags);
  AddKeyFile(app, flags);
  app.add_option("--from", flags.folder, "Folder of backups")->type_name("DIR")->required();
  app.add_option("--backup-id", flags.backup_id, "Which backup; 0 is the newest")
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--list", flags.list, "List the backups, and restore none");
  return Restore;
}

}  // namespace

void DescribeOffline(CLI::App& program) {
  static OfflineFlags never_filled;
  for (const char* name : kCommands) AddCommand(name, *program.add_subcommand(name), never_filled);
}

std::optional<int> RunOffline(int argc, const char* const* argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (std::find(std::begin(kCommands), std::end(kCommands), name) == std::end(kCommands)) {
    return std::nullopt;
  }
  const std::string program = "coppiced " + name;
  CLI::App app("", program);
  OfflineFlags flags;
  const Command command = AddCommand(name, app, flags);
  if (const auto done = ReadLine(app, program, argc - 1, argv + 1); done.has_value()) return done;
  const StatusOr<int> code = command(flags);
  if (code.ok()) return *code;
  const int failed = Fail(program, code.status());
  if (flags.json) std::cout << JsonError(code.status()) << "\n";
  return IsInvalidArgument(code.status()) ? kExitUsage : failed;
}

}  // namespace coppice::daemon
