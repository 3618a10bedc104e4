#include <algorithm>
#include <filesystem>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/daemon/maintenance/restore.h"
#include "server/store/rocksdb/backups.h"
#include "tests/faults/world_impl.h"

namespace coppice::testing {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kKeptBackups = 3;

}  // namespace

// Copies the folder, as a file system's snapshot does.
void World::TakeSnapshot() {
  if (!up() || disk_.stopped()) return;
  Flow();
  const fs::path copy = folder_ + "/copy";
  fs::remove_all(copy);
  fs::copy(data_, copy, fs::copy_options::recursive);
  copied_ = Known{truths_, generation_};
}

void World::PutBack() {
  if (!copied_.has_value()) return;
  Stop();
  if (disk_.stopped()) EndByCrash();
  fs::remove_all(data_);
  fs::copy(folder_ + "/copy", data_, fs::copy_options::recursive);
  disk_.FilesReplaced(data_);
  GoOnFrom(*copied_);
  Start();
}

void World::GoOnFrom(const Known& known) {
  truths_ = known.truths;
  generation_ = known.generation;
  for (auto& [id, truth] : truths_) truth.latest = std::max<int64_t>(truth.latest, now_);
  restored_ = put_back_now_ = true;
}

std::vector<storage::StoreBackup> World::LookAtBackups() {
  StatusOr<std::vector<storage::StoreBackup>> there = storage::ListBackups(folder_ + "/backups");
  if (IsNotFound(there.status())) there = std::vector<storage::StoreBackup>();
  Expect(there.status());
  if (!there.ok()) return {};
  if (const std::string wrong = backups_.Look(*there); !wrong.empty()) Violation(wrong);
  return *std::move(there);
}

void World::Backup(const std::vector<Message>& meanwhile, uint32_t changes) {
  if (!up() || disk_.stopped()) return;
  TakeAnswers();
  LookAtBackups();
  const Known before{truths_, generation_};
  const std::string folder = folder_ + "/backups";
  // A store closed by a failed write is opened again here: nobody can write until it is.
  const bool open = curator_.disk_store().Get("meta/format").ok();
  if (!meanwhile.empty()) Queue(meanwhile);
  if (!meanwhile.empty() && open) {
    disk_.MeetIn(folder, changes, [this] {
      curator_.gate().Hold(false);
      traffic_.AwaitAnswers();
    });
  }
  const StatusOr<storage::StoreBackup> made =
      curator_.twin().Backup({.folder = folder, .keep = kKeptBackups});
  disk_.MeetIn(folder, 0, nullptr);
  if (!meanwhile.empty()) {
    curator_.gate().Hold(false);
    traffic_.AwaitAnswers();
    slow_ = false;
  }
  TakeAnswers();
  Known known = CopiedBetween(before, {truths_, generation_});
  if (made.ok() && !disk_.stopped()) {
    ++tally_.backups;
    return backups_.Made(made->id, std::move(known));
  }
  ++tally_.failed_backups;
  backups_.Tried(std::move(known));
  if (!disk_.stopped() && !IsExcused(made.status())) Expect(made.status());
}

void World::Restore(bool oldest) {
  if (LookAtBackups().empty()) return;
  Stop();
  if (disk_.stopped()) EndByCrash();  // a crash may take back a backup that was not acknowledged
  const std::vector<storage::StoreBackup> there = LookAtBackups();
  if (there.empty() || !violation().empty()) return;
  const uint32_t id = oldest ? there.front().id : there.back().id;
  const std::string fresh = StrCat(folder_, "/data", ++restores_);
  const StatusOr<maintenance::RestoreResult> restored =
      maintenance::RestoreStore(folder_ + "/backups", id, fresh, now_, [](const std::string&) {});
  if (!restored.ok()) {
    return Violation(StrCat("restoring: ", restored.status().ToString()));
  }
  for (const maintenance::Problem& problem : restored->findings.problems) {
    Violation(StrCat("the restored store: ", problem.key, ": ", problem.what));
  }
  fs::remove_all(data_);
  disk_.FilesReplaced(data_);
  data_ = fresh;
  ++tally_.restores;
  GoOnFrom(backups_.Of(id));
  Start();
}

}  // namespace coppice::testing
