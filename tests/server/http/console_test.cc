// The console's files: which folders are read, and what a browser is sent.

#include "server/http/console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/study.pb.h"
#include "tests/server/http/http_fixture.h"
#include "tests/support/status_matchers.h"

namespace coppice::http {
namespace {

using ::coppice::testing::FilesFolder;
using ::coppice::testing::HttpClient;
using ::coppice::testing::HttpHandlersTest;
using ::coppice::testing::HttpHeaders;
using ::coppice::testing::HttpResponse;
using ::coppice::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr char kIndex[] = "<!doctype html>";

// A folder as the console's build leaves it.
class ConsoleFolder : public FilesFolder {
 public:
  ConsoleFolder() : FilesFolder(ReadConsoleFiles) {
    std::filesystem::create_directory(path("assets"));
    Write("index.html", kIndex);
    Write("assets/main-1a.js", std::string(100000, 'j'));
    Write("assets/main-1a.js.gz", "zipped");
    Write("assets/style-2b.css", "p{}");
  }
};

auto IsWrong(const std::string& words) {
  return StatusIs(StatusCode::kInvalidArgument, HasSubstr(words));
}

TEST(ReadConsoleFilesTest, ReadsThePageAndItsAssets) {
  const ConsoleFolder folder;
  const StatusOr<ServedFiles> files = folder.Read();
  ASSERT_OK(files.status());
  EXPECT_THAT(*files, ElementsAre(Key("/"), Key("/assets/main-1a.js"), Key("/assets/style-2b.css")))
      << "a sibling is no file of its own";
  EXPECT_EQ(*files->at("/").plain.bytes, kIndex);
  EXPECT_EQ(files->at("/").type, "text/html; charset=utf-8");
  EXPECT_EQ(files->at("/").gzip.bytes, nullptr);
  EXPECT_EQ(*files->at("/assets/main-1a.js").gzip.bytes, "zipped");
  EXPECT_NE(files->at("/assets/main-1a.js").gzip.etag, files->at("/assets/main-1a.js").plain.etag);
}

TEST(ReadConsoleFilesTest, RefusesAFolderWithOtherFiles) {
  const ConsoleFolder folder;
  EXPECT_THAT(folder.WithFile("server.key"), IsWrong("/server.key: only index.html"));
  EXPECT_THAT(folder.WithFile("assets.gz"), IsWrong("/assets.gz: only index.html"));
  EXPECT_THAT(folder.WithFile("index.html.gz.gz"), IsWrong("only index.html"));
  EXPECT_THAT(folder.WithFile("assets/a b.js"), IsWrong("/assets/a b.js: names of assets"));
  EXPECT_THAT(folder.WithFile("assets/a%2e.js"), IsWrong("names of assets"));
  EXPECT_THAT(folder.WithFile("assets/\xc3\xa4.js"), IsWrong("names of assets"));
  EXPECT_THAT(folder.WithFile("assets/a.exe"), IsWrong("/assets/a.exe: its ending is none of"));
  EXPECT_THAT(folder.WithFile("assets/a"), IsWrong("its ending"));
  EXPECT_THAT(folder.WithFile("assets/lost.js.gz"), IsWrong("no such file without .gz"));
  EXPECT_OK(folder.WithFile("index.html.gz"));
  std::filesystem::create_directory(folder.path("assets/deep.js"));
  EXPECT_THAT(folder.Read(), IsWrong("/assets/deep.js: a folder may not lie here"));
  std::filesystem::remove(folder.path("assets/deep.js"));
  ASSERT_EQ(mkfifo(folder.path("assets/pipe.js").c_str(), 0600), 0);
  EXPECT_THAT(folder.Read(), IsWrong("/assets/pipe.js: it is not a regular file"));
}

TEST(ReadConsoleFilesTest, NoLinkIsFollowed) {
  const ConsoleFolder folder;
  const auto with_link = [&](const std::string& name, const std::string& to) {
    std::filesystem::create_symlink(to, folder.path(name));
    const Status status = folder.Read().status();
    std::filesystem::remove(folder.path(name));
    return status;
  };
  EXPECT_THAT(with_link("assets/link.js", folder.path("index.html")), IsWrong("it is a link"));
  EXPECT_THAT(with_link("assets/style-2b.css.gz", "/etc/passwd"), IsWrong("it is a link"));
  std::filesystem::remove(folder.path("index.html"));
  EXPECT_THAT(with_link("index.html", "/etc/passwd"), IsWrong("/index.html: it is a link"));
  folder.Write("index.html", kIndex);
  const ConsoleFolder other;
  std::filesystem::remove_all(folder.path("assets"));
  EXPECT_FALSE(with_link("assets", other.path("assets")).ok());
}

TEST(ReadConsoleFilesTest, WhatIsMissingIsNamed) {
  const auto is_missing = [](const std::string& words) {
    return StatusIs(StatusCode::kNotFound, HasSubstr(words));
  };
  EXPECT_THAT(ReadConsoleFiles("/nowhere"), is_missing("/nowhere: No such file"));
  const ConsoleFolder folder;
  std::filesystem::remove(folder.path("index.html"));
  EXPECT_THAT(folder.Read(), is_missing("/index.html: No such file"));
  folder.Write("index.html", kIndex);
  std::filesystem::remove_all(folder.path("assets"));
  EXPECT_THAT(folder.Read(), is_missing("/assets: No such file"));
}

TEST(ReadConsoleFilesTest, WhatEverybodyMayWriteIsRefused) {
  const ConsoleFolder folder;
  for (const char* name :
       {"index.html", "assets", "assets/main-1a.js", "assets/main-1a.js.gz", ""}) {
    struct stat before {};
    ASSERT_EQ(stat(folder.path(name).c_str(), &before), 0);
    ASSERT_EQ(chmod(folder.path(name).c_str(), before.st_mode | S_IWOTH), 0);
    EXPECT_THAT(folder.Read(), IsWrong("anyone on this machine can change it")) << name;
    ASSERT_EQ(chmod(folder.path(name).c_str(), before.st_mode), 0);
  }
  EXPECT_OK(folder.Read().status());
}

TEST(ReadConsoleFilesTest, FilesAreBoundedInNumberAndInAll) {
  const ConsoleFolder folder;
  EXPECT_THAT(folder.WithFile("assets/large.js", std::string(kMaxConsoleBytes, 'x')),
              IsWrong("more than 8 MiB"));
  const size_t left = kMaxConsoleBytes - (100000 + 6 + 3 + sizeof(kIndex) - 1);
  EXPECT_OK(folder.WithFile("assets/large.js", std::string(left, 'x')));
  EXPECT_THAT(folder.WithFile("assets/large.js", std::string(left + 1, 'x')), IsWrong("8 MiB"));
  for (size_t i = 3; i < kMaxConsoleFiles; ++i) folder.Write(StrCat("assets/", i, ".js"), "");
  EXPECT_OK(folder.Read().status());
  EXPECT_THAT(folder.WithFile("assets/more.js"), IsWrong("more than 64 files"));
  for (size_t i = 0; i < kMaxConsoleFiles; ++i) {
    folder.Write(StrCat("assets/", i, ".js"), "");
    folder.Write(StrCat("assets/", i, ".js.gz"), "");
  }
  EXPECT_THAT(folder.Read(), IsWrong("more than 64 files"));
}

struct Lister {
  Status List(const service::Caller&, const v1::ListStudiesRequest&, v1::ListStudiesResponse*) {
    return OkStatus();
  }
};

class ConsoleServerTest : public HttpHandlersTest {
 protected:
  ConsoleServerTest() {
    registry_.Add(lister_, &Lister::List);
    Start({.listen = "127.0.0.1:0",
           .allowed_origins = {"https://lab.example"},
           .console = std::make_shared<const Console>(*folder_.Read(), "sha256-STYLE")},
          Served());
  }

