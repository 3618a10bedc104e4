// Leads a request to what answers it: a file of the console or of the documentation, or a method.

#ifndef COPPICE_SERVER_HTTP_ROUTER_H_
#define COPPICE_SERVER_HTTP_ROUTER_H_

#include <memory>
#include <optional>
#include <string_view>

#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "server/http/call.h"
#include "server/http/origins.h"
#include "server/http/request_parser.h"

namespace coppice::http {

class Console;
class Site;

// Guarantee  `origins` decides what pages in a browser may send; there are no cookies. Files of the
//            console and of the documentation need no role. Nothing of a body is read before
//            `methods` takes its call.
// Errors     To the client: PermissionDenied of the origins, NotFound where nothing is, and
//            Unimplemented for a method that is not called by POST.
// Threads    safe to share.
class Router {
 public:
  // Null `console` or `site` serves none. `methods` must outlive it.
  Router(Methods& methods, Origins origins, std::shared_ptr<const Console> console,
         std::shared_ptr<const Site> site);

  // Call it once, before the first request.
  void ListensOn(int port) { origins_.ListensOn(port); }

  Judged Judge(const RequestHead& head, const std::optional<Sha256Digest>& certificate);

  // The response to bytes that are no request.
  static Response RefuseRequest(const Status& status);

  OpenCalls& open_calls() { return open_calls_; }

 private:
  Judged JudgeMethod(const RequestHead& head, std::string_view path,
                     const std::optional<Sha256Digest>& certificate);

  Methods& methods_;
  Origins origins_;
  const std::shared_ptr<const Console> console_;
  const std::shared_ptr<const Site> site_;
  OpenCalls open_calls_;
};

}  // namespace coppice::http

#endif  // COPPICE_SERVER_HTTP_ROUTER_H_
