#include "server/http/site.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace coppice::http {
namespace {

// Header lines of a page that may load these scripts.
std::string PageHead(absl::string_view scripts) {
  return absl::StrCat(
      "Content-Security-Policy: default-src 'none'; script-src ", scripts,
      "; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; "
      "base-uri 'none'\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "X-Frame-Options: DENY\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "Cross-Origin-Opener-Policy: same-origin\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n");
}

constexpr absl::string_view kSearchPage = "/docs/search.html";

// Whether the path is "/docs", from which relative links would lead elsewhere.
bool IsBareRoot(absl::string_view path) { return path == absl::StripSuffix(Site::kRoot, "/"); }

}  // namespace

const ServedFile* Site::Find(absl::string_view path) const {
  if (!absl::ConsumePrefix(&path, absl::StripSuffix(kRoot, "/"))) return nullptr;
  const bool is_folder = absl::EndsWith(path, "/");
  const auto found = files_.find(absl::StrCat(path, is_folder ? "index.html" : ""));
  return found == files_.end() ? nullptr : &found->second;
}

bool Site::Has(absl::string_view path) const { return IsBareRoot(path) || Find(path) != nullptr; }

Response Site::Answer(const RequestHead& head) const {
  const absl::string_view path = PathOf(head);
  const std::string security_head = PageHead(path == kSearchPage ? "'self'" : "'none'");
  if (IsBareRoot(path)) {
    return {.status = 301, .head = absl::StrCat("Location: ", kRoot, "\r\n", security_head)};
  }
  return AnswerWithFile(head, *Find(path), "no-cache", security_head);
}

}  // namespace coppice::http