  HttpResponse Call(const std::string& host, const std::string& origin) {
    return client_->SendBytes(
        StrCat("POST /coppice.v1.StudyService/ListStudies HTTP/1.1\r\nHost: ", host, "\r\nOrigin: ",
               origin, "\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"));
  }

  const ConsoleFolder folder_;
  Lister lister_;
};

TEST_F(ConsoleServerTest, ServesThePageAndItsAssetsOnOneConnection) {
  HttpResponse page = Get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, kIndex);
  EXPECT_EQ(page.headers["content-type"], "text/html; charset=utf-8");
  EXPECT_EQ(page.headers["cache-control"], "no-cache");
  EXPECT_EQ(Get("/?from=a-link").body, kIndex);
  HttpResponse script = Get("/assets/main-1a.js");
  EXPECT_EQ(script.body, std::string(100000, 'j'));
  EXPECT_EQ(script.headers["content-type"], "text/javascript; charset=utf-8");
  EXPECT_EQ(script.headers["cache-control"], "public, max-age=31536000, immutable");
  EXPECT_EQ(Get("/assets/style-2b.css").body, "p{}");
}

TEST_F(ConsoleServerTest, EveryAnswerForbidsWhatTheConsoleDoesNotNeed) {
  for (const HttpResponse& response : {Get("/"), Get("/assets/main-1a.js"), Get("/", {}, "HEAD"),
                                       Get("/", {}, "PUT"), Get("/", {{"If-None-Match", "*"}})}) {
    EXPECT_EQ(response.headers.at("content-security-policy"),
              "default-src 'none'; script-src 'self'; style-src 'self' 'sha256-STYLE'; "
              "connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; "
              "form-action 'none'; require-trusted-types-for 'script'; trusted-types coppice")
        << response.status;
    EXPECT_EQ(response.headers.at("x-content-type-options"), "nosniff");
    EXPECT_EQ(response.headers.at("x-frame-options"), "DENY");
    EXPECT_EQ(response.headers.at("referrer-policy"), "no-referrer");
    EXPECT_EQ(response.headers.at("cross-origin-opener-policy"), "same-origin");
    EXPECT_EQ(response.headers.at("cross-origin-resource-policy"), "same-origin");
    EXPECT_EQ(response.headers.count("access-control-allow-origin"), 0u);
  }
}

TEST_F(ConsoleServerTest, SendsCompressedBytesToClientsThatAcceptThem) {
  for (const char* takes : {"gzip", "deflate, gzip, br", "br;q=1.0, GZIP;q=0.5"}) {
    HttpResponse response = Get("/assets/main-1a.js", {{"Accept-Encoding", takes}});
    EXPECT_EQ(response.body, "zipped") << takes;
    EXPECT_EQ(response.headers["content-encoding"], "gzip");
    EXPECT_EQ(response.headers["vary"], "Accept-Encoding");
    EXPECT_EQ(response.headers["content-type"], "text/javascript; charset=utf-8");
  }
  for (const char* refuses : {"", "identity", "gzip;q=0", "gzip; q=0.000", "gzip;Q=0", "gzipped",
                              "x;gzip", "br", "gzip;q=much"}) {
    HttpResponse response = Get("/assets/main-1a.js", {{"Accept-Encoding", refuses}});
    EXPECT_EQ(response.body.size(), 100000u) << refuses;
    EXPECT_EQ(response.headers.count("content-encoding"), 0u) << refuses;
    EXPECT_EQ(response.headers["vary"], "Accept-Encoding");
  }
  EXPECT_EQ(Get("/", {{"Accept-Encoding", "gzip"}}).body, kIndex) << "it has no sibling";
}

TEST_F(ConsoleServerTest, AFileThatTheBrowserHasIsNotSentAgain) {
  const std::string etag = Get("/").headers["etag"];
  EXPECT_THAT(etag, ::testing::MatchesRegex("\"[0-9a-f]{32}\""));
  for (const std::string& known : {etag, "\"other\", W/" + etag, std::string("*")}) {
    const HttpResponse response = Get("/", {{"If-None-Match", known}});
    EXPECT_EQ(response.status, 304) << known;
    EXPECT_EQ(response.headers.at("etag"), etag);
    EXPECT_THAT(response.headers, Not(Contains(Pair("content-length", Not("")))));
  }
  EXPECT_EQ(Get("/", {{"If-None-Match", "\"other\""}}).status, 200);
  const std::string zipped =
      Get("/assets/main-1a.js", {{"Accept-Encoding", "gzip"}}).headers["etag"];
  EXPECT_EQ(Get("/assets/main-1a.js", {{"If-None-Match", zipped}}).status, 200)
      << "those are other bytes";
}

TEST_F(ConsoleServerTest, HeadSaysWhatGetWould) {
  const HttpResponse head = Get("/assets/main-1a.js", {}, "HEAD");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "100000");
  EXPECT_EQ(Get("/").body, kIndex) << "the same connection goes on";
  EXPECT_EQ(Get("/", {{"Range", "bytes=0-3"}}).body, kIndex) << "ranges are not taken";
}

