#include "server/http/console.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/http/protocol.h"

namespace coppice::http {
namespace {

std::string SecurityHead(absl::string_view style_hash) {
  return absl::StrCat(
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

// Whether an Accept-Encoding names gzip, and with no weight of 0.
bool AcceptsGzip(absl::string_view accept_encoding) {
  for (absl::string_view coding : absl::StrSplit(accept_encoding, ',')) {
    const std::vector<absl::string_view> parts = absl::StrSplit(coding, ';');
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(parts[0]), "gzip")) continue;
    for (size_t i = 1; i < parts.size(); ++i) {
      absl::string_view weight = absl::StripAsciiWhitespace(parts[i]);
      double number = 0;
      if (!absl::StartsWithIgnoreCase(weight, "q=")) continue;
      weight.remove_prefix(2);
      if (!absl::SimpleAtod(weight, &number) || !(number > 0)) return false;
    }
    return true;
  }
  return false;
}

bool IsKnown(absl::string_view if_none_match, absl::string_view etag) {
  for (absl::string_view known : absl::StrSplit(if_none_match, ',')) {
    known = absl::StripAsciiWhitespace(known);
    absl::ConsumePrefix(&known, "W/");
    if (known == etag || known == "*") return true;
  }
  return false;
}

absl::string_view PathOf(const RequestHead& head) {
  return absl::string_view(head.target).substr(0, head.target.find('?'));
}

}  // namespace

Console::Console(ConsoleFiles files, absl::string_view style_hash)
    : files_(std::move(files)), security_head_(SecurityHead(style_hash)) {}

bool Console::Has(absl::string_view path) const { return files_.find(path) != files_.end(); }

Response Console::Answer(const RequestHead& head) const {
  const absl::string_view path = PathOf(head);
  if (head.method != "GET" && head.method != "HEAD") {
    return {.status = 405,
            .head = absl::StrCat("Allow: GET, HEAD\r\nContent-Type: application/json\r\n"
                                 "Cache-Control: no-store\r\n",
                                 security_head_),
            .body = ErrorBody(absl::UnimplementedError("files are read by GET"))};
  }
  const ConsoleFile& file = files_.find(path)->second;
  const bool zips = file.gzip.bytes != nullptr;
  const bool is_zipped = zips && AcceptsGzip(head.accept_encoding);
  const ConsoleContent& content = is_zipped ? file.gzip : file.plain;
  // The name of an asset has the hash of its bytes; the page that names them has none.
  Response response{
      .head = absl::StrCat(
          "Cache-Control: ", path == "/" ? "no-cache" : "public, max-age=31536000, immutable",
          "\r\nETag: ", content.etag, "\r\n", zips ? "Vary: Accept-Encoding\r\n" : "",
          security_head_)};
  if (IsKnown(head.if_none_match, content.etag)) {
    response.status = 304;
    return response;
  }
  absl::StrAppend(&response.head, "Content-Type: ", file.type, "\r\n",
                  is_zipped ? "Content-Encoding: gzip\r\n" : "");
  response.file = content.bytes;
  return response;
}

}  // namespace coppice::http
