// Two owners on one daemon over TLS: what a resource's owner, a grantee and a stranger get from
// every method that names it.

#include <algorithm>

#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/admin.pb.h"
#include "coppice/v1/dataset.pb.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/report.pb.h"
#include "coppice/v1/study.pb.h"
#include "coppice/v1/training.pb.h"
#include "server/daemon/transport/access.h"
#include "server/serving/access/method_table.h"
#include "tests/server/daemon/owners_fixture.h"
#include "tests/support/sealed_reports.h"
#include "tests/support/status_matchers.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::Hex;
using ::coppice::testing::HttpMethod;
using ::coppice::testing::OwnersTest;
using ::coppice::testing::Policy;
using ::coppice::testing::Spec;
using ::coppice::testing::Token;
using ::testing::HasSubstr;

bool Uses(const access::Method& method, access::Use use) {
  return std::any_of(method.names.begin(), method.names.end(),
                     [use](const access::NamedResource& named) { return named.use == use; });
}

// Visits the methods that check what their requests name, with each role that may call them.
template <typename Visit>
void ForEachGuarded(Visit visit) {
  for (const access::Method& method : access::AllMethods()) {
    const bool checks = Uses(method, access::Use::kSee) || Uses(method, access::Use::kOwn) ||
                        Uses(method, access::Use::kMake) || Uses(method, access::Use::kSet);
    if (!checks) continue;
    for (const access::Role role : access::kAllRoles) {
      if (method.roles.Has(role)) visit(method, role);
    }
  }
}

// True for the guard's NOT_FOUND; a handler's own differs, such as FreeDatasetName's.
bool IsHidden(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::NOT_FOUND &&
         StartsWith(status.error_message(), "there is no ");
}

TEST_F(OwnersTest, AStrangerGetsTheSameAnswerWhetherSomethingIsThereOrNot) {
  ForEachGuarded([&](const access::Method& method, access::Role role) {
    for (const char* name : {"b", "plain"}) {
      // A device without resources may answer every study.
      if (std::string(name) == "plain" &&
          (role == access::Role::kDevice || role == access::Role::kAdmin)) {
        continue;
      }
      const grpc::Status there = CallOn(method, "a-1", name, role);
      const grpc::Status absent = CallOn(method, "a-2", name, role);
      const std::string what = StrCat(method.path, " as ", Token(name, role));
      EXPECT_EQ(there.error_code(), absent.error_code()) << what;
      EXPECT_EQ(StrReplaceAll(there.error_message(), {{"a-1", "a-2"}}), absent.error_message())
          << what;
      const bool sees = Uses(method, access::Use::kSee) || Uses(method, access::Use::kOwn);
      const bool first_makes =
          method.names[0].use == access::Use::kMake || method.names[0].use == access::Use::kSet;
      EXPECT_EQ(there.error_code(), sees && !first_makes ? grpc::StatusCode::NOT_FOUND
                                                         : grpc::StatusCode::PERMISSION_DENIED)
          << what << ": " << there.error_message();
    }
  });
}

TEST_F(OwnersTest, WhoWasGrantedAResourceSeesItAndDoesNotOwnIt) {
  ForEachGuarded([&](const access::Method& method, access::Role role) {
    if (StrContains(method.path, "/Delete") && !Uses(method, access::Use::kOwn)) return;
    const grpc::Status status = CallOn(method, "a-1", "granted", role);
    const std::string what = StrCat(method.path, " as ", access::RoleName(role));
    EXPECT_FALSE(IsHidden(status)) << what << ": " << status.error_message();
    EXPECT_EQ(status.error_code() == grpc::StatusCode::PERMISSION_DENIED,
              Uses(method, access::Use::kOwn))
        << what << ": " << status.error_message();
  });
}