TEST_F(ConsoleServerTest, OtherMethodsAndPathsAreRefusedInJson) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"}) {
    const HttpResponse refused = Get("/", {{"Content-Length", "0"}}, method);
    EXPECT_EQ(refused.status, 405) << method;
    EXPECT_EQ(refused.headers.at("allow"), "GET, HEAD");
    EXPECT_THAT(refused.body, HasSubstr("\"code\":\"unimplemented\""));
  }
  for (const char* path :
       {"/index.html", "/assets", "/assets/", "/assets/main-1a.js.gz", "/assets/main-1a.js/",
        "/assets/../index.html", "/assets/%2e%2e/index.html", "/assets%2fmain-1a.js", "//", "/.",
        "/assets//main-1a.js", "/assets/..%2f..%2f..%2fetc%2fpasswd", "/../../etc/passwd",
        "http://localhost/", "/assets/main-1a.js%00", "/ASSETS/main-1a.js", "*", "/#"}) {
    const HttpResponse refused = Get(path);
    EXPECT_EQ(refused.status, 404) << path;
    EXPECT_EQ(refused.headers.at("content-type"), "application/json");
    EXPECT_EQ(refused.headers.at("x-content-type-options"), "nosniff");
    EXPECT_THAT(refused.body, HasSubstr("the console is at /"));
  }
}

