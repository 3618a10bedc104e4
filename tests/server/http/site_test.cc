// The documentation's files: which folders are read, and what a browser is sent.

#include "server/http/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/http/console.h"
#include "tests/server/http/http_fixture.h"
#include "tests/support/status_matchers.h"

namespace coppice::http {
namespace {

using ::coppice::testing::FilesFolder;
using ::coppice::testing::HttpHandlersTest;
using ::coppice::testing::HttpHeaders;
using ::coppice::testing::HttpResponse;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

// A folder as deploy/site.sh leaves it.
class SiteFolder : public FilesFolder {
 public:
  SiteFolder() : FilesFolder(ReadSiteFiles) {
    std::filesystem::create_directories(path("reference/cpp"));
    std::filesystem::create_directories(path("_static"));
    Write("index.html", "the entry");
    Write("searchindex.js", "Search.setIndex({})");
    Write("searchindex.js.gz", "zipped");
    Write("reference/index.html", "references");
    Write("reference/cpp/client-relay.html", "a page");
    Write("_static/site.css", "p{}");
  }
};

auto IsNoSite(const std::string& words) {
  return StatusIs(StatusCode::kInvalidArgument, HasSubstr(words));
}

TEST(ReadSiteFilesTest, ReadsFoldersInFolders) {
  const SiteFolder folder;
  const auto files = folder.Read();
  ASSERT_OK(files.status());
  EXPECT_EQ(files->size(), 5u);
  EXPECT_EQ(*files->at("/reference/cpp/client-relay.html").plain.bytes, "a page");
  EXPECT_EQ(*files->at("/searchindex.js").gzip.bytes, "zipped");
  EXPECT_EQ(files->at("/_static/site.css").type, "text/css; charset=utf-8");
}

TEST(ReadSiteFilesTest, RefusesFoldersThatAreNotASite) {
  const SiteFolder folder;
  EXPECT_THAT(folder.WithFile("reference/notes.exe"), IsNoSite("its ending is none of"));
  EXPECT_THAT(folder.WithFile("reference/a b.html"), IsNoSite("letters, digits"));
  EXPECT_THAT(folder.WithFile("reference/gone.html.gz"), IsNoSite("no such file without .gz"));
  std::filesystem::remove(folder.path("searchindex.js.gz"));
  std::filesystem::remove(folder.path("searchindex.js"));
  EXPECT_THAT(folder.Read(), IsNoSite("is this the folder of a built site?"));
  EXPECT_THAT(ReadSiteFiles("/nowhere"), StatusIs(StatusCode::kNotFound, HasSubstr("/nowhere")));
}

TEST(ReadSiteFilesTest, NoLinkIsFollowedAndWhatEverybodyMayWriteIsRefused) {
  const SiteFolder folder;
  for (const char* target : {"/etc/passwd", "/etc"}) {
    ASSERT_EQ(symlink(target, folder.path("reference/link.html").c_str()), 0);
    EXPECT_THAT(folder.Read(), IsNoSite("link.html: it is a link"));
    std::filesystem::remove(folder.path("reference/link.html"));
  }
  ASSERT_EQ(chmod(folder.path("reference/cpp").c_str(), 0777), 0);
  EXPECT_THAT(folder.Read(), IsNoSite("anyone on this machine can change it"));
}

TEST(ReadSiteFilesTest, FilesAreBoundedInNumberAndInAllAndFoldersInDepth) {
  const SiteFolder folder;
  EXPECT_THAT(folder.WithFile("large.html", std::string(kMaxSiteBytes, 'x')),
              IsNoSite("more than 32 MiB"));
  std::filesystem::create_directories(folder.path("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16"));
  EXPECT_OK(folder.Read().status());
  std::filesystem::create_directories(folder.path("1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"));
  EXPECT_THAT(folder.Read(), IsNoSite("a folder may not lie here, or not as deep"));
  std::filesystem::remove_all(folder.path("1"));
  for (size_t i = 5; i < kMaxSiteFiles; ++i) folder.Write(StrCat("_static/", i, ".js"), "");
  EXPECT_OK(folder.Read().status());
  EXPECT_THAT(folder.WithFile("more.html"), IsNoSite("the documentation has more than 512 files"));
}

class SiteServerTest : public HttpHandlersTest {
 protected:
  void Serve(std::shared_ptr<const Console> console) {
    Start({.listen = "127.0.0.1:0",
           .console = std::move(console),
           .site = std::make_shared<const Site>(*folder_.Read())},
          Served());
  }

