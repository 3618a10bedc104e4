#include "server/http/site.h"

#include <string>
#include <string_view>

#include "common/base/text.h"

namespace coppice::http {
namespace {

// Header lines of a page that may load these scripts.
std::string PageHead(std::string_view scripts) {
  return StrCat("Content-Security-Policy: default-src 'none'; script-src ", scripts,
                "; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; "
                "base-uri 'none'\r\n"
                "X-Content-Type-Options: nosniff\r\n"
                "X-Frame-Options: DENY\r\n"
                "Referrer-Policy: no-referrer\r\n"
                "Cross-Origin-Opener-Policy: same-origin\r\n"
                "Cross-Origin-Resource-Policy: same-origin\r\n");
}

constexpr std::string_view kSearchPage = "/docs/search.html";

// Whether the path is "/docs", from which relative links would lead elsewhere.
bool IsBareRoot(std::string_view path) { return path == StripSuffix(Site::kRoot, "/"); }

}  // namespace

const ServedFile* Site::Find(std::string_view path) const {
  if (!ConsumePrefix(&path, StripSuffix(kRoot, "/"))) return nullptr;
  const bool is_folder = EndsWith(path, "/");
  const auto found = files_.find(StrCat(path, is_folder ? "index.html" : ""));
  return found == files_.end() ? nullptr : &found->second;
}

bool Site::Has(std::string_view path) const { return IsBareRoot(path) || Find(path) != nullptr; }

Response Site::Answer(const RequestHead& head) const {
  const std::string_view path = PathOf(head);
  const std::string security_head = PageHead(path == kSearchPage ? "'self'" : "'none'");
  if (IsBareRoot(path)) {
    return {.status = 301, .head = StrCat("Location: ", kRoot, "\r\n", security_head)};
  }
  return AnswerWithFile(head, *Find(path), "no-cache", security_head);
}

}  // namespace coppice::http
