// The console: controls how browsers may use its files (docs/threat-model.md#the-console).

#ifndef COPPICE_SERVER_HTTP_CONSOLE_H_
#define COPPICE_SERVER_HTTP_CONSOLE_H_

#include <string>
#include <string_view>

#include "server/http/call.h"
#include "server/http/files.h"
#include "server/http/request_parser.h"

namespace coppice::http {

// Guarantee  No request reaches the file system: paths are looked up among the files' own. Everyone
//            gets the same bytes, and a browser runs no scripts except these files'.
// Threads    safe to share.
class Console {
 public:
  // `style_hash` is the Content-Security-Policy's name, "sha256-...", for the style sheet of the
  // pages that the console shows in a frame.
  Console(ServedFiles files, std::string_view style_hash);

  bool Has(std::string_view path) const;
  // Answers a request, with any method, for a path that it has.
  Response Answer(const RequestHead& head) const;

 private:
  const ServedFiles files_;
  const std::string security_head_;  // header lines of every answer
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_CONSOLE_H_