  const SiteFolder folder_;
};

TEST_F(SiteServerTest, ServesPagesBelowDocs) {
  Serve(nullptr);
  EXPECT_EQ(Get("/docs/").body, "the entry");
  EXPECT_EQ(Get("/docs/index.html").body, "the entry");
  EXPECT_EQ(Get("/docs/reference/").body, "references");
  HttpResponse page = Get("/docs/reference/cpp/client-relay.html?q=1");
  EXPECT_EQ(page.body, "a page");
  EXPECT_EQ(page.headers["content-type"], "text/html; charset=utf-8");
  EXPECT_EQ(page.headers["cache-control"], "no-cache");
  EXPECT_EQ(Get("/docs/searchindex.js", {{"Accept-Encoding", "gzip"}}).body, "zipped");
  EXPECT_EQ(Get("/docs/", {{"If-None-Match", Get("/docs/").headers["etag"]}}).status, 304);
  HttpResponse moved = Get("/docs");
  EXPECT_EQ(moved.status, 301);
  EXPECT_EQ(moved.headers["location"], "/docs/");
}

TEST_F(SiteServerTest, OtherPathsAndMethodsAreRefused) {
  Serve(nullptr);
  for (const char* path : {"/", "/docs/reference", "/docs/reference/cpp/", "/docs//index.html",
                           "/docs/../docs/", "/docs/searchindex.js.gz", "/docsindex.html",
                           "/index.html", "/docs/%69ndex.html", "/docs/..%2f..%2fetc%2fpasswd"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
  for (const char* method : {"POST", "PUT", "DELETE"}) {
    EXPECT_EQ(Get("/docs/", {{"Content-Length", "0"}}, method).status, 405) << method;
  }
}

TEST_F(SiteServerTest, NoPageRunsAScriptButTheSearch) {
  folder_.Write("search.html", "<script>");
  Serve(nullptr);
  const auto policy = [](const std::string& scripts) {
    return "default-src 'none'; script-src " + scripts +
           "; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; "
           "base-uri 'none'";
  };
  for (const HttpResponse& response :
       {Get("/docs/"), Get("/docs"), Get("/docs/", {}, "HEAD"), Get("/docs/_static/site.css"),
        Get("/docs/", {{"If-None-Match", "*"}})}) {
    EXPECT_EQ(response.headers.at("content-security-policy"), policy("'none'")) << response.status;
    EXPECT_EQ(response.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(response.headers.at("cross-origin-opener-policy"), "same-origin");
    EXPECT_EQ(response.headers.at("cross-origin-resource-policy"), "same-origin");
  }
  EXPECT_EQ(Get("/docs/search.html?q=x").headers.at("content-security-policy"), policy("'self'"));
}

TEST_F(SiteServerTest, OtherSitesGetNothingButLinksToPages) {
  Serve(nullptr);
  const std::string page = "/docs/reference/cpp/client-relay.html";
  const HttpHeaders link = {{"Sec-Fetch-Site", "cross-site"},
                            {"Sec-Fetch-Mode", "navigate"},
                            {"Sec-Fetch-Dest", "document"}};
  EXPECT_EQ(Get(page, link).status, 200);
  EXPECT_EQ(Get("/docs/_static/site.css",
                {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}})
                .status,
            403);
  EXPECT_EQ(Get(page, {{"Origin", "https://evil.example"}}).status, 403);
  EXPECT_EQ(Get("/docs/_static/site.css", {{"Sec-Fetch-Site", "same-origin"}}).status, 200);
  host_ = "evil.example";
  EXPECT_EQ(Get("/docs/").status, 403);
}

TEST_F(SiteServerTest, WithoutAConsoleItsOriginMayNotCall) {
  Serve(nullptr);
  const HttpResponse call = client_->SendBytes(StrCat(
      "POST /coppice.v1.StudyService/ListStudies HTTP/1.1\r\nHost: ", host_, "\r\nOrigin: http://",
      host_, "\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"));
  EXPECT_EQ(call.status, 403);
}

TEST_F(SiteServerTest, TheConsoleIsToldOfIt) {
  const testing::TempDir console;
  std::filesystem::create_directory(console.path() + "/assets");
  std::ofstream(console.path() + "/index.html") << "<!doctype html>";
  Serve(std::make_shared<const Console>(*ReadConsoleFiles(console.path()), "sha256-STYLE"));
  EXPECT_EQ(Get("/").headers["link"], "</docs/>; rel=\"help\"");
  EXPECT_THAT(Get("/docs/").headers, Not(::testing::Contains(::testing::Key("link"))));
}

}  // namespace
}  // namespace coppice::http
