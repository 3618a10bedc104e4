// The console: its built files, and how a browser may use them (docs/threat-model.md#the-console).

#ifndef COPPICE_SERVER_HTTP_CONSOLE_H_
#define COPPICE_SERVER_HTTP_CONSOLE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/http/calls.h"
#include "server/http/request_parser.h"

namespace coppice::http {

// What a file is sent as: its bytes, or those of its sibling NAME.gz, with the hash of either.
struct ConsoleContent {
  std::shared_ptr<const std::string> bytes{};  // null: there is none
  std::string etag{};                          // in its quotes
};
struct ConsoleFile {
  absl::string_view type;
  ConsoleContent plain{};
  ConsoleContent gzip{};
};
// By the path that a request names: "/", "/assets/NAME".
using ConsoleFiles = std::map<std::string, ConsoleFile, std::less<>>;

inline constexpr size_t kMaxConsoleFiles = 64;  // NAME and NAME.gz are one
inline constexpr size_t kMaxConsoleBytes = size_t{8} << 20;

// Reads index.html and assets/NAME, each with NAME.gz if that is there.
//
// Errors     InvalidArgument or NotFound that names the file: for a folder that holds anything
//            else, links, files that everybody may write, and more than the bounds above.
absl::StatusOr<ConsoleFiles> ReadConsoleFiles(const std::string& folder);

// Guarantee  no request reaches the file system: a path is looked up among those of the files. What
//            is sent is the same for everybody, and a browser runs no script but these files'.
// Threads    safe to share.
class Console {
 public:
  // `style_hash` is what a Content-Security-Policy calls the style sheet of the pages that the
  // console shows in a frame: "sha256-...".
  Console(ConsoleFiles files, absl::string_view style_hash);

  bool Has(absl::string_view path) const;
  // To a request for a path that it has, of any method.
  Response Answer(const RequestHead& head) const;

 private:
  const ConsoleFiles files_;
  const std::string security_head_;  // header lines of every answer
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_CONSOLE_H_
