#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "client/cli/studies/collect.h"
#include "client/device/grpc/server_call.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "common/terms/terms.h"

// The file has a line "salt HEX", and a line "HASH JOURNAL" for each time that rows answered. The
// salt is this user's alone, so that no hash can be looked up in a precomputed table.

namespace coppice::cli {
namespace {

constexpr char kSalt[] = "salt ";

StatusOr<std::string> StateFile() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state != nullptr && *state == '/') return StrCat(state, "/coppice/simulated");
  if (home != nullptr && *home == '/') {
    return StrCat(home, "/.local/state/coppice/simulated");
  }
  return UnavailableError("neither XDG_STATE_HOME nor HOME is set");
}

Status FileError(const std::string& path, int error) {
  return UnavailableError(StrCat(path, ": ", std::strerror(error)));
}

// Locked by one process at a time, from reading it to adding a line.
class LockedFile {
 public:
  static StatusOr<LockedFile> Open(const std::string& path) {
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::filesystem::create_directories(folder, error);
    if (error) return FileError(folder, error.value());
    LockedFile file(path, open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (*file.descriptor_ < 0 || flock(*file.descriptor_, LOCK_EX) != 0) {
      return FileError(path, errno);
    }
    return file;
  }

  std::vector<std::string> Lines() const {
    std::ifstream stream(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
    return lines;
  }
  Status Append(const std::string& line) {
    const std::string bytes = line + "\n";
    const ssize_t written = write(*descriptor_, bytes.data(), bytes.size());
    if (written >= 0 && written < static_cast<ssize_t>(bytes.size())) {
      return FileError(path_, ENOSPC);  // what cuts a short write to a regular file off
    }
    const bool done = written >= 0 && fsync(*descriptor_) == 0;
    return done ? OkStatus() : FileError(path_, errno);
  }

 private:
  LockedFile(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(new int(descriptor)) {}

  struct Close {
    void operator()(const int* descriptor) const {
      if (*descriptor >= 0) close(*descriptor);
      delete descriptor;
    }
  };
  std::string path_;
  std::unique_ptr<int, Close> descriptor_;
};

// Hashes the study, its curator and every byte of the file.
StatusOr<std::string> HashOf(const AnsweringRows& rows, const std::string& salt) {
  const std::string_view curator = rows.curator.has_value() ? AsBytes(*rows.curator) : "";
  Sha256Digest digest = Sha256({salt, curator, "\n", rows.study, "\n"});
  std::ifstream stream(rows.data_file, std::ios::binary);
  std::string block(size_t{1} << 20, '\0');
  do {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto size = static_cast<size_t>(stream.gcount());
    digest = Sha256({AsBytes(digest), std::string_view(block).substr(0, size)});
  } while (stream.good());
  if (!stream.eof()) return UnavailableError(StrCat("cannot read ", rows.data_file));
  return ToHex(digest);
}

StatusOr<std::string> SaltOf(LockedFile& file) {
  const std::vector<std::string> lines = file.Lines();
  if (!lines.empty() && StartsWith(lines[0], kSalt)) return lines[0];
  COPPICE_ASSIGN_OR_RETURN(const std::string salt, RandomHex(32));
  COPPICE_RETURN_IF_ERROR(file.Append(StrCat(kSalt, salt)));
  return StrCat(kSalt, salt);
}

Status AnsweredBefore(const AnsweringRows& rows, const std::string& journal) {
  return FailedPreconditionError(StrCat(
      "these rows have already answered study ", rows.study, "; name their journal with --journal ",
      journal, " to continue, or give --again to let every device spend its epsilon once more"));
}

Status WriteRecord(const AnsweringRows& rows) {
  COPPICE_ASSIGN_OR_RETURN(const std::string path, StateFile());
  COPPICE_ASSIGN_OR_RETURN(LockedFile file, LockedFile::Open(path));
  COPPICE_ASSIGN_OR_RETURN(const std::string salt, SaltOf(file));
  COPPICE_ASSIGN_OR_RETURN(const std::string hash, HashOf(rows, salt));
  for (const std::string& line : file.Lines()) {
    const std::pair<std::string, std::string> parts = StrSplit(line, MaxSplits(' ', 1));
    if (parts.first == hash && rows.refuse_again) return AnsweredBefore(rows, parts.second);
  }
  const std::string journal = std::filesystem::absolute(rows.journal_file);
  return file.Append(StrCat(hash, " ", absl::CEscape(std::string(journal))));
}

}  // namespace

Status NoteAnswering(const AnsweringRows& rows) {
  const Status noted = WriteRecord(rows);
  if (noted.ok() || IsFailedPrecondition(noted)) return noted;
  return UnavailableError(
      StrCat("cannot record that these rows answered, so they could not be refused next time (",
             noted.message(), ")", rows.refuse_again ? ": name a --journal, or give --again" : ""));
}

}  // namespace coppice::cli
