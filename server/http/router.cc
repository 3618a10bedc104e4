#include "server/http/router.h"

#include <string>
#include <utility>

#include "common/base/text.h"
#include "server/http/console.h"
#include "server/http/responses.h"
#include "server/http/site.h"

namespace coppice::http {

Router::Router(Methods& methods, Origins origins, std::shared_ptr<const Console> console,
               std::shared_ptr<const Site> site)
    : methods_(methods),
      origins_(std::move(origins)),
      console_(std::move(console)),
      site_(std::move(site)) {}

Response Router::RefuseRequest(const Status& status) { return PlainError(status); }

Judged Router::Judge(const RequestHead& head, const std::optional<Sha256Digest>& certificate) {
  const std::string_view path = std::string_view(head.target).substr(0, head.target.find('?'));
  const bool is_page = site_ != nullptr && site_->Has(path);
  const bool is_file = console_ != nullptr && console_->Has(path);
  const Status admitted = origins_.Check(head, is_page || is_file);
  if (!admitted.ok()) return {.response = RefuseRequest(admitted)};
  if (is_page) return {.response = site_->Answer(head)};
  if (is_file) {
    Response response = console_->Answer(head);
    if (site_ != nullptr && path == "/") {  // the console shows a link to the site
      StrAppend(&response.head, "Link: <", Site::kRoot, ">; rel=\"help\"\r\n");
    }
    return {.response = std::move(response)};
  }
  Judged judged = JudgeMethod(head, path, certificate);
  if (!origins_.IsAllowed(head.origin)) return judged;
  judged.shared_head = StrCat("Access-Control-Allow-Origin: ", head.origin,
                              "\r\nAccess-Control-Expose-Headers: Trailer-X-Request-Id, "
                              "Trailer-Grpc-Retry-Pushback-Ms, Retry-After\r\n"
                              "Vary: Origin\r\n");
  return judged;
}

Judged Router::JudgeMethod(const RequestHead& head, std::string_view path,
                           const std::optional<Sha256Digest>& certificate) {
  if (head.method == "OPTIONS" && !head.origin.empty()) {
    return {.response = {.status = 204,
                         .head = "Access-Control-Allow-Methods: POST\r\n"
                                 "Access-Control-Allow-Headers: Authorization, Content-Type, "
                                 "Connect-Protocol-Version, Connect-Timeout-Ms, X-Request-Id\r\n"
                                 "Access-Control-Max-Age: 7200\r\n"}};
  }
  if (head.method == "POST") return methods_.Judge(head, path, certificate, open_calls_);
  if (!methods_.Has(path)) {
    return {.response = RefuseRequest(NotFoundError(
                console_ == nullptr
                    ? "there is nothing here: calls are POST /coppice.v1.SERVICE/METHOD, and no "
                      "console is served (coppiced --console)"
                    : "there is nothing here: calls are POST /coppice.v1.SERVICE/METHOD, and the "
                      "console is at /"))};
  }
  Response response = PlainError(405, UnimplementedError("calls must be sent by POST"));
  response.head.append("Allow: POST\r\n");
  return {.response = std::move(response)};
}

}  // namespace coppice::http
