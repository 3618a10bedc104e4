// Files for browsers: which ones a folder may hold, and how one is sent.

#ifndef COPPICE_SERVER_HTTP_FILES_H_
#define COPPICE_SERVER_HTTP_FILES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "server/http/call.h"
#include "server/http/request_parser.h"

namespace coppice::http {

// A file's content: its own bytes or those of its sibling NAME.gz, with their hash.
struct FileContent {
  std::shared_ptr<const std::string> bytes{};  // null: there is none
  std::string etag{};                          // with its quotes
};
struct ServedFile {
  std::string_view type;
  FileContent plain{};
  FileContent gzip{};
};
// By the path that a request names: "/", "/assets/NAME".
using ServedFiles = std::map<std::string, ServedFile, std::less<>>;

inline constexpr size_t kMaxConsoleFiles = 64;  // NAME and NAME.gz count as one
inline constexpr size_t kMaxConsoleBytes = size_t{8} << 20;
inline constexpr size_t kMaxSiteFiles = 512;
inline constexpr size_t kMaxSiteBytes = size_t{32} << 20;

// Reads index.html and assets/NAME, each with NAME.gz if it exists.
//
// Errors     InvalidArgument or NotFound, naming the file: for a folder that holds anything else,
//            links, files that everybody may write, or more than the bounds above.
StatusOr<ServedFiles> ReadConsoleFiles(const std::string& folder);

// Reads every file of the folder and its subfolders, "/NAME" or "/FOLDER/NAME", each with NAME.gz
// if it exists. Errors as above, and for a folder that is no built site.
StatusOr<ServedFiles> ReadSiteFiles(const std::string& folder);

std::string_view PathOf(const RequestHead& head);

// The answer to a request for `file`, with any method; `security_head` has further header lines.
Response AnswerWithFile(const RequestHead& head, const ServedFile& file,
                        std::string_view cache_control, std::string_view security_head);

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_FILES_H_
