#include "client/python/core/accountant.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/base/write_file.h"

namespace coppice::python {
namespace {

using Pairs = storage::MemoryStore::Pairs;

constexpr char kAccount[] = "rows";  // an accountant has one account
constexpr char kFormat[] = "coppice.budget";
constexpr int kVersion = 1;

absl::Status Damaged(const std::string& path) {
  return absl::DataLossError(
      absl::StrCat(path, " is not a budget as an accountant writes it: it was changed or cut"));
}

// An exclusive lock of the whole file, for as long as this lives. The kernel frees the lock of a
// process that dies.
class FileLock {
 public:
  static absl::StatusOr<FileLock> Take(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kSecretFileMode);
    if (descriptor < 0) {
      return absl::UnavailableError(absl::StrCat(path, ": ", std::strerror(errno)));
    }
    FileLock lock(descriptor);
    while (flock(descriptor, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      return absl::UnavailableError(
          absl::StrCat(path, " cannot be locked: ", std::strerror(errno)));
    }
    return lock;
  }
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~FileLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

absl::StatusOr<Pairs> ReadPairs(const std::string& path) {
  if (!std::filesystem::exists(path)) return Pairs();
  const absl::StatusOr<std::string> text = ReadFile(path);
  if (!text.ok()) return absl::UnavailableError(text.status().message());
  const nlohmann::json file = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || file.value("format", nlohmann::json()) != kFormat) return Damaged(path);
  if (file.value("version", nlohmann::json()) != kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " was written by a newer version of coppice: upgrade this one"));
  }
  const nlohmann::json records = file.value("records", nlohmann::json::object());
  if (!records.is_object()) return Damaged(path);
  Pairs pairs;
  for (const auto& [key, value] : records.items()) {
    std::string bytes;
    if (!value.is_string() || !absl::Base64Unescape(value.get<std::string>(), &bytes)) {
      return Damaged(path);
    }
    pairs[key] = bytes;
  }
  return pairs;
}

absl::Status WritePairs(const std::string& path, const Pairs& pairs) {
  nlohmann::ordered_json records = nlohmann::ordered_json::object();
  for (const auto& [key, value] : pairs) records[key] = absl::Base64Escape(value);
  const nlohmann::ordered_json file = {
      {"format", kFormat}, {"version", kVersion}, {"records", records}};
  return WriteFileAtomically(path, file.dump(1) + "\n", {.replace = true, .mode = kSecretFileMode});
}

// Opens the account where there is none yet, and refuses one with another cap.
absl::Status CheckCap(ledger::Ledger& ledger, const ledger::BudgetCap& cap,
                      const std::string& path) {
  const absl::StatusOr<ledger::BudgetCap> found = ledger.CapOf(kAccount);
  if (absl::IsNotFound(found.status())) {
    return ledger.OpenAccount(kAccount, cap, storage::StoreBatch());
  }
  COPPICE_RETURN_IF_ERROR(found.status());
  if (*found == cap) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, " has a budget of epsilon ", ledger::EpsilonText(found->epsilon_nanos), " and delta ",
      ledger::DeltaText(found->delta_atto), " (", ledger::CompositionName(found->composition), ", ",
      NeighboursName(found->neighbours), "), which cannot be changed: ask for just that"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Accountant>> Accountant::Open(const std::string& path,
                                                             const ledger::BudgetCap& cap) {
  COPPICE_RETURN_IF_ERROR(ledger::Validate(cap));
  std::unique_ptr<Accountant> accountant(new Accountant(path, cap));
  COPPICE_RETURN_IF_ERROR(accountant->WithLedger([](ledger::Ledger&) { return absl::OkStatus(); }));
  return accountant;
}

absl::Status Accountant::Reserve(const std::string& fit, absl::Span<const Release> planned) {
  return WithLedger([&](ledger::Ledger& ledger) {
    return ledger.Reserve(kAccount, fit, planned, storage::StoreBatch());
  });
}

absl::Status Accountant::Settle(const std::string& fit, absl::Span<const Release> made) {
  return WithLedger([&](ledger::Ledger& ledger) {
    return ledger.Settle(kAccount, fit, made, storage::StoreBatch());
  });
}

absl::StatusOr<ledger::Account> Accountant::Get() {
  absl::StatusOr<ledger::Account> account;
  COPPICE_RETURN_IF_ERROR(WithLedger([&](ledger::Ledger& ledger) {
    account = ledger.Get(kAccount);
    return account.status();
  }));
  return account;
}

absl::Status Accountant::WithLedger(absl::FunctionRef<absl::Status(ledger::Ledger&)> use) {
  const MutexLock lock(mutex_);
  std::optional<FileLock> file_lock;
  if (!path_.empty()) {
    COPPICE_ASSIGN_OR_RETURN(FileLock taken, FileLock::Take(path_ + ".lock"));
    file_lock.emplace(std::move(taken));
    COPPICE_ASSIGN_OR_RETURN(pairs_, ReadPairs(path_));
  }
  storage::MemoryStore store(pairs_);
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ledger::Ledger> ledger,
                           ledger::Ledger::Open(store, [] { return int64_t{std::time(nullptr)}; }));
  COPPICE_RETURN_IF_ERROR(CheckCap(*ledger, cap_, path_));
  COPPICE_RETURN_IF_ERROR(use(*ledger));
  Pairs changed = store.pairs();
  if (!path_.empty() && changed != pairs_) COPPICE_RETURN_IF_ERROR(WritePairs(path_, changed));
  pairs_ = std::move(changed);
  return absl::OkStatus();
}

}  // namespace coppice::python
