#include "server/http/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "server/http/protocol.h"

namespace coppice::http {
namespace {

struct FileType {
  std::string_view ending;
  std::string_view type;
};
constexpr FileType kFileTypes[] = {{".html", "text/html; charset=utf-8"},
                                   {".js", "text/javascript; charset=utf-8"},
                                   {".css", "text/css; charset=utf-8"},
                                   {".svg", "image/svg+xml"},
                                   {".png", "image/png"},
                                   {".ico", "image/vnd.microsoft.icon"},
                                   {".json", "application/json"},
                                   {".txt", "text/plain; charset=utf-8"}};

std::optional<std::string_view> TypeOf(std::string_view name) {
  for (const FileType& type : kFileTypes) {
    if (EndsWith(name, type.ending)) return type.type;
  }
  return std::nullopt;
}

bool IsAssetName(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return IsAsciiAlnum(c) || c == '.' || c == '_' || c == '-';
  });
}

Status WrongFile(const std::string& path, std::string_view why) {
  return InvalidArgumentError(StrCat(Printable(path), ": ", why));
}

// Limits for the content of a folder.
struct Bounds {
  std::string_view what;
  size_t files;
  size_t bytes;
};
constexpr Bounds kConsole{"the console", kMaxConsoleFiles, kMaxConsoleBytes};
constexpr Bounds kSite{"the documentation", kMaxSiteFiles, kMaxSiteBytes};
constexpr int kMaxDepth = 16;  // levels of subfolders: a Java source lies nine deep

Status TooManyFiles(const std::string& path, const Bounds& bounds) {
  return WrongFile(path, StrCat(bounds.what, " has more than ", bounds.files, " files"));
}

// An open file or folder, closed on destruction.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;

  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// A user who can change what browsers run can read the tokens of those who sign in.
Status CheckWriters(const struct stat& status, const std::string& path) {
  if ((status.st_mode & S_IWOTH) == 0) return OkStatus();
  return WrongFile(path, "anyone on this machine can change it: run chmod o-w on it");
}