TEST_F(ConsoleServerTest, ItsPagesMayCallAndPagesOfAReboundNameMayNot) {
  EXPECT_EQ(Call(host_, "http://" + host_).status, 200);
  const std::string port = StrCat(":", server_->port());
  EXPECT_EQ(Call("127.0.0.1" + port, "http://127.0.0.1" + port).status, 200);
  EXPECT_EQ(Call("evil.example" + port, "http://evil.example" + port).status, 403);
  EXPECT_EQ(Call(host_, "http://127.0.0.1" + port).status, 403);
  EXPECT_EQ(Call(host_, "https://evil.example").status, 403);
  HttpResponse allowed = Call(host_, "https://lab.example");
  EXPECT_EQ(allowed.status, 200);
  EXPECT_EQ(allowed.headers["access-control-allow-origin"], "https://lab.example");
  host_ = "evil.example" + port;
  EXPECT_EQ(Get("/").status, 403);
  EXPECT_EQ(Get("/assets/main-1a.js").status, 403);
}

TEST_F(ConsoleServerTest, OtherSitesGetNothingButALinkToIt) {
  const HttpHeaders link = {{"Sec-Fetch-Site", "cross-site"},
                            {"Sec-Fetch-Mode", "navigate"},
                            {"Sec-Fetch-Dest", "document"}};
  EXPECT_EQ(Get("/", link).status, 200);
  EXPECT_EQ(Get("/assets/main-1a.js", link).status, 403);
  EXPECT_EQ(Get("/", {{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Mode", "no-cors"}}).status,
            403);
  EXPECT_EQ(Get("/", {{"Origin", "https://evil.example"}}).status, 403);
  EXPECT_EQ(Get("/", {{"Sec-Fetch-Site", "same-origin"}}).status, 200);
}

// Clients read only the beginning of a file that is too large for socket buffers.
TEST_F(ConsoleServerTest, ThoseWhoReadFilesSlowlyMakeRoom) {
  folder_.Write("assets/large-3c.js", std::string(size_t{7} << 20, 'x'));
  ServedMethods methods(Served());
  const auto small =
      *Server::Start({.listen = "127.0.0.1:0",
                      .console = std::make_shared<const Console>(*folder_.Read(), "sha256-STYLE"),
                      .max_connections = 2},
                     methods);
  const std::string ask =
      StrCat("GET /assets/large-3c.js HTTP/1.1\r\nHost: localhost:", small->port(),
             "\r\nConnection: close\r\n\r\n");
  HttpClient first(small->port(), nullptr), second(small->port(), nullptr),
      third(small->port(), nullptr);
  for (HttpClient* slow : {&first, &second}) {
    ASSERT_TRUE(slow->Connect());
    ASSERT_TRUE(slow->WriteAll(ask));
    ASSERT_TRUE(slow->ReadUntil("\r\n\r\n"));
  }
  EXPECT_EQ(third
                .Send("POST", "/coppice.v1.StudyService/ListStudies",
                      {{"Content-Type", "application/json"}}, "{}")
                .status,
            200);
  EXPECT_LT(first.ReadToEnd().size(), size_t{7} << 20) << "it waited longest";
  EXPECT_GT(second.ReadToEnd().size(), size_t{7} << 20);
}

TEST_F(ConsoleServerTest, ADaemonWithoutItSaysHowToHaveIt) {
  ServedMethods methods(Served());
  const auto without = *Server::Start({.listen = "127.0.0.1:0"}, methods);
  HttpClient client(without->port(), nullptr);
  const HttpResponse refused = client.Send("GET", "/", {}, "");
  EXPECT_EQ(refused.status, 404);
  EXPECT_THAT(refused.body, HasSubstr("--console"));
  EXPECT_THAT(refused.body, Not(HasSubstr("the console is at /")));
}

}  // namespace
}  // namespace coppice::http
