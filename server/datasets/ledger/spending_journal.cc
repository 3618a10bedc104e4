#include "server/datasets/ledger/spending_journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/terms.h"

namespace coppice::ledger {
namespace {

constexpr std::string_view kHeader = "coppice spending journal 1\n";

std::string HexText(const Sha256Digest& digest) { return BytesToHexString(AsBytes(digest)); }

// Returns the line up to its check.
std::string TextOf(const SpendingLine& line) {
  return StrCat(line.dataset, " ", line.entries, " ", HexText(line.head), " ",
                line.spent.epsilon_nanos, " ", line.spent.delta_atto, " ", line.spent.rho_pico,
                " ");
}

std::optional<Sha256Digest> ParseDigest(std::string_view text) {
  Sha256Digest digest{};
  if (text.size() != 2 * digest.size() ||
      !std::all_of(text.begin(), text.end(), [](char c) { return IsAsciiXdigit(c); })) {
    return std::nullopt;
  }
  const std::string bytes = HexStringToBytes(text);
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

// Parses a line without its end. None unless the line follows `check`, which becomes its check.
std::optional<SpendingLine> ParseLine(std::string_view text, Sha256Digest& check) {
  const std::vector<std::string_view> fields = StrSplit(text, ' ');
  if (fields.size() != 7) return std::nullopt;
  SpendingLine line{.dataset = std::string(fields[0])};
  const std::optional<Sha256Digest> head = ParseDigest(fields[2]);
  if (!IsValidId(line.dataset) || !head.has_value() || !SimpleAtoi(fields[1], &line.entries) ||
      !SimpleAtoi(fields[3], &line.spent.epsilon_nanos) ||
      !SimpleAtoi(fields[4], &line.spent.delta_atto) ||
      !SimpleAtoi(fields[5], &line.spent.rho_pico)) {
    return std::nullopt;
  }
  line.head = *head;
  const std::string body = TextOf(line);
  const Sha256Digest expected = Sha256({AsBytes(check), body});
  if (text != StrCat(body, HexText(expected))) return std::nullopt;
  check = expected;
  return line;
}

bool IsIn(const AccountBook& book, const SpendingLine& line) {
  return line.entries > 0 && line.entries <= book.entries().size() &&
         book.entries()[line.entries - 1].hash == line.head;
}

// Returns all that these lines charged beyond `spent`. A line's refund is not subtracted: the
// ledger may have refunded it on its own branch too, and only one of the two may count.
Cost ChargedBy(absl::Span<const SpendingLine> lines, Cost spent) {
  Cost charged;
  for (const SpendingLine& line : lines) {
    charged =
        Plus(charged,
             {.epsilon_nanos = SaturatingSubtract(line.spent.epsilon_nanos, spent.epsilon_nanos),
              .delta_atto = SaturatingSubtract(line.spent.delta_atto, spent.delta_atto),
              .rho_pico = SaturatingSubtract(line.spent.rho_pico, spent.rho_pico)});
    spent = line.spent;
  }
  return charged;
}

class FileSpendingJournal final : public SpendingJournal {
 public:
  FileSpendingJournal(std::string path, int file) : path_(std::move(path)), file_(file) {}
  ~FileSpendingJournal() override { close(file_); }
  FileSpendingJournal(const FileSpendingJournal&) = delete;
  FileSpendingJournal& operator=(const FileSpendingJournal&) = delete;

  Status Load() {
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return Failed("cannot be locked");
      return FailedPreconditionError(
          StrCat(path_,
                 ": another process uses this spending journal; give each daemon one "
                 "of its own"));
    }
    if (fchmod(file_, S_IRUSR | S_IWUSR) != 0) return Failed("cannot be closed to others");
    COPPICE_ASSIGN_OR_RETURN(const std::string bytes, ReadAll());
    // The file was cut before it had its header, so nothing was ever noted.
    const bool is_new = bytes.size() < kHeader.size() && StartsWith(kHeader, bytes);
    if (!is_new) COPPICE_RETURN_IF_ERROR(Parse(bytes));
    if (is_new) COPPICE_RETURN_IF_ERROR(Write(kHeader));
    if (ftruncate(file_, size_) != 0 || fsync(file_) != 0) return Failed("cannot be cut");
    // A crash may have come before the folder's entry for the file was on disk.
    return lines_.empty() ? SyncFolder() : OkStatus();
  }

  const std::vector<SpendingLine>& lines() const override { return lines_; }

  Status Append(const SpendingLine& line) override {
    const std::string body = TextOf(line);
    const Sha256Digest check = Sha256({AsBytes(check_), body});
    COPPICE_RETURN_IF_ERROR(CutOffFailedWrite());
    COPPICE_RETURN_IF_ERROR(Write(StrCat(body, HexText(check), "\n")));
    check_ = check;
    return OkStatus();
  }

 private:
  Status Failed(std::string_view what) const {
    return UnavailableError(
        StrCat("the spending journal ", path_, " ", what, ": ", std::strerror(errno)));
  }

  StatusOr<std::string> ReadAll() const {
    std::string bytes;
    char block[1 << 16];
    for (;;) {
      const ssize_t n = pread(file_, block, sizeof block, static_cast<off_t>(bytes.size()));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return Failed("cannot be read");
      if (n == 0) return bytes;
      bytes.append(block, static_cast<size_t>(n));
    }
  }

  Status Parse(std::string_view bytes) {
    if (!StartsWith(bytes, kHeader)) {
      return DataLossError(StrCat(path_, " is not a spending journal"));
    }
    size_ = static_cast<off_t>(kHeader.size());
    for (std::string_view rest = bytes.substr(kHeader.size()); !rest.empty();) {
      const size_t end = rest.find('\n');
      const std::string_view text = rest.substr(0, end);
      const bool is_last = end == std::string_view::npos || end + 1 == rest.size();
      // A crash leaves the last line without its end, or with a page that was never written.
      if (is_last && (end == std::string_view::npos || StrContains(text, '\0'))) break;
      std::optional<SpendingLine> line = ParseLine(text, check_);
      if (!line.has_value()) {
        return DataLossError(
            StrCat(path_, ":", lines_.size() + 2,
                   ": this line was changed, or one before it is missing. Find an intact copy, or "
                   "begin a new journal and compare each dataset's charges by hand"));
      }
      lines_.push_back(*std::move(line));
      size_ += static_cast<off_t>(end + 1);
      rest.remove_prefix(end + 1);
    }
    return OkStatus();
  }

  // Removes what a failed write may have left: a part of its line, or all of it.
  Status CutOffFailedWrite() {
    struct stat now {};
    if (fstat(file_, &now) != 0) return Failed("cannot be inspected");
    if (now.st_size == size_) return OkStatus();
    if (!write_failed_ || now.st_size < size_) {
      return UnavailableError(StrCat(
          "the spending journal ", path_,
          " was changed by something other than this daemon: restore its contents, and restart"));
    }
    if (ftruncate(file_, size_) != 0) return Failed("cannot be cut");
    return OkStatus();
  }

  Status Write(std::string_view bytes) {
    write_failed_ = true;
    off_t at = size_;
    for (std::string_view rest = bytes; !rest.empty();) {
      const ssize_t n = pwrite(file_, rest.data(), rest.size(), at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return Failed("cannot be written");
      rest.remove_prefix(static_cast<size_t>(n));
      at += n;
    }
    if (fdatasync(file_) != 0) return Failed("cannot be synced");
    write_failed_ = false;
    size_ = at;
    return OkStatus();
  }

  Status SyncFolder() const {
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    const int handle =
        open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = handle >= 0 && fsync(handle) == 0;
    const Status status = synced ? OkStatus() : Failed("has a folder that cannot be synced");
    if (handle >= 0) close(handle);
    return status;
  }

  const std::string path_;
  const int file_;
  std::vector<SpendingLine> lines_;
  Sha256Digest check_ = Sha256({kHeader});
  off_t size_ = 0;             // of the bytes known to be on disk
  bool write_failed_ = false;  // by the last write: something may stand beyond size_
};

}  // namespace

StatusOr<std::unique_ptr<SpendingJournal>> SpendingJournal::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) {
    return UnavailableError(
        StrCat(path, ": the spending journal cannot be opened: ", std::strerror(errno)));
  }
  auto journal = std::make_unique<FileSpendingJournal>(path, file);
  COPPICE_RETURN_IF_ERROR(journal->Load());
  return journal;
}

LinesByDataset ByDataset(absl::Span<const SpendingLine> lines) {
  LinesByDataset by_dataset;
  for (const SpendingLine& line : lines) {
    if (line.entries == 0) {
      by_dataset.erase(line.dataset);
    } else {
      by_dataset[line.dataset].push_back(line);
    }
  }
  return by_dataset;
}

JournalFinding CompareWithJournal(const AccountBook& book, absl::Span<const SpendingLine> lines) {
  size_t common = lines.size();  // lines up to the last one that the ledger has
  while (common > 0 && !IsIn(book, lines[common - 1])) --common;
  if (common == lines.size()) {
    return {.journal_is_behind = lines.empty() || lines.back().entries < book.entries().size()};
  }
  return {.lost = ChargedBy(lines.subspan(common), common == 0 ? Cost() : lines[common - 1].spent)};
}

SpendingLine LineOf(const AccountBook& book) {
  return {.dataset = book.dataset(),
          .entries = book.entries().size(),
          .head = book.head(),
          .spent = TotalOf(book.spent())};
}

Cost HighestSpent(absl::Span<const SpendingLine> lines) {
  Cost highest;
  for (const SpendingLine& line : lines) highest = Max(highest, line.spent);
  return highest;
}

}  // namespace coppice::ledger
