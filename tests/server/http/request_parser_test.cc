#include "server/http/request_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::http {
namespace {

using ::testing::HasSubstr;
using State = RequestParser::State;

constexpr char kPost[] = "POST /a HTTP/1.1\r\nHost: h\r\n";

// Gives `bytes` in parts of `step`, with what was left before, as a connection does.
size_t FeedAll(RequestParser& parser, const std::string& bytes, size_t step) {
  std::string in;
  size_t taken = 0;
  for (size_t at = 0; at < bytes.size(); at += step) {
    in += bytes.substr(at, step);
    size_t now = 0;
    do {
      now = parser.Feed(in);
      in.erase(0, now);
      taken += now;
      if (parser.state() == State::kJudge) parser.ReadBody({.bytes = size_t{1} << 30});
    } while (now > 0 && !in.empty());
  }
  return taken;
}

TEST(RequestParserTest, ReadsARequestHoweverItIsCut) {
  const std::string request =
      StrCat(kPost, "Authorization: Bearer t\r\nContent-Type: application/json\r\n",
             "Connect-Protocol-Version: 1\r\nConnect-Timeout-Ms: 7\r\nX-Request-Id: id\r\n",
             "Origin: https://o\r\nContent-Length: 5\r\n\r\nhello");
  for (const size_t step : {size_t{1}, size_t{3}, request.size() + 9}) {
    RequestParser parser({});
    EXPECT_EQ(FeedAll(parser, request + "POST /next", step), request.size()) << step;
    ASSERT_EQ(parser.state(), State::kDone) << parser.status();
    const RequestHead& head = parser.head();
    EXPECT_EQ(head.method, "POST");
    EXPECT_EQ(head.target, "/a");
    EXPECT_EQ(head.authorizations, std::vector<std::string>{"Bearer t"});
    EXPECT_EQ(head.content_type, "application/json");
    EXPECT_EQ(head.connect_version, "1");
    EXPECT_EQ(head.connect_timeout, "7");
    EXPECT_EQ(head.request_id, "id");
    EXPECT_EQ(head.origin, "https://o");
    EXPECT_TRUE(head.keep_alive);
    EXPECT_EQ(parser.TakeBody(), "hello");
  }
}

TEST(RequestParserTest, WhatABrowserSendsOnceIsAListIfItIsThereTwice) {
  RequestParser parser({});
  FeedAll(parser,
          StrCat(kPost, "Origin: https://a\r\nOrigin: https://b\r\n",
                 "Sec-Fetch-Site: same-origin\r\nsec-fetch-site: cross-site\r\n",
                 "Accept-Encoding: br\r\nAccept-Encoding: gzip\r\n\r\n"),
          1000);
  EXPECT_EQ(parser.head().origin, "https://a, https://b");
  EXPECT_EQ(parser.head().fetch_site, "same-origin, cross-site");
  EXPECT_EQ(parser.head().accept_encoding, "br, gzip");
}

TEST(RequestParserTest, ChunksAreJoinedAndTrailersDropped) {
  const std::string request =
      StrCat(kPost, "Transfer-Encoding: chunked\r\n\r\n",
             "3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nAuthorization: Bearer late\r\n\r\n");
  for (const size_t step : {size_t{1}, request.size()}) {
    RequestParser parser({});
    EXPECT_EQ(FeedAll(parser, request, step), request.size());
    ASSERT_EQ(parser.state(), State::kDone) << parser.status();
    EXPECT_EQ(parser.TakeBody(), "abcde");
    EXPECT_TRUE(parser.head().authorizations.empty());
  }
}

TEST(RequestParserTest, ABodyWithoutAChunkMayComeInPartsToo) {
  const std::string request = StrCat(kPost, "Transfer-Encoding: chunked\r\n\r\n", "0\r\n\r\n");
  for (size_t step = 1; step <= 8; ++step) {
    RequestParser parser({});
    EXPECT_EQ(FeedAll(parser, request + "P", step), request.size()) << step;
    EXPECT_EQ(parser.state(), State::kDone) << step;
    EXPECT_EQ(parser.TakeBody(), "");
  }
}

// Two readers could cut these at different bytes.
TEST(RequestParserTest, RequestsOfTwoMeaningsAreRefused) {
  for (const char* head : {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
                           "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
                           "Content-Length: 3\r\nContent-Length: 3\r\n",
                           "Content-Length: 3, 3\r\n",
                           "Content-Length: 3\r\nContent-Length: 4\r\n",
                           "Content-Length: +3\r\n",
                           "Content-Length: 0x3\r\n",
                           "Content-Length: -3\r\n",
                           "Content-Length: \r\n",
                           "Content-Length: 99999999999999999999\r\n",
                           "Transfer-Encoding: xchunked\r\n",
                           "Transfer-Encoding: chunked, identity\r\n",
                           "Transfer-Encoding: gzip, chunked\r\n",
                           "Transfer-Encoding: identity\r\n",
                           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                           "Transfer-Encoding : chunked\r\n",
                           "Content-Length : 3\r\n",
                           "Host: other\r\n",
                           "Content-Length: 3\nX: y\r\n",
                           "X: a\rContent-Length: 3\r\n",
                           "no colon\r\n",
                           ": x\r\n",
                           "X\x01: y\r\n"}) {
    const std::string request = StrCat(kPost, head, "\r\nabc");
    for (const size_t step : {size_t{1}, request.size()}) {
      RequestParser parser({});
      FeedAll(parser, request, step);
      EXPECT_EQ(parser.state(), State::kFailed) << head;
      EXPECT_EQ(parser.status().code(), StatusCode::kInvalidArgument) << head;
    }
  }
}

TEST(RequestParserTest, OtherVersionsAndProtocolsAreRefused) {
  for (const char* request :
       {"POST /a HTTP/1.0\r\nHost: h\r\n\r\n", "POST /a HTTP/2.0\r\nHost: h\r\n\r\n",
        "POST /a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x01 tls\r\n\r\n",
        "POST /a HTTP/1.1\r\n\r\n", "POST /a\tb HTTP/1.1\r\nHost: h\r\n\r\n", "\r\n\r\n\r\n\r\n",
        "POST  /a HTTP/1.1\r\nHost: h\r\n\r\n"}) {
    RequestParser parser({});
    FeedAll(parser, request, 1);
    EXPECT_EQ(parser.state(), State::kFailed) << request;
  }
}

TEST(RequestParserTest, AllHeadersShareOneLimit) {
  std::string many = kPost;
  for (int i = 0; i < 300; ++i) StrAppend(&many, "X-", i, ": ", std::string(30, 'v'), "\r\n");
  for (const std::string& request :
       {many, StrCat(kPost, "X: ", std::string(9000, 'v')),
        StrCat("POST /", std::string(9000, 'a')), std::string(20000, 'A')}) {
    for (const size_t step : {size_t{7}, request.size()}) {
      RequestParser parser({});
      FeedAll(parser, request, step);
      EXPECT_EQ(parser.state(), State::kFailed) << step;
    }
  }
}

TEST(RequestParserTest, ABodyIsBoundedAndCountedWhileItIsHeld) {
  calls::ByteLoad bodies(size_t{1} << 20);
  const ParserLimits limits{.max_body_bytes = size_t{300} << 10, .bodies = &bodies};
  const std::string head = StrCat(kPost, "Content-Length: ", size_t{300} << 10, "\r\n\r\n");
  {
    RequestParser parser(limits);
    FeedAll(parser, head + std::string(size_t{300} << 10, 'x'), 8192);
    EXPECT_EQ(parser.state(), State::kDone);
    EXPECT_GE(bodies.bytes(), size_t{300} << 10);
    EXPECT_LE(bodies.bytes(), size_t{600} << 10);
  }
  EXPECT_EQ(bodies.bytes(), 0u);
  RequestParser large(limits);
  std::string chunks = StrCat(kPost, "Transfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 80; ++i) StrAppend(&chunks, "1000\r\n", std::string(4096, 'x'), "\r\n");
  FeedAll(large, chunks, 8192);
  EXPECT_EQ(large.state(), State::kFailed);
  EXPECT_EQ(large.status().code(), StatusCode::kResourceExhausted);
  ASSERT_TRUE(bodies.TryHold((size_t{1} << 20) - bodies.bytes()));
  RequestParser crowded(limits);
  FeedAll(crowded, head + std::string(size_t{300} << 10, 'x'), 8192);
  EXPECT_THAT(std::string(crowded.status().message()), HasSubstr("try again later"));
  RequestParser small(limits);
  FeedAll(small, StrCat(kPost, "Content-Length: 3\r\n\r\nabc"), 8192);
  EXPECT_EQ(small.state(), State::kDone) << "small ones are always taken";
}

TEST(RequestParserTest, AChunkLineThatDoesNotEndIsRefused) {
  RequestParser parser({});
  FeedAll(parser, StrCat(kPost, "Transfer-Encoding: chunked\r\n\r\n3;", std::string(20000, 'e')),
          1000);
  EXPECT_EQ(parser.state(), State::kFailed);
}

}  // namespace
}  // namespace coppice::http
