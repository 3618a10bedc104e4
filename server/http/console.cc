#include "server/http/console.h"

#include <string_view>
#include <utility>

#include "common/base/text.h"

namespace coppice::http {
namespace {

std::string SecurityHead(std::string_view style_hash) {
  return StrCat(
      "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self' '",
      style_hash,
      "'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
      "form-action 'none'; require-trusted-types-for 'script'; trusted-types coppice\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "X-Frame-Options: DENY\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "Cross-Origin-Opener-Policy: same-origin\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n");
}

}  // namespace

Console::Console(ServedFiles files, std::string_view style_hash)
    : files_(std::move(files)), security_head_(SecurityHead(style_hash)) {}

bool Console::Has(std::string_view path) const { return files_.find(path) != files_.end(); }

Response Console::Answer(const RequestHead& head) const {
  const std::string_view path = PathOf(head);
  // An asset's name contains the hash of its bytes; the page that refers to it has a fixed name.
  return AnswerWithFile(head, files_.find(path)->second,
                        path == "/" ? "no-cache" : "public, max-age=31536000, immutable",
                        security_head_);
}

}  // namespace coppice::http