// Opens one entry of `folder`, without following a link.
StatusOr<Descriptor> OpenEntry(int folder, const std::string& name, const std::string& path,
                               mode_t kind, struct stat& status) {
  Descriptor opened(openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  const int error = errno;
  if (opened.get() < 0 && error == ELOOP) return WrongFile(path, "it is a link");
  if (opened.get() < 0) {
    return NotFoundError(StrCat(Printable(path), ": ", std::strerror(error)));
  }
  if (fstat(opened.get(), &status) != 0 || (status.st_mode & S_IFMT) != kind) {
    return WrongFile(path, kind == S_IFDIR ? "it is not a folder" : "it is not a regular file");
  }
  COPPICE_RETURN_IF_ERROR(CheckWriters(status, path));
  return opened;
}

bool IsFolder(int parent, const std::string& name) {
  struct stat status {};
  return fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

// The names in `folder`, sorted.
StatusOr<std::vector<std::string>> NamesIn(int folder, const std::string& path,
                                           const Bounds& bounds) {
  Descriptor own(dup(folder));
  DIR* const listing = fdopendir(own.get());
  if (listing == nullptr) return WrongFile(path, "it cannot be listed");
  own.Release();
  std::vector<std::string> names;
  while (const dirent* entry = readdir(listing)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    if (names.size() > 2 * bounds.files) break;
  }
  closedir(listing);
  if (names.size() > 2 * bounds.files) return TooManyFiles(path, bounds);
  std::sort(names.begin(), names.end());
  return names;
}

// Reads files into `files_`, up to the first wrong one.
class FolderReader {
 public:
  explicit FolderReader(const Bounds& bounds) : bounds_(bounds) {}

  ServedFiles TakeFiles() { return std::move(files_); }

  // Reads the files of `folder`, served below `target`, and of its subfolders down to `depth`.
  Status ReadFolder(int folder, const std::string& path, const std::string& target, int depth) {
    COPPICE_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder, path, bounds_));
    for (const std::string& name : names) {
      if (!IsAssetName(name)) {
        return WrongFile(StrCat(path, "/", name),
                         "names of assets may have only letters, digits and . _ -");
      }
      if (EndsWith(name, ".gz")) continue;
      if (IsFolder(folder, name)) {
        const std::string inner = StrCat(path, "/", name);
        if (depth == 0) return WrongFile(inner, "a folder may not lie here, or not as deep");
        struct stat status {};
        COPPICE_ASSIGN_OR_RETURN(const Descriptor opened,
                                 OpenEntry(folder, name, inner, S_IFDIR, status));
        COPPICE_RETURN_IF_ERROR(
            ReadFolder(opened.get(), inner, StrCat(target, name, "/"), depth - 1));
        continue;
      }
      COPPICE_RETURN_IF_ERROR(ReadFileAs(folder, name, path, names, target + name));
    }
    return CheckSiblings(names, path);
  }

  // Reads `name`, served at `target`, and its sibling if `names` has one.
  Status ReadFileAs(int folder, const std::string& name, const std::string& path,
                    const std::vector<std::string>& names, const std::string& target) {
    const auto type = TypeOf(name);
    if (!type.has_value()) {
      return WrongFile(StrCat(path, "/", name),
                       "its ending is none of .html .js .css .svg .png .ico .json .txt");
    }
    if (files_.size() >= bounds_.files) return TooManyFiles(path, bounds_);
    ServedFile file{.type = *type};
    COPPICE_ASSIGN_OR_RETURN(file.plain, ReadContent(folder, name, path));
    const std::string zipped = name + ".gz";
    if (std::binary_search(names.begin(), names.end(), zipped)) {
      COPPICE_ASSIGN_OR_RETURN(file.gzip, ReadContent(folder, zipped, path));
    }
    files_.emplace(target, std::move(file));
    return OkStatus();
  }

  // Checks that every NAME.gz has a file NAME.
  static Status CheckSiblings(const std::vector<std::string>& names, const std::string& path) {
    for (const std::string& name : names) {
      std::string_view plain = name;
      if (ConsumeSuffix(&plain, ".gz") &&
          !std::binary_search(names.begin(), names.end(), std::string(plain))) {
        return WrongFile(StrCat(path, "/", name), "there is no such file without .gz");
      }
    }
    return OkStatus();
  }

 private:
  StatusOr<FileContent> ReadContent(int folder, const std::string& name,
                                    const std::string& parent) {
    const std::string path = StrCat(parent, "/", name);
    struct stat status {};
    COPPICE_ASSIGN_OR_RETURN(const Descriptor file, OpenEntry(folder, name, path, S_IFREG, status));
    const size_t left = bounds_.bytes - bytes_;
    std::string bytes(std::min(static_cast<size_t>(status.st_size), left) + 1, '\0');
    size_t size = 0;
    while (size < bytes.size()) {
      const ssize_t got = read(file.get(), bytes.data() + size, bytes.size() - size);
      if (got < 0) return WrongFile(path, std::strerror(errno));
      if (got == 0) break;
      size += static_cast<size_t>(got);
    }
    if (size > left) {
      return WrongFile(path,
                       StrCat("with it the files have more than ", bounds_.bytes >> 20, " MiB"));
    }
    if (size == bytes.size()) return WrongFile(path, "it grew while it was read");
    bytes.resize(size);
    bytes_ += size;
    const Sha256Digest digest = Sha256({bytes});
    const std::string_view hash(reinterpret_cast<const char*>(digest.data()), digest.size() / 2);
    return FileContent{.bytes = std::make_shared<const std::string>(std::move(bytes)),
                       .etag = StrCat("\"", BytesToHexString(hash), "\"")};
  }

  const Bounds bounds_;
  ServedFiles files_;
  size_t bytes_ = 0;
};

// Whether an Accept-Encoding lists gzip with a weight other than 0.
bool AcceptsGzip(std::string_view accept_encoding) {
  for (std::string_view coding : StrSplit(accept_encoding, ',')) {
    const std::vector<std::string_view> parts = StrSplit(coding, ';');
    if (!EqualsIgnoreCase(StripAsciiWhitespace(parts[0]), "gzip")) continue;
    for (size_t i = 1; i < parts.size(); ++i) {
      std::string_view weight = StripAsciiWhitespace(parts[i]);
      double number = 0;
      if (!StartsWithIgnoreCase(weight, "q=")) continue;
      weight.remove_prefix(2);
      if (!SimpleAtod(weight, &number) || !(number > 0)) return false;
    }
    return true;
  }
  return false;
}

