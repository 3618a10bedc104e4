// The documentation: how a browser may use its pages (docs/threat-model.md#the-console).

#ifndef COPPICE_SERVER_HTTP_SITE_H_
#define COPPICE_SERVER_HTTP_SITE_H_

#include <utility>

#include "absl/strings/string_view.h"
#include "server/http/calls.h"
#include "server/http/files.h"
#include "server/http/request_parser.h"

namespace coppice::http {

// Guarantee  no request reaches the file system, and what is sent is the same for everybody. A
//            browser runs no script in these pages but for the search, which loads the site's index
//            and may call nothing.
// Threads    safe to share.
class Site {
 public:
  // Where it is; the links of its pages are relative.
  static constexpr absl::string_view kRoot = "/docs/";

  // By the paths of ReadSiteFiles().
  explicit Site(ServedFiles files) : files_(std::move(files)) {}

  bool Has(absl::string_view path) const;
  // To a request for a path that it has, of any method.
  Response Answer(const RequestHead& head) const;

 private:
  const ServedFile* Find(absl::string_view path) const;

  const ServedFiles files_;
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_SITE_H_