TEST_F(OwnersTest, TheOwnerAndTheOperatorAreRefusedNothing) {
  ForEachGuarded([&](const access::Method& method, access::Role role) {
    if (StrContains(method.path, "/Delete")) return;
    const std::string what = StrCat(method.path, " as ", access::RoleName(role));
    std::vector<std::string> names = {"a"};
    if (role == access::Role::kAdmin) names.push_back("operator");
    for (const std::string& name : names) {
      const grpc::Status status = CallOn(method, "a-1", name, role);
      EXPECT_FALSE(IsHidden(status)) << what << " of " << name << ": " << status.error_message();
      EXPECT_NE(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << what << " of " << name;
    }
  });
  const auto delete_all = [&](const char* path, access::Role role) {
    return CallOn(*access::FindMethod(path), "a-1", "a", role);
  };
  EXPECT_TRUE(delete_all("/coppice.v1.ModelService/DeleteEndpoint", access::Role::kAdmin).ok());
  EXPECT_TRUE(delete_all("/coppice.v1.ModelService/DeleteModel", access::Role::kTrainer).ok());
  EXPECT_TRUE(delete_all("/coppice.v1.DatasetService/DeleteDataset", access::Role::kTrainer).ok());
  EXPECT_TRUE(delete_all("/coppice.v1.StudyService/DeleteStudy", access::Role::kAdmin).ok());
}

TEST_F(OwnersTest, WhatConcernsEveryOwnerIsForTheOperator) {
  for (const access::Method& method : access::AllMethods()) {
    if (method.scope != access::Scope::kOperator) continue;
    EXPECT_EQ(CallOn(method, "", "a", access::Role::kAdmin).error_code(),
              grpc::StatusCode::PERMISSION_DENIED)
        << method.path;
    EXPECT_NE(CallOn(method, "", "operator", access::Role::kAdmin).error_code(),
              grpc::StatusCode::PERMISSION_DENIED)
        << method.path;
  }
}

TEST_F(OwnersTest, ListsShowWhatTheCallerMaySee) {
  struct Sees {
    const char* name;
    int seen, owned;
  };
  for (const Sees& expected : {Sees{"a", 1, 1}, {"granted", 1, 0}, {"b", 0, 0}, {"plain", 0, 0}}) {
    const std::string token = Token(expected.name, access::Role::kTrainer);
    const auto studies = Ask<v1::ListStudiesResponse>("/coppice.v1.StudyService/ListStudies", token,
                                                      v1::ListStudiesRequest());
    EXPECT_EQ(studies.studies_size(), expected.seen) << expected.name;
    const auto models = Ask<v1::ListModelsResponse>("/coppice.v1.ModelService/ListModels", token,
                                                    v1::ListModelsRequest());
    EXPECT_EQ(models.models_size(), expected.seen) << expected.name;
    const auto endpoints = Ask<v1::ListEndpointsResponse>("/coppice.v1.ModelService/ListEndpoints",
                                                          token, v1::ListEndpointsRequest());
    EXPECT_EQ(endpoints.endpoints_size(), expected.seen) << expected.name;
    const auto datasets = Ask<v1::ListDatasetsResponse>("/coppice.v1.DatasetService/ListDatasets",
                                                        token, v1::ListDatasetsRequest());
    ASSERT_EQ(datasets.datasets_size(), expected.seen) << expected.name;
    if (expected.seen > 0) {
      EXPECT_EQ(datasets.datasets(0).rows(), expected.owned > 0 ? 10u : 0u) << expected.name;
    }
    const auto jobs = Ask<v1::ListJobsResponse>("/coppice.v1.TrainingService/ListJobs", token,
                                                v1::ListJobsRequest());
    EXPECT_EQ(jobs.jobs_size(), expected.owned) << expected.name;
  }
}

TEST_F(OwnersTest, RowsAndTheTimesOfJobsAreTheOwnersAlone) {
  v1::GetDatasetRequest request;
  request.set_name("datasets/a-1");
  constexpr char kGet[] = "/coppice.v1.DatasetService/GetDataset";
  const auto owner = Ask<v1::GetDatasetResponse>(kGet, Token("a", access::Role::kTrainer), request);
  EXPECT_EQ(owner.dataset().rows(), 10u);
  EXPECT_GT(owner.dataset().ledger_size(), 0);
  EXPECT_EQ(owner.dataset().ledger_entries(), static_cast<uint64_t>(owner.dataset().ledger_size()));
  const auto granted =
      Ask<v1::GetDatasetResponse>(kGet, Token("granted", access::Role::kTrainer), request);
  EXPECT_EQ(granted.dataset().rows(), 0u);
  EXPECT_EQ(owner.dataset().state(), v1::DATASET_STATE_READY);
  EXPECT_EQ(granted.dataset().state(), v1::DATASET_STATE_UPLOADING) << "it is of today";
  EXPECT_EQ(owner.dataset().created_unix_seconds(), 1000);
  EXPECT_EQ(granted.dataset().created_unix_seconds(), 0) << "the day";
  EXPECT_EQ(granted.dataset().ledger_size(), 0);
  EXPECT_EQ(granted.dataset().ledger_entries(), 0u);
  request.set_max_entries(2);
  const auto page =
      Ask<v1::GetDatasetResponse>(kGet, Token("granted", access::Role::kTrainer), request);
  EXPECT_EQ(page.dataset().ledger_size(), 0);
  EXPECT_EQ(granted.dataset().epsilon_left_nanos(), owner.dataset().epsilon_left_nanos());
  EXPECT_EQ(granted.dataset().owner(), "a");
}

v1::SealedReports OneReport() {
  v1::SealedReports reports;
  reports.set_study("studies/a-1");
  reports.set_fingerprint(std::string(32, 'f'));
  reports.add_reports()->set_ticket("t");
  return reports;
}

TEST_F(OwnersTest, ReportsToAStudyThatIsHiddenAreThoseOfNoStudy) {
  const auto outcome = [&](const char* path, const std::string& name) {
    const std::string token = Token(name, access::Role::kDevice);
    const auto keys = Ask<v1::GetCuratorKeysResponse>("/coppice.v1.StudyService/GetCuratorKeys",
                                                      token, v1::GetCuratorKeysRequest());
    const coppice::testing::SealedReportsCall call(coppice::testing::DirectKeyOf(keys),
                                                   OneReport());
    const auto response = Ask<v1::SubmitReportsResponse>(path, token, call.request());
    return call.Outcomes(response).value_or(std::vector<int>{0}).at(0);
  };
  for (const char* path :
       {"/coppice.v1.ReportService/SubmitReports", "/coppice.v1.ReportService/StreamReports"}) {
    EXPECT_EQ(outcome(path, "b"), v1::REPORT_OUTCOME_UNKNOWN_STUDY) << path;
    EXPECT_EQ(outcome(path, "a"), v1::REPORT_OUTCOME_STALE_FINGERPRINT) << path;
    EXPECT_EQ(outcome(path, "plain"), v1::REPORT_OUTCOME_STALE_FINGERPRINT) << path;
  }
}

v1::CreateDatasetRequest NewDataset(const std::string& id) {
  v1::CreateDatasetRequest request;
  request.set_request_id("make " + id);
  request.set_dataset_id(id);
  *request.mutable_schema() = ToProto(*coppice::testing::CentralSchema());
  request.mutable_cap()->set_epsilon_nanos(coppice::testing::kEpsilon);
  request.mutable_cap()->set_composition(v1::COMPOSITION_BASIC);
  request.mutable_cap()->set_neighbours(v1::NEIGHBOURS_ADD_OR_REMOVE_ROW);
  return request;
}

TEST_F(OwnersTest, WhoMakesAThingOwnsItAndRequestIdsAreEachOwnersOwn) {
  v1::CreateDatasetRequest request = NewDataset("");
  request.set_request_id("request of a-1");  // "a" used the same
  const auto made = Ask<v1::CreateDatasetResponse>("/coppice.v1.DatasetService/CreateDataset",
                                                   Token("b", access::Role::kTrainer), request);
  EXPECT_EQ(made.dataset().owner(), "b");
  EXPECT_NE(made.dataset().name(), "datasets/a-1");
}

TEST_F(OwnersTest, TicketsOfAllStudiesOfAnOwnerShareItsQuota) {
  curator::StudySpec second = Spec("a-2");
  second.owner = "a";
  ASSERT_OK(studies_->Create(second).status());
  WritePolicy(StrReplaceAll(
      Policy(), {{R"({"tokens")", R"({"quotas":{"a":{"tickets_per_second":1}},"tokens")"}}));
  ASSERT_OK(access_->ReloadPolicy());
  const auto ask = [&](const char* study, uint32_t tickets) {
    v1::GetOfferRequest request;
    request.set_name(study);
    request.set_tickets(tickets);
    request.set_whole_forest(true);
    return Call("/coppice.v1.StudyService/GetOffer",
                {"Bearer " + Token("a", access::Role::kDevice)}, request.SerializeAsString());
  };
  EXPECT_TRUE(ask("studies/a-1", 8).ok());  // ten are allowed at once
  EXPECT_TRUE(ask("studies/a-2", 2).ok());
  const grpc::Status refused = ask("studies/a-2", 9);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("tickets of this study's owner"));
}

