#include "server/http/origins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/status.h"
#include "tests/support/status_matchers.h"

namespace coppice::http {
namespace {

using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kLab[] = "https://lab.example";

struct Asked {
  bool has_tls = true;
  bool has_console = true;
  bool is_file = false;
  int port = 8080;
};

Status Judge(const Asked& asked, const RequestHead& head) {
  Origins origins({kLab}, asked.has_console, asked.has_tls);
  origins.ListensOn(asked.port);
  return origins.Check(head, asked.is_file);
}

RequestHead From(const std::string& origin, const std::string& host,
                 const std::string& fetch_site = "") {
  RequestHead head;
  head.host = host;
  head.origin = origin;
  head.fetch_site = fetch_site;
  return head;
}

auto Refuses(const char* words) {
  return StatusIs(StatusCode::kPermissionDenied, HasSubstr(words));
}

TEST(OriginsTest, ProgramsHaveNoOriginAndPass) {
  for (const bool has_tls : {false, true}) {
    EXPECT_OK(Judge({.has_tls = has_tls}, From("", "any.example")));
    EXPECT_OK(Judge({.has_tls = has_tls, .has_console = false}, From("", "any.example")));
  }
}

TEST(OriginsTest, TheDaemonsOwnOriginMayCallWhileTheConsoleIsOn) {
  const RequestHead own = From("https://coppice.example:8080", "coppice.example:8080");
  EXPECT_OK(Judge({}, own));
  EXPECT_OK(Judge({}, From("https://coppice.example", "coppice.example", "same-origin")));
  EXPECT_THAT(Judge({.has_console = false}, own), Refuses("--http-allow-origin"));
  for (const char* other :
       {"http://coppice.example:8080", "https://coppice.example", "https://coppice.example:80800",
        "https://evil.example", "null", "coppice.example:8080", "https://coppice.example:8080/",
        "https://coppice.example:8080, https://evil.example"}) {
    EXPECT_THAT(Judge({}, From(other, "coppice.example:8080")), Refuses("of this origin")) << other;
  }
}

// A name that an attacker points to 127.0.0.1 is of the same origin for a browser, which says so.
TEST(OriginsTest, WithoutTlsOnlyTheMachinesOwnNamesAreOwn) {
  const Asked plain{.has_tls = false};
  for (const char* host : {"localhost:8080", "127.0.0.1:8080", "[::1]:8080"}) {
    EXPECT_OK(Judge(plain, From(std::string("http://") + host, host, "same-origin"))) << host;
    EXPECT_THAT(Judge(plain, From(std::string("https://") + host, host)), Refuses("origin"));
  }
  for (const char* host : {"evil.example:8080", "localhost.evil.example:8080", "localhost:8081",
                           "localhost", "localhost.:8080", "127.0.0.1.evil.example:8080", "[::1]",
                           "0.0.0.0:8080", "127.1:8080", "LOCALHOST:8080", ""}) {
    EXPECT_THAT(Judge(plain, From(std::string("http://") + host, host, "same-origin")),
                Refuses("of this origin"))
        << host;
  }
  EXPECT_OK(Judge({.has_tls = false, .port = 80}, From("http://localhost", "localhost")));
  EXPECT_THAT(Judge(plain, From("http://localhost:3000", "localhost:8080")), Refuses("origin"));
}

TEST(OriginsTest, WithoutTlsFilesAreForTheMachinesOwnNamesToo) {
  const Asked plain{.has_tls = false, .is_file = true};
  EXPECT_OK(Judge(plain, From("", "localhost:8080")));
  EXPECT_THAT(Judge(plain, From("", "evil.example:8080")), Refuses("http://localhost:8080/"));
  EXPECT_THAT(Judge(plain, From("", "localhost:9000")), Refuses("--http-allow-origin"));
  EXPECT_OK(Judge(plain, From("", "lab.example"))) << "a proxy whose address the operator named";
}

TEST(OriginsTest, AllowedOriginsCallFromElsewhere) {
  EXPECT_OK(Judge({.has_console = false}, From(kLab, "coppice.example", "cross-site")));
  EXPECT_OK(Judge({.has_tls = false}, From(kLab, "evil.example", "same-site")));
  EXPECT_THAT(Judge({.is_file = true}, From(kLab, "coppice.example", "cross-site")),
              Refuses("another origin"));
}

// Without an Origin a request is refused too if the browser says that another page made it.
TEST(OriginsTest, RequestsOfOtherSitesAreRefusedButForALinkToTheConsole) {
  for (const char* site : {"cross-site", "same-site", "something-new", "same-origin, cross-site"}) {
    EXPECT_THAT(Judge({}, From("", "h", site)), Refuses("another origin")) << site;
    EXPECT_THAT(Judge({.is_file = true}, From("", "h", site)), Refuses("another origin")) << site;
    RequestHead link = From("", "h", site);
    link.target = "/";
    link.fetch_mode = "navigate";
    link.fetch_dest = "document";
    EXPECT_OK(Judge({.is_file = true}, link));
    link.target = "/assets/a.js";
    EXPECT_THAT(Judge({.is_file = true}, link), Refuses("another origin"));
    link.target = "/";
    link.fetch_dest = "iframe";
    EXPECT_THAT(Judge({.is_file = true}, link), Refuses("another origin"));
  }
  for (const char* site : {"", "none", "same-origin"}) {
    EXPECT_OK(Judge({}, From("", "h", site))) << site;
    EXPECT_OK(Judge({.is_file = true}, From("", "h", site))) << site;
  }
}

}  // namespace
}  // namespace coppice::http
