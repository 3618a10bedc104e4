#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/csv_file.h"
#include "common/table/tables.h"

namespace coppice {
namespace {

constexpr size_t kMaxParts = 20;

// Accepts letters, digits, "-", "_" and inner dots: a file in the folder on any file system.
bool IsSafeName(std::string_view name) {
  constexpr size_t kLongest = 64;
  if (name.empty() || name.size() > kLongest || name[0] == '.' || name[0] == '-') return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return IsAsciiAlnum(c) || c == '-' || c == '_' || c == '.';
  });
}

Status SetAmount(std::string_view text, TablePart& part) {
  if (text == "rest") {
    part.kind = TablePart::Kind::kRest;
    return OkStatus();
  }
  if (SimpleAtoi(text, &part.rows) && part.rows > 0) return OkStatus();
  part.kind = TablePart::Kind::kFraction;
  if (SimpleAtod(text, &part.fraction) && part.fraction > 0 && part.fraction < 1) {
    return OkStatus();
  }
  return InvalidArgumentError(StrCat("part \"", part.name,
                                     "\" needs a number of rows (200), a fraction of "
                                     "all (0.2) or rest, not \"",
                                     text, "\""));
}

// Public numbers derived from a seed: those of the generator SplitMix64. Never noise.
class Draws {
 public:
  explicit Draws(uint64_t seed) : state_(seed) {}

  // Uniform on {0, ..., bound - 1}; `bound` is positive.
  uint64_t Below(uint64_t bound) {
    return PublicBelow(bound, [this] {
      const uint64_t number = SplitMix(state_);
      state_ += kSplitMixStep;
      return number;
    });
  }

 private:
  uint64_t state_;
};

class CountingSink : public CsvSink {
 public:
  Status OnHeader(const std::vector<std::string>& /*names*/, const CsvRow& row) override {
    columns_ = row.fields;
    return OkStatus();
  }
  void OnField(size_t /*column*/, std::string_view /*text*/) override {}
  Status OnRow(const CsvRow& row) override {
    ++rows_;
    return row.CheckFields(columns_);
  }
  uint64_t rows() const { return rows_; }

 private:
  size_t columns_ = 0;
  uint64_t rows_ = 0;
};

Status CannotWrite(const std::string& file) {
  return UnavailableError(StrCat("cannot write ", file, ": ", std::strerror(errno)));
}

// A file that gets its name once it is complete, and disappears if it is abandoned before.
class PartFile {
 public:
  static StatusOr<std::unique_ptr<PartFile>> Create(std::string path, mode_t mode) {
    auto part = std::unique_ptr<PartFile>(new PartFile(std::move(path)));
    const int descriptor = mkostemp(part->temporary_.data(), O_CLOEXEC);
    if (descriptor < 0) return CannotWrite(part->path_);
    part->file_ = fdopen(descriptor, "wb");
    if (part->file_ == nullptr || fchmod(descriptor, mode) != 0) return CannotWrite(part->path_);
    return part;
  }
  ~PartFile() {
    if (file_ != nullptr) std::fclose(file_);
    unlink(temporary_.c_str());
    if (has_name_ && !keep_) unlink(path_.c_str());
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  Status Write(std::string_view bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size() ? OkStatus()
                                                                             : CannotWrite(path_);
  }
  Status GiveName() {
    if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) return CannotWrite(path_);
    has_name_ = link(temporary_.c_str(), path_.c_str()) == 0;  // never replaces a file
    return has_name_ ? OkStatus() : CannotWrite(path_);
  }
  void Keep() { keep_ = true; }
  const std::string& path() const { return path_; }

 private:
  explicit PartFile(std::string path)
      : path_(std::move(path)), temporary_(StrCat(path_, ".XXXXXX")) {}

  const std::string path_;
  std::string temporary_;
  std::FILE* file_ = nullptr;
  bool has_name_ = false, keep_ = false;
};

using PartFiles = std::vector<std::unique_ptr<PartFile>>;

// Distributes the rows: each goes to a part with probability (rows that the part still needs) /
// (rows that are left).
class DealingSink : public CsvSink {
 public:
  DealingSink(std::vector<uint64_t> wanted, uint64_t seed, PartFiles& files)
      : wanted_(std::move(wanted)), draws_(seed), files_(files) {
    for (const uint64_t rows : wanted_) left_ += rows;
  }

  Status OnHeader(const std::vector<std::string>& /*names*/, const CsvRow& row) override {
    line_end_ = EndsWith(row.bytes, "\r\n") ? "\r\n" : "\n";
    for (const auto& file : files_) COPPICE_RETURN_IF_ERROR(Write(row, *file));
    return OkStatus();
  }
  void OnField(size_t /*column*/, std::string_view /*text*/) override {}
  Status OnRow(const CsvRow& row) override {
    if (left_ == 0)
      return InvalidArgumentError("the file grew while it was read; run the command again");
    uint64_t draw = draws_.Below(left_--);
    size_t part = 0;
    for (; draw >= wanted_[part]; ++part) draw -= wanted_[part];
    --wanted_[part];
    return Write(row, *files_[part]);
  }

  uint64_t left() const { return left_; }

 private:
  // The file's last row may lack a line end.
  Status Write(const CsvRow& row, PartFile& file) const {
    COPPICE_RETURN_IF_ERROR(file.Write(row.bytes));
    if (EndsWith(row.bytes, "\n")) return OkStatus();
    return file.Write(EndsWith(row.bytes, "\r") ? "\n" : line_end_);
  }

  std::vector<uint64_t> wanted_;
  Draws draws_;
  PartFiles& files_;
  uint64_t left_ = 0;
  std::string line_end_;
};