// Every call shows the certificate of "b", a trainer of the resources of "b", beside the tokens.
class TwoCredentialsTest : public OwnersTest {
 protected:
  void SetUp() override {
    Serve(Policy(StrCat(R"({"name":"b","role":"trainer","resources":["*/b-*"],"sha256":")",
                        Hex(*CertificateSha256(client_.certificate_pem)), "\"}")),
          /*mutual=*/true);
    MakeResources();
  }
  std::vector<std::string> TokenOf(const std::string& name, access::Role role) const {
    return {"Bearer " + Token(name, role)};
  }
};

TEST_F(TwoCredentialsTest, TheRoleOfOneDoesNothingOnWhatTheOtherOwns) {
  ForEachGuarded([&](const access::Method& method, access::Role role) {
    if (role != access::Role::kTrainer || method.roles.Has(access::Role::kDevice)) return;
    const std::string request = RequestOn(method, "a-1");
    const std::string path(method.path);
    const grpc::Status certificate = Call(path, {}, request);
    const grpc::Status both = Call(path, TokenOf("a", access::Role::kDevice), request);
    EXPECT_FALSE(both.ok()) << path;
    EXPECT_EQ(both.error_code(), certificate.error_code()) << path;
    EXPECT_EQ(both.error_message(), certificate.error_message()) << path;
    if (HttpMethod::Find(path).descriptor->client_streaming()) return;
    for (const http::Encoding encoding : {http::Encoding::kJson, http::Encoding::kProto}) {
      EXPECT_EQ(CallHttp(encoding, path, TokenOf("a", access::Role::kDevice), request).error_code(),
                certificate.error_code())
          << path;
    }
  });
}

