// One table of calls, sent in three ways: gRPC, and HTTP with JSON and with protobuf. It has every
// method and every kind of caller, and gets the same answers, audit log and errors.

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/base/text.h"
#include "server/serving/access/method_table.h"
#include "tests/server/daemon/owners_fixture.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::HttpMethod;
using ::coppice::testing::OwnersTest;
using ::coppice::testing::Token;

enum class Transport { kGrpc, kJson, kProto };

struct Sender {
  std::string label;
  std::vector<std::string> authorizations;
};

std::vector<Sender> AllCallers() {
  std::vector<Sender> callers = {{"nobody", {}},
                                 {"an unknown token", {"Bearer coppice_unknown"}},
                                 {"another scheme", {"Basic YTpi"}},
                                 {"two tokens", {"Bearer x", "Bearer y"}}};
  const auto add = [&](const std::string& name, access::Role role) {
    callers.push_back({Token(name, role), {"Bearer " + Token(name, role)}});
  };
  for (const access::Role role : access::kAllRoles) {
    for (const char* name : {"a", "granted", "b"}) add(name, role);
    if (role != access::Role::kAdmin) add("plain", role);
  }
  add("operator", access::Role::kAdmin);
  return callers;
}

// A daemon per transport, so that each one finds the same.
class World : public OwnersTest {
 public:
  explicit World(Transport transport) : transport_(transport) { SetUp(); }
  ~World() override { TearDown(); }
  void TestBody() override {}

  // "method, caller, request: code message answer" of each call.
  std::vector<std::string> RunTable() {
    std::vector<std::string> lines;
    for (const access::Method* method : Methods()) {
      for (const Sender& caller : AllCallers()) {
        const bool is_stranger = caller.authorizations.size() != 1 || IsBad(caller);
        lines.push_back(Line(*method, caller, "empty", ""));
        if (is_stranger) continue;  // strangers share one limit
        lines.push_back(Line(*method, caller, "a-1", RequestOn(*method, "a-1")));
        lines.push_back(Line(*method, caller, "a-2", RequestOn(*method, "a-2")));
      }
    }
    return lines;
  }

  // "actor action resource related outcome", sorted, as refusals are entered after their answers.
  std::vector<std::string> Log() {
    server_->Stop(absl::ZeroDuration());
    server_.reset();
    audit_seconds_ += 86400;  // from then on calls with a private time are told
    std::vector<std::string> lines;
    for (uint64_t next = 0;;) {
      const auto page = audit_->Read(next, 0);
      EXPECT_OK(page.status());
      for (const v1::AuditEntry& entry : page->entries()) {
        next = entry.sequence() + 1;
        if (!StrContains(entry.action(), "Service/")) continue;
        const bool is_new = StrContains(entry.action(), "/Create");  // ids are random
        lines.push_back(StrCat(entry.actor(), " ", entry.action(), " ",
                               is_new ? "" : entry.resource(), " ", entry.outcome()));
      }
      if (next >= page->head().entries()) break;
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }

 private:
  static bool IsBad(const Sender& caller) { return StartsWith(caller.label, "an"); }

  // Coppice's methods without client streams, which gRPC alone carries; deletions come last.
  static std::vector<const access::Method*> Methods() {
    std::vector<const access::Method*> methods;
    for (const access::Method& method : access::AllMethods()) {
      if (!StartsWith(method.path, "/coppice.")) continue;
      if (HttpMethod::Find(std::string(method.path)).descriptor->client_streaming()) continue;
      methods.push_back(&method);
    }
    std::stable_partition(methods.begin(), methods.end(), [](const access::Method* method) {
      return !StrContains(method->path, "/Delete") && !StrContains(method->path, "/Seal");
    });
    return methods;
  }

  std::string Line(const access::Method& method, const Sender& caller, std::string_view what,
                   const std::string& message) {
    const std::string path(method.path);
    std::string answer;
    const grpc::Status status =
        transport_ == Transport::kGrpc
            ? Call(path, caller.authorizations, message, &answer)
            : CallHttp(
                  transport_ == Transport::kJson ? http::Encoding::kJson : http::Encoding::kProto,
                  path, caller.authorizations, message, &answer);
    // Keys, signatures, tickets and times differ by daemon, and lists have random ids.
    const bool is_same =
        !method.changes && !StrContains(path, "/GetOffer") && !StrContains(path, "/GetModel") &&
        !StrContains(path, "/DescribeModel") && !StrContains(path, "/GetCuratorKeys") &&
        !StrContains(path, "/GetManifest") && !StrContains(path, "/GetReportHistory") &&
        !StrContains(path, "AdminService") && !StrContains(path, "/List");
    return StrCat(path, ", ", caller.label, ", ", what, ": ", status.error_code(), " ",
                  status.error_message(), " ", is_same ? absl::CEscape(answer) : "");
  }

  const Transport transport_;
};

void ExpectSame(const std::vector<std::string>& expected, const std::vector<std::string>& actual,
                const char* what) {
  ASSERT_EQ(expected.size(), actual.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(expected[i], actual[i]) << what;
}

TEST(TransportsTest, EveryCallHasTheSameAnswerWhateverCarriesIt) {
  World grpc(Transport::kGrpc);
  const std::vector<std::string> expected = grpc.RunTable();
  const std::vector<std::string> expected_log = grpc.Log();
  EXPECT_GT(expected.size(), 1500u);
  EXPECT_GT(expected_log.size(), 300u);
  for (const Transport transport : {Transport::kJson, Transport::kProto}) {
    World http(transport);
    const char* const what = transport == Transport::kJson ? "JSON" : "protobuf";
    ExpectSame(expected, http.RunTable(), what);
    ExpectSame(expected_log, http.Log(), what);
  }
}

}  // namespace
}  // namespace coppice::daemon
