// Two owners on one daemon over TLS, and a resource of each kind that the first owner has.

#ifndef COPPICE_TESTS_SERVER_DAEMON_OWNERS_FIXTURE_H_
#define COPPICE_TESTS_SERVER_DAEMON_OWNERS_FIXTURE_H_

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/storage.pb.h"
#include "server/datasets/central_keys.h"
#include "server/serving/access/method_table.h"
#include "tests/server/curator/curator_fixture.h"
#include "tests/server/daemon/access_fixture.h"
#include "tests/server/serving/access/named_requests.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {

// The policy's entries: "a" owns what the fixture makes, "granted" may see it, "b" has resources of
// other names, and "plain" lists none.
inline std::string Token(const std::string& name, access::Role role) {
  return StrCat(name, "_as_", access::RoleName(role));
}

inline std::string Entry(const std::string& name, access::Role role, const std::string& resources) {
  return StrCat(R"({"name":")", name, R"(","role":")", access::RoleName(role), R"(","sha256":")",
                Hex(access::HashOfToken(Token(name, role))), "\"",
                resources.empty() ? "" : StrCat(",\"resources\":[\"", resources, "\"]"), "}");
}

// "plain" lists no resources, so it has no admin: an admin without any is the operator.
inline std::string Policy(const std::string& certificates = "") {
  std::vector<std::string> tokens;
  for (const access::Role role : access::kAllRoles) {
    tokens.push_back(Entry("a", role, "*/a-*"));
    tokens.push_back(Entry("granted", role, "*/a-*"));
    tokens.push_back(Entry("b", role, "*/b-*"));
    if (role != access::Role::kAdmin) tokens.push_back(Entry("plain", role, ""));
  }
  tokens.push_back(Entry("operator", access::Role::kAdmin, ""));
  return StrCat("{\"tokens\":[", StrJoin(tokens, ","), "],\"certificates\":[", certificates, "]}");
}

class OwnersTest : public TlsServerTest {
 protected:
  // Makes one resource of each kind, all called "a-1" and owned by "a".
  void SetUp() override {
    Serve(Policy());
    MakeResources();
  }
  // The curator alone names evaluations, so one of this name comes from an earlier life.
  void StoreEvaluations() override {
    v1::EvaluationRecord record;
    record.mutable_evaluation()->set_name("evaluations/a-1");
    record.mutable_evaluation()->mutable_spec()->set_dataset("datasets/a-1");
    record.mutable_evaluation()->set_state(v1::EVALUATION_STATE_DONE);
    storage::StoreBatch batch;
    batch.Put(central::EvaluationKey("a-1"), record.SerializeAsString());
    ASSERT_OK(store_.Apply(batch));
  }
  void MakeResources() {
    curator::StudySpec study = Spec("a-1");
    study.owner = "a";
    ASSERT_OK(studies_->Create(study).status());
    central::DatasetSpec dataset = SpecOf("a-1");
    dataset.owner = "a";
    ASSERT_OK(MakeDataset(*datasets_, dataset));
    ASSERT_OK(jobs_->Submit(RequestOf("a-1", kEpsilon, "a-1")).status());
    ASSERT_EQ(AwaitEnd(*jobs_, "a-1").state, central::JobState::kDone);
    ASSERT_OK(endpoints_->Set("a-1", "a-1", {.owner = "a"}).status());
  }

  static bool IsId(access::Use use) { return use == access::Use::kMake; }

  // A request whose resources are all called `id`; if any kind fits, it names an endpoint.
  static std::string RequestOn(const access::Method& method, const std::string& id) {
    const std::unique_ptr<google::protobuf::Message> request = RequestFor(method);
    for (const access::NamedResource& named : method.names) {
      const std::string kind = named.kind.empty() ? "endpoints" : std::string(named.kind);
      SetField(*request, named.field, IsId(named.use) ? id : MakeName(kind, id));
    }
    return request->SerializeAsString();
  }

  grpc::Status CallOn(const access::Method& method, const std::string& id, const std::string& name,
                      access::Role role) const {
    return Call(std::string(method.path), {"Bearer " + Token(name, role)}, RequestOn(method, id));
  }
  template <typename Response>
  Response Ask(const char* path, const std::string& token,
               const google::protobuf::Message& request) const {
    std::string bytes;
    const grpc::Status status =
        Call(path, {"Bearer " + token}, request.SerializeAsString(), &bytes);
    EXPECT_TRUE(status.ok()) << path << ": " << status.error_message();
    Response response;
    EXPECT_TRUE(response.ParseFromString(bytes));
    return response;
  }
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DAEMON_OWNERS_FIXTURE_H_