bool IsKnown(std::string_view if_none_match, std::string_view etag) {
  for (std::string_view known : StrSplit(if_none_match, ',')) {
    known = StripAsciiWhitespace(known);
    ConsumePrefix(&known, "W/");
    if (known == etag || known == "*") return true;
  }
  return false;
}

StatusOr<Descriptor> OpenFolder(const std::string& folder) {
  Descriptor opened(open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (opened.get() < 0) {
    return NotFoundError(StrCat(Printable(folder), ": ", std::strerror(errno)));
  }
  struct stat status {};
  if (fstat(opened.get(), &status) != 0) return WrongFile(folder, std::strerror(errno));
  COPPICE_RETURN_IF_ERROR(CheckWriters(status, folder));
  return opened;
}

}  // namespace

StatusOr<ServedFiles> ReadConsoleFiles(const std::string& folder) {
  COPPICE_ASSIGN_OR_RETURN(const Descriptor opened, OpenFolder(folder));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           NamesIn(opened.get(), folder, kConsole));
  for (const std::string& name : names) {
    if (name != "assets" && name != "index.html" && name != "index.html.gz") {
      return WrongFile(StrCat(folder, "/", name),
                       "only index.html, index.html.gz and assets may be there: is this the folder "
                       "of a built console?");
    }
  }
  COPPICE_RETURN_IF_ERROR(FolderReader::CheckSiblings(names, folder));
  FolderReader reader(kConsole);
  COPPICE_RETURN_IF_ERROR(reader.ReadFileAs(opened.get(), "index.html", folder, names, "/"));
  const std::string path = folder + "/assets";
  struct stat status {};
  COPPICE_ASSIGN_OR_RETURN(const Descriptor assets,
                           OpenEntry(opened.get(), "assets", path, S_IFDIR, status));
  COPPICE_RETURN_IF_ERROR(reader.ReadFolder(assets.get(), path, "/assets/", /*depth=*/0));
  return reader.TakeFiles();
}

StatusOr<ServedFiles> ReadSiteFiles(const std::string& folder) {
  COPPICE_ASSIGN_OR_RETURN(const Descriptor opened, OpenFolder(folder));
  FolderReader reader(kSite);
  COPPICE_RETURN_IF_ERROR(reader.ReadFolder(opened.get(), folder, "/", kMaxDepth));
  ServedFiles files = reader.TakeFiles();
  if (files.contains("/index.html") && files.contains("/searchindex.js")) return files;
  return WrongFile(folder,
                   "it lacks index.html or searchindex.js: is this the folder of a built site?");
}

std::string_view PathOf(const RequestHead& head) {
  return std::string_view(head.target).substr(0, head.target.find('?'));
}

Response AnswerWithFile(const RequestHead& head, const ServedFile& file,
                        std::string_view cache_control, std::string_view security_head) {
  if (head.method != "GET" && head.method != "HEAD") {
    return {.status = 405,
            .head = StrCat("Allow: GET, HEAD\r\nContent-Type: application/json\r\n"
                           "Cache-Control: no-store\r\n",
                           security_head),
            .body = ErrorBody(UnimplementedError("files must be read by GET"))};
  }
  const bool zips = file.gzip.bytes != nullptr;
  const bool is_zipped = zips && AcceptsGzip(head.accept_encoding);
  const FileContent& content = is_zipped ? file.gzip : file.plain;
  Response response{.head = StrCat("Cache-Control: ", cache_control, "\r\nETag: ", content.etag,
                                   "\r\n", zips ? "Vary: Accept-Encoding\r\n" : "", security_head)};
  if (IsKnown(head.if_none_match, content.etag)) {
    response.status = 304;
    return response;
  }
  StrAppend(&response.head, "Content-Type: ", file.type, "\r\n",
            is_zipped ? "Content-Encoding: gzip\r\n" : "");
  response.file = content.bytes;
  return response;
}

}  // namespace coppice::http
