// The three calls of devices over HTTP, for those that have no HTTP/2: browsers and phones.

#ifndef COPPICE_SERVER_RELAY_SERVICE_HTTP_METHODS_H_
#define COPPICE_SERVER_RELAY_SERVICE_HTTP_METHODS_H_

#include <optional>
#include <string_view>

#include "common/terms/sha256.h"
#include "server/http/call.h"
#include "server/http/request_parser.h"
#include "server/relay/service/device_calls.h"

namespace coppice::relay {

// Guarantee  As RelayService: a request is looked over before anything is allocated for its
//            message, in JSON too. All answers of one kind have one length: offers of a deal, and
//            outcomes, which JSON has by number for that.
// Errors     To the client: NotFound's status for another path; those of CheckCallHeaders();
//            ResourceExhausted for a request that is longer than its method's; InvalidArgument for
//            one that is no message; else those of DeviceCalls.
// Threads    safe to share. `calls` must outlive it, and it must outlive the HTTP server.
class HttpMethods final : public http::Methods {
 public:
  explicit HttpMethods(DeviceCalls& calls) : calls_(calls) {}

  bool Has(std::string_view path) const override;
  http::Judged Judge(const http::RequestHead& head, std::string_view path,
                     const std::optional<Sha256Digest>& certificate,
                     http::OpenCalls& open_calls) override;

 private:
  DeviceCalls& calls_;
};

// The longest body: a report in JSON, whose base64 is a third longer.
inline constexpr size_t kMaxHttpRequestBytes = 2 * kMaxRequestBytes;

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_SERVICE_HTTP_METHODS_H_