StatusOr<PartFiles> OpenParts(const std::vector<TablePart>& parts, const std::string& folder,
                              mode_t mode) {
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return CannotWrite(folder);
  PartFiles files;
  for (const TablePart& part : parts) {
    std::string path = StrCat(folder, "/", part.name, ".csv");
    if (struct stat there; lstat(path.c_str(), &there) == 0) {
      return AlreadyExistsError(
          StrCat(path, " exists already; move it away or choose another --output-dir"));
    }
    COPPICE_ASSIGN_OR_RETURN(auto file, PartFile::Create(std::move(path), mode));
    files.push_back(std::move(file));
  }
  return files;
}

Status InFile(const std::string& path, const Status& status) {
  return Status(status.code(), StrCat(path, ": ", status.message()));
}

}  // namespace

StatusOr<std::vector<TablePart>> ParseParts(std::string_view text) {
  std::vector<TablePart> parts;
  double fractions = 0;
  for (const std::string_view piece : StrSplit(text, ',')) {
    const std::pair<std::string_view, std::string_view> sides = StrSplit(piece, MaxSplits('=', 1));
    TablePart part;
    part.name = std::string(StripAsciiWhitespace(sides.first));
    if (!StrContains(piece, '=')) {
      return InvalidArgumentError(
          StrCat("needs NAME=ROWS separated by commas, such as "
                 "public=200,private=rest,test=0.2; \"",
                 piece, "\" has no \"=\""));
    }
    if (!IsSafeName(part.name)) {
      return InvalidArgumentError(
          StrCat("part \"", part.name,
                 "\" becomes a file's name: letters, digits, \"-\", \"_\" and \".\", "
                 "64 at most, not beginning with \"-\" or \".\""));
    }
    COPPICE_RETURN_IF_ERROR(SetAmount(StripAsciiWhitespace(sides.second), part));
    for (const TablePart& other : parts) {
      if (EqualsIgnoreCase(other.name, part.name)) {
        return InvalidArgumentError(StrCat("part \"", part.name, "\" is named twice"));
      }
      if (other.kind == TablePart::Kind::kRest && part.kind == TablePart::Kind::kRest) {
        return InvalidArgumentError("only one part can be the rest");
      }
    }
    fractions += part.fraction;
    parts.push_back(std::move(part));
  }
  constexpr double kRounding = 1e-9;
  if (fractions > 1 + kRounding) return InvalidArgumentError("the fractions add up to more than 1");
  if (parts.size() > kMaxParts)
    return InvalidArgumentError(StrCat("at most ", kMaxParts, " parts"));
  return parts;
}

StatusOr<std::vector<uint64_t>> SharesOf(const std::vector<TablePart>& parts, uint64_t rows) {
  std::vector<uint64_t> shares(parts.size());
  uint64_t sum = 0, before = 0;
  double fractions = 0;
  size_t rest = parts.size();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind == TablePart::Kind::kRest) rest = i;
    if (parts[i].kind == TablePart::Kind::kRows) shares[i] = parts[i].rows;
    if (parts[i].kind == TablePart::Kind::kFraction) {
      // Rounded so that fractions that add up to 1 cover all rows.
      fractions += parts[i].fraction;
      const auto reached =
          static_cast<uint64_t>(std::llround(std::min(1.0, fractions) * static_cast<double>(rows)));
      shares[i] = reached - std::exchange(before, reached);
    }
    sum = shares[i] > rows ? rows + 1 : std::min(sum + shares[i], rows + 1);
  }
  if (sum > rows) {
    return InvalidArgumentError(StrCat("the parts ask for more than the file's ", rows,
                                       " rows; give smaller ones, or make one of them the rest"));
  }
  if (rest < parts.size()) {
    shares[rest] = rows - sum;
  } else if (sum < rows) {
    return InvalidArgumentError(
        StrCat("the parts leave ", rows - sum, " of the file's ", rows,
               " rows over; make one of them the rest, as in private=rest"));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    if (shares[i] > 0) continue;
    return InvalidArgumentError(
        StrCat("part \"", parts[i].name, "\" would get none of the file's ", rows, " rows"));
  }
  return shares;
}

StatusOr<std::vector<WrittenPart>> SplitTable(const std::string& path,
                                              const std::vector<TablePart>& parts, uint64_t seed,
                                              const std::string& folder) {
  COPPICE_RETURN_IF_ERROR(CheckIsCsv(path));
  struct stat source;
  if (stat(path.c_str(), &source) == 0 && !S_ISREG(source.st_mode)) {
    return InFile(path, InvalidArgumentError("must be a file, since it is read twice"));
  }
  CountingSink count;
  COPPICE_RETURN_IF_ERROR(ReadCsvFile(path, {}, count));
  const StatusOr<std::vector<uint64_t>> shares = SharesOf(parts, count.rows());
  if (!shares.ok()) return InFile(path, shares.status());
  // Users who cannot read the rows must not be able to read their copies.
  COPPICE_ASSIGN_OR_RETURN(PartFiles files, OpenParts(parts, folder, source.st_mode & 0777));
  DealingSink deal(*shares, seed, files);
  COPPICE_RETURN_IF_ERROR(ReadCsvFile(path, {.keep_bytes = true}, deal));
  if (deal.left() > 0) {
    return InFile(path,
                  InvalidArgumentError("the file shrank while it was read; run the command again"));
  }
  std::vector<WrittenPart> written;
  for (size_t i = 0; i < files.size(); ++i) {
    COPPICE_RETURN_IF_ERROR(files[i]->GiveName());
    written.push_back({files[i]->path(), (*shares)[i]});
  }
  for (const auto& file : files) file->Keep();
  return written;
}

}  // namespace coppice
