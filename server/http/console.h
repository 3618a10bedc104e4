// The console: how a browser may use its files (docs/threat-model.md#the-console).

#ifndef COPPICE_SERVER_HTTP_CONSOLE_H_
#define COPPICE_SERVER_HTTP_CONSOLE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "server/http/calls.h"
#include "server/http/files.h"
#include "server/http/request_parser.h"

namespace coppice::http {

// Guarantee  no request reaches the file system: a path is looked up among those of the files. What
//            is sent is the same for everybody, and a browser runs no script but these files'.
// Threads    safe to share.
class Console {
 public:
  // `style_hash` is what a Content-Security-Policy calls the style sheet of the pages that the
  // console shows in a frame: "sha256-...".
  Console(ServedFiles files, absl::string_view style_hash);

  bool Has(absl::string_view path) const;
  // To a request for a path that it has, of any method.
  Response Answer(const RequestHead& head) const;

 private:
  const ServedFiles files_;
  const std::string security_head_;  // header lines of every answer
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_CONSOLE_H_
