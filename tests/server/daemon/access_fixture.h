// The daemon's own server over TLS and a store in memory, behind a policy that the test writes.

#ifndef COPPICE_TESTS_SERVER_DAEMON_ACCESS_FIXTURE_H_
#define COPPICE_TESTS_SERVER_DAEMON_ACCESS_FIXTURE_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "common/base/text.h"
#include "server/daemon/transport/server.h"
#include "server/datasets/datasets.h"
#include "server/datasets/jobs.h"
#include "server/datasets/ledger/ledger.h"
#include "server/process/certificates.h"
#include "server/serving/access/access_control.h"
#include "server/serving/access/bearer_token.h"
#include "server/store/audit_log/audit_log.h"
#include "tests/client/device/certificates.h"
#include "tests/server/daemon/http_calls.h"
#include "tests/server/datasets/central_fixture.h"
#include "tests/support/http_client.h"
#include "tests/support/memory_store.h"
#include "tests/support/temp_dir.h"

namespace coppice::testing {

inline std::string Hex(const Sha256Digest& digest) {
  return BytesToHexString({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

// A daemon's server over an empty store in memory, with TLS.
class TlsServerTest : public ::testing::Test {
 protected:
  void Serve(const std::string& policy, bool mutual = false) {
    WritePolicy(policy);
    access_ = *access::AccessControl::Open(policy_path_, mutual);
    const auto clock = [] { return int64_t{1000}; };
    studies_ = *curator::Studies::Open(store_, models_, clock);
    endpoints_ = *models::Endpoints::Open(store_, models_, clock);
    audit_ = *audit::AuditLog::Open(
        store_, [this] { return audit_seconds_.load(); }, audit::kDaemonActor);
    audited_store_ = std::make_unique<audit::AuditedStore>(store_, *audit_);
    ledger_ = *ledger::Ledger::Open(*audited_store_, clock);
    datasets_ = *central::Datasets::Open(store_, *ledger_, clock);
    jobs_ = *central::Jobs::Open(store_, *ledger_, *datasets_, models_, {&trainer_}, clock,
                                 QuickOptions());
    StoreEvaluations();
    evaluations_ = *central::Evaluations::Open(store_, *ledger_, *datasets_, models_, clock);
    certificates_ = std::make_unique<Certificates>(
        TlsFiles{.certificate = certificate_.certificate_pem,
                 .key = certificate_.key_pem,
                 .client_ca = mutual ? client_.certificate_pem : ""});
    server_ = *daemon::DaemonServer::Start({.listen = "127.0.0.1:0",
                                            .http = http_,
                                            .certificates = certificates_.get(),
                                            .access = access_.get(),
                                            .limits = limits_},
                                           Curator());
    if (mutual) http_tls_ = {client_.certificate_pem, client_.key_pem};
    http_client_ = nullptr;
    grpc::SslCredentialsOptions options{.pem_root_certs = certificate_.certificate_pem,
                                        .pem_private_key = mutual ? client_.key_pem : "",
                                        .pem_cert_chain = mutual ? client_.certificate_pem : ""};
    channel_ =
        grpc::CreateChannel(StrCat("127.0.0.1:", server_->port()), grpc::SslCredentials(options));
  }
  // Stores evaluations that were made before the server starts.
  virtual void StoreEvaluations() {}
  // The parts that the server serves; call it after Serve().
  daemon::Curator Curator() {
    return {.studies = *studies_,
            .models = models_,
            .endpoints = *endpoints_,
            .datasets = *datasets_,
            .jobs = *jobs_,
            .evaluations = *evaluations_,
            .store = store_,
            .audit = audit_.get()};
  }
  void TearDown() override {
    trainer_.Let();
    if (server_ != nullptr) server_->Stop(absl::ZeroDuration());
  }
  void WritePolicy(const std::string& policy) const { std::ofstream(policy_path_) << policy; }

  // Makes a call of any method with one message. Endless streams end at the deadline.
  grpc::Status Call(const std::string& path, const std::vector<std::string>& authorizations,
                    const std::string& message = "", std::string* answer = nullptr) const {
    grpc::ClientContext context;
    const bool endless = EndsWith(path, "/Watch");
    context.set_deadline(std::chrono::system_clock::now() +
                         (endless ? std::chrono::milliseconds(500) : std::chrono::seconds(60)));
    for (const std::string& value : authorizations) context.AddMetadata("authorization", value);
    const grpc::Slice bytes(message);
    const grpc::ByteBuffer request(&bytes, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    grpc::GenericStub(channel_).UnaryCall(&context, path, {}, &request, &response,
                                          [&](grpc::Status status) { done.set_value(status); });
    const grpc::Status status = done.get_future().get();
    if (answer != nullptr && status.ok()) {
      grpc::Slice whole;
      EXPECT_TRUE(response.DumpToSingleSlice(&whole).ok());
      answer->assign(reinterpret_cast<const char*>(whole.begin()), whole.size());
    }
    return status;
  }
  grpc::StatusCode CallAs(const std::string& path, const std::string& token) const {
    return Call(path, {StrCat("Bearer ", token)}).error_code();
  }
  grpc::StatusCode CallAnonymously(const std::string& path) const {
    return Call(path, {}).error_code();
  }

  // Makes the same call over HTTP, by the Connect protocol. Messages and answers are protobuf here,
  // and are converted for JSON.
  grpc::Status CallHttp(http::Encoding encoding, const std::string& path,
                        const std::vector<std::string>& authorizations,
                        const std::string& message = "", std::string* answer = nullptr) {
    const HttpMethod method = HttpMethod::Find(path);
    HttpHeaders headers = {{"Content-Type", method.ContentType(encoding)}};
    for (const std::string& value : authorizations) headers.push_back({"Authorization", value});
    const HttpResponse response =
        http_client().Send("POST", path, headers, method.Request(encoding, message));
    return method.StatusOf(encoding, response, answer);
  }
  HttpClient& http_client() {
    if (http_client_ == nullptr) {
      http_client_ = std::make_unique<HttpClient>(server_->http_port(), &http_tls_);
    }
    return *http_client_;
  }

  const TempDir folder_;
  daemon::TransportLimits limits_{};  // of the server that Serve() starts
  daemon::HttpOptions http_{.listen = "127.0.0.1:0"};
  HttpTls http_tls_;
  const std::string policy_path_ = folder_.path() + "/policy.json";
  const Certificate certificate_ = MakeCertificate();
  const Certificate client_ = MakeCertificate();
  FakeTrainer trainer_;
  MemoryStore store_;
  models::Models models_;
  std::unique_ptr<access::AccessControl> access_;
  std::unique_ptr<curator::Studies> studies_;
  std::unique_ptr<models::Endpoints> endpoints_;
  std::atomic<int64_t> audit_seconds_{1000};  // the audit log's clock
  std::unique_ptr<audit::AuditLog> audit_;
  std::unique_ptr<audit::AuditedStore> audited_store_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<central::Datasets> datasets_;
  std::unique_ptr<central::Jobs> jobs_;
  std::unique_ptr<central::Evaluations> evaluations_;
  std::unique_ptr<Certificates> certificates_;
  std::unique_ptr<daemon::DaemonServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<HttpClient> http_client_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_DAEMON_ACCESS_FIXTURE_H_
