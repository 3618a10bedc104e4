#include "client/python/core/accountant.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/read_file.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/base/write_file.h"

namespace coppice::python {
namespace {

using Pairs = storage::MemoryStore::Pairs;

constexpr char kAccount[] = "rows";  // an accountant has one account
constexpr char kFormat[] = "coppice.budget";
constexpr int kVersion = 1;
constexpr std::chrono::milliseconds kBetweenTries(5);
constexpr uint32_t kMaxTriesOfEmpty = 200;

Status Damaged(const std::string& path) {
  return DataLossError(
      StrCat(path, " is not a budget as an accountant writes it: it was changed or cut"));
}

// Whether the open file still has that name.
bool IsSameFile(int descriptor, const std::string& path) {
  struct stat opened {
  }, named{};
  return fstat(descriptor, &opened) == 0 && stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// An exclusive lock of the file itself, for as long as this lives. The kernel frees the lock of a
// process that dies.
//
// A writer gives the name to a new file. Those who wait for the old one then see that it is no
// longer the file of that name, and wait for the new one.
class FileLock {
 public:
  // Waits, and asks `interrupted` meanwhile. Makes an empty file if `may_create` and there is none.
  static StatusOr<FileLock> Take(const std::string& path, bool may_create,
                                 const CancelCheck& interrupted) {
    for (uint32_t tries = 0;; ++tries) {
      COPPICE_ASSIGN_OR_RETURN(FileLock lock, OpenFile(path, may_create));
      while (flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
          return UnavailableError(StrCat(path, " cannot be locked: ", std::strerror(errno)));
        }
        COPPICE_RETURN_IF_ERROR(interrupted());
        std::this_thread::sleep_for(kBetweenTries);
      }
      if (!IsSameFile(lock.descriptor_, path)) continue;
      if (lock.is_new_ || !IsEmpty(lock.descriptor_)) return lock;
      // Somebody is about to write the first entry, or never will.
      if (tries >= kMaxTriesOfEmpty) return Damaged(path);
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
  FileLock(FileLock&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), is_new_(other.is_new_) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock() {
    if (descriptor_ < 0) return;
    flock(descriptor_, LOCK_UN);  // a child that was forked meanwhile has the descriptor, too
    close(descriptor_);
  }

  bool is_new() const { return is_new_; }

 private:
  FileLock(int descriptor, bool is_new) : descriptor_(descriptor), is_new_(is_new) {}

  static StatusOr<FileLock> OpenFile(const std::string& path, bool may_create) {
    int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor >= 0) return FileLock(descriptor, false);
    if (errno == ENOENT && may_create) {
      descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kSecretFileMode);
      if (descriptor >= 0) return FileLock(descriptor, true);
      if (errno == EEXIST) return OpenFile(path, false);
    } else if (errno == ENOENT) {
      return NotFoundError(StrCat(path, " is not here: the budget that it held cannot be charged"));
    }
    return UnavailableError(StrCat(path, ": ", std::strerror(errno)));
  }

  static bool IsEmpty(int descriptor) {
    struct stat file {};
    return fstat(descriptor, &file) == 0 && file.st_size == 0;
  }

  int descriptor_;
  bool is_new_;  // made by this process, and empty
};

// Two names would be two locks.
Status CheckHasOneName(const std::string& path) {
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) return OkStatus();  // not there yet
  if (S_ISREG(file.st_mode) && file.st_nlink == 1) return OkStatus();
  return InvalidArgumentError(
      StrCat(path, " must be a file of its own, not a link, and without a second name"));
}

StatusOr<Pairs> ReadPairs(const std::string& path) {
  const StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return UnavailableError(text.status().message());
  const nlohmann::json file = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || file.value("format", nlohmann::json()) != kFormat) return Damaged(path);
  if (file.value("version", nlohmann::json()) != kVersion) {
    return FailedPreconditionError(
        StrCat(path, " was written by a newer version of coppice: upgrade this one"));
  }
  const nlohmann::json records = file.value("records", nlohmann::json());
  if (!records.is_object() || records.empty()) return Damaged(path);
  Pairs pairs;
  for (const auto& [key, value] : records.items()) {
    std::string bytes;
    if (!value.is_string() || !Base64Unescape(value.get<std::string>(), &bytes)) {
      return Damaged(path);
    }
    pairs[key] = bytes;
  }
  return pairs;
}