TEST_F(TwoCredentialsTest, ListsShowWhatOneOfThemWouldShow) {
  const std::string device = Token("a", access::Role::kDevice);
  EXPECT_EQ(Ask<v1::ListModelsResponse>("/coppice.v1.ModelService/ListModels", device,
                                        v1::ListModelsRequest())
                .models_size(),
            0);
  EXPECT_EQ(Ask<v1::ListJobsResponse>("/coppice.v1.TrainingService/ListJobs", device,
                                      v1::ListJobsRequest())
                .jobs_size(),
            0);
  const auto granted = Ask<v1::ListDatasetsResponse>("/coppice.v1.DatasetService/ListDatasets",
                                                     Token("granted", access::Role::kTrainer),
                                                     v1::ListDatasetsRequest());
  ASSERT_EQ(granted.datasets_size(), 1);
  EXPECT_TRUE(granted.datasets(0).rows_hidden());
}

TEST_F(TwoCredentialsTest, TheFirstThatAllowsACallOwnsWhatItMakes) {
  constexpr char kCreate[] = "/coppice.v1.DatasetService/CreateDataset";
  const auto owner = [&](const std::string& token, const std::string& id) {
    return Ask<v1::CreateDatasetResponse>(kCreate, token, NewDataset(id)).dataset().owner();
  };
  EXPECT_EQ(owner(Token("a", access::Role::kDevice), "b-2"), "b") << "no device makes datasets";
  EXPECT_EQ(owner(Token("a", access::Role::kTrainer), "a-2"), "a") << "the token's comes first";
  const grpc::Status refused =
      Call(kCreate, TokenOf("a", access::Role::kTrainer), NewDataset("b-3").SerializeAsString());
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED)
      << "\"a\" would own what only \"b\" may name";
}

TEST_F(TwoCredentialsTest, TheAuditLogNamesTheOneThatAllowedTheCall) {
  ASSERT_OK(coppice::testing::MakeDataset(*datasets_, [] {
    central::DatasetSpec spec = coppice::testing::SpecOf("b-4");
    spec.owner = "b";
    return spec;
  }()));
  v1::DeleteDatasetRequest request;
  request.set_name("datasets/b-4");
  ASSERT_TRUE(Call("/coppice.v1.DatasetService/DeleteDataset", TokenOf("a", access::Role::kTrainer),
                   request.SerializeAsString())
                  .ok());
  audit_seconds_ += 24 * 60 * 60;  // the entry waits for the end of its day
  ASSERT_OK_AND_ASSIGN(const v1::ReadAuditLogResponse log, audit_->Read(0, 0));
  std::vector<std::string> actors;
  for (const v1::AuditEntry& entry : log.entries()) {
    if (entry.action() == "DatasetService/DeleteDataset") actors.push_back(entry.actor());
  }
  EXPECT_EQ(actors, std::vector<std::string>{"b"});
}

TEST_F(OwnersTest, NamesThatAPatternKeepsAreNobodyElsesToGive) {
  v1::SetServingModelRequest request;
  request.set_endpoint("endpoints/b-live");
  request.set_model("models/a-1");
  const grpc::Status refused =
      Call("/coppice.v1.ModelService/SetServingModel",
           {"Bearer " + Token("a", access::Role::kAdmin)}, request.SerializeAsString());
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("endpoints/b-live is not a name that the policy"));
  v1::SubmitJobRequest job;  // its model would get the job's name
  job.mutable_spec()->set_dataset("datasets/a-1");
  job.set_job_id("b-1");
  EXPECT_EQ(Call("/coppice.v1.TrainingService/SubmitJob",
                 {"Bearer " + Token("a", access::Role::kTrainer)}, job.SerializeAsString())
                .error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
}

}  // namespace
}  // namespace coppice::daemon
