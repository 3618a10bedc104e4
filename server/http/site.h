// The documentation: controls how browsers may use its pages (docs/threat-model.md#the-console).

#ifndef COPPICE_SERVER_HTTP_SITE_H_
#define COPPICE_SERVER_HTTP_SITE_H_

#include <string_view>
#include <utility>

#include "server/http/call.h"
#include "server/http/files.h"
#include "server/http/request_parser.h"

namespace coppice::http {

// Guarantee  No request reaches the file system, and everyone gets the same bytes. A browser runs
//            no script in these pages except the search, which loads the site's index and may call
//            nothing.
// Threads    safe to share.
class Site {
 public:
  // The site's path; links of its pages are relative.
  static constexpr std::string_view kRoot = "/docs/";

  // `files` are keyed by the paths of ReadSiteFiles().
  explicit Site(ServedFiles files) : files_(std::move(files)) {}

  bool Has(std::string_view path) const;
  // Answers a request, with any method, for a path that it has.
  Response Answer(const RequestHead& head) const;

 private:
  const ServedFile* Find(std::string_view path) const;

  const ServedFiles files_;
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_SITE_H_