Status WritePairs(const std::string& path, const Pairs& pairs) {
  nlohmann::ordered_json records = nlohmann::ordered_json::object();
  for (const auto& [key, value] : pairs) records[key] = Base64Escape(value);
  const nlohmann::ordered_json file = {
      {"format", kFormat}, {"version", kVersion}, {"records", records}};
  return WriteFileAtomically(path, file.dump(1) + "\n", {.replace = true, .mode = kSecretFileMode});
}

// Opens the account where there is none yet, and refuses one with another cap.
Status CheckCap(ledger::Ledger& ledger, const ledger::BudgetCap& cap, const std::string& path) {
  const StatusOr<ledger::BudgetCap> found = ledger.CapOf(kAccount);
  if (IsNotFound(found.status())) {
    return ledger.OpenAccount(kAccount, cap, storage::StoreBatch());
  }
  COPPICE_RETURN_IF_ERROR(found.status());
  if (*found == cap) return OkStatus();
  return InvalidArgumentError(StrCat(
      path, " has a budget of epsilon ", ledger::EpsilonText(found->epsilon_nanos), " and delta ",
      ledger::DeltaText(found->delta_atto), " (", ledger::CompositionName(found->composition), ", ",
      NeighboursName(found->neighbours), "), which cannot be changed: ask for just that"));
}

}  // namespace

Accountant::Accountant(std::string path, const ledger::BudgetCap& cap, CancelCheck interrupted)
    : path_(std::move(path)), cap_(cap), interrupted_(std::move(interrupted)), process_(getpid()) {}

StatusOr<std::unique_ptr<Accountant>> Accountant::Open(const std::string& path,
                                                       const ledger::BudgetCap& cap,
                                                       bool may_create, CancelCheck interrupted) {
  COPPICE_RETURN_IF_ERROR(ledger::Validate(cap));
  std::unique_ptr<Accountant> accountant(new Accountant(path, cap, std::move(interrupted)));
  COPPICE_RETURN_IF_ERROR(
      accountant->WithLedger([](ledger::Ledger&) { return OkStatus(); }, may_create));
  return accountant;
}

Status Accountant::Reserve(const std::string& fit, absl::Span<const Release> planned) {
  return WithLedger([&](ledger::Ledger& ledger) {
    return ledger.Reserve(kAccount, fit, planned, storage::StoreBatch());
  });
}

Status Accountant::Settle(const std::string& fit, absl::Span<const Release> made) {
  return WithLedger([&](ledger::Ledger& ledger) {
    return ledger.Settle(kAccount, fit, made, storage::StoreBatch());
  });
}

StatusOr<ledger::Account> Accountant::Get() {
  StatusOr<ledger::Account> account;
  COPPICE_RETURN_IF_ERROR(WithLedger([&](ledger::Ledger& ledger) {
    account = ledger.Get(kAccount);
    return account.status();
  }));
  return account;
}

Status Accountant::ReadFileAnew() {
  COPPICE_ASSIGN_OR_RETURN(Pairs found, ReadPairs(path_));
  // Entries are only added.
  if (!std::includes(found.begin(), found.end(), pairs_.begin(), pairs_.end())) {
    return DataLossError(
        StrCat(path_, " lacks charges that were made: it was replaced by an older copy, or cut"));
  }
  pairs_ = std::move(found);
  return OkStatus();
}

Status Accountant::WithLedger(absl::FunctionRef<Status(ledger::Ledger&)> use, bool may_create) {
  if (getpid() != process_) {  // before the mutex, which a fork may have copied while it was held
    return FailedPreconditionError(
        "this budget belongs to the process that opened it, and not to its children: give it a "
        "file, and open that here");
  }
  const MutexLock lock(mutex_);
  std::optional<FileLock> file_lock;
  if (!path_.empty()) {
    COPPICE_RETURN_IF_ERROR(CheckHasOneName(path_));
    COPPICE_ASSIGN_OR_RETURN(FileLock taken, FileLock::Take(path_, may_create, interrupted_));
    file_lock.emplace(std::move(taken));
    if (!file_lock->is_new()) COPPICE_RETURN_IF_ERROR(ReadFileAnew());
  }
  storage::MemoryStore store(pairs_);
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ledger::Ledger> ledger,
                           ledger::Ledger::Open(store, [] { return int64_t{std::time(nullptr)}; }));
  COPPICE_RETURN_IF_ERROR(CheckCap(*ledger, cap_, path_));
  COPPICE_RETURN_IF_ERROR(use(*ledger));
  Pairs changed = store.pairs();
  if (!path_.empty() && changed != pairs_) COPPICE_RETURN_IF_ERROR(WritePairs(path_, changed));
  pairs_ = std::move(changed);
  return OkStatus();
}

}  // namespace coppice::python
