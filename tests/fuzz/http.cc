// HTTP/1.1 requests, in parts that the first byte determines, and the messages in them. However a
// request is cut, it is read alike. A file's answer is that file, and only the daemon's own origin
// is let in.

#include <google/protobuf/message.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.h"
#include "coppice/v1/training.pb.h"
#include "server/http/console.h"
#include "server/http/messages/messages.h"
#include "server/http/origins.h"
#include "server/http/protocol.h"
#include "server/http/request_parser.h"
#include "tests/fuzz/fuzz_input.h"

namespace coppice::http {
namespace {

using State = RequestParser::State;
using testing::Require;

struct Read {
  State state = State::kHead;
  size_t taken = 0;
  std::string target, body;
  RequestHead head;
};

Read ReadInParts(std::string_view bytes, size_t step) {
  RequestParser parser({.max_body_bytes = 4096});
  Read read;
  std::string in;
  while (true) {
    const size_t now = parser.Feed(in);
    in.erase(0, now);
    read.taken += now;
    if (parser.state() == State::kJudge) {
      parser.ReadBody({.bytes = size_t{1} << 30});
    } else if (parser.state() == State::kDone || parser.state() == State::kFailed) {
      break;
    } else if (now == 0 || in.empty()) {
      if (bytes.empty()) break;
      in.append(bytes.data(), std::min(step, bytes.size()));
      bytes.remove_prefix(std::min(step, bytes.size()));
    }
  }
  read.state = parser.state();
  read.head = parser.head();
  read.target = read.head.target;
  read.body = parser.TakeBody();
  return read;
}

void ReadMessages(const Read& read) {
  const auto admit = [](size_t) { return StatusOr<calls::HeldBytes>(calls::HeldBytes()); };
  for (const Encoding encoding : {Encoding::kJson, Encoding::kProto}) {
    v1::SubmitJobRequest request;
    if (!ParseMessage(encoding, read.body, admit, request).ok()) continue;
    const auto written = SerializeMessage(encoding, request);
    Require(written.ok(), "a message that was read is not written");
    v1::SubmitJobRequest again;
    Require(ParseMessage(encoding, *written, admit, again).ok(), "what was written is not read");
  }
  (void)MessageIn(read.body);
  (void)ParseTimeout(read.body);
  (void)KindOf(read.target);
}

FileContent Content(const char* bytes) {
  return {.bytes = std::make_shared<const std::string>(bytes), .etag = "\"0\""};
}

void AskForFile(const RequestHead& head) {
  static const Console* const console =
      new Console({{"/", {.type = "text/html", .plain = Content("page")}},
                   {"/assets/a.js", {.type = "a", .plain = Content("js"), .gzip = Content("gz")}}},
                  "sha256-0");
  Origins origins({}, /*has_console=*/true, /*has_tls=*/false);
  origins.ListensOn(8080);
  for (const bool is_file : {false, true}) {
    const bool is_own = head.origin == "http://localhost:8080" ||
                        head.origin == "http://127.0.0.1:8080" ||
                        head.origin == "http://[::1]:8080";
    Require(!origins.Check(head, is_file).ok() || head.origin.empty() || is_own,
            "another origin is let in");
  }
  const std::string path = head.target.substr(0, head.target.find('?'));
  if (!console->Has(path)) return;
  const Response response = console->Answer(head);
  Require(StrContains(response.head, "Content-Security-Policy: "), "an answer without policy");
  if (response.status != 200) return;
  Require(response.file != nullptr, "a file that is none");
  Require(path == "/" ? *response.file == "page" : response.file->size() == 2, "another file");
}

}  // namespace
}  // namespace coppice::http

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice::http;
  std::string_view input = coppice::testing::AsBytes(data, size);
  if (input.empty()) return 0;
  const size_t step = static_cast<uint8_t>(input[0]) % 16 + 1;
  input.remove_prefix(1);
  const Read parts = ReadInParts(input, step);
  const Read whole = ReadInParts(input, input.size() + 1);
  coppice::testing::Require((parts.state == State::kDone) == (whole.state == State::kDone),
                            "a request that is cut is read differently");
  if (whole.state == State::kDone) {
    coppice::testing::Require(
        parts.taken == whole.taken && parts.body == whole.body && parts.target == whole.target,
        "a request that is cut is another");
    ReadMessages(whole);
    AskForFile(whole.head);
  }
  return 0;
}
