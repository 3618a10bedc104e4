// A curator in this process, controlled by the test.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_FAKE_CURATOR_H_
#define COPPICE_TESTS_CLIENT_DEVICE_FAKE_CURATOR_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/device/grpc/connect.h"
#include "common/base/text.h"
#include "common/encrypt/direct_message.h"
#include "common/encrypt/sealing_key.h"
#include "common/terms/envelope.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "common/wire/proto/packed_forest.h"
#include "coppice/v1/report.grpc.pb.h"
#include "coppice/v1/study.grpc.pb.h"
#include "tests/client/device/sample_study.h"

namespace coppice::testing {

// Trees and paths of an offer have one length each.
inline constexpr size_t kFakeTreeBytes = 64;
inline constexpr size_t kFakePathBytes = 4 * 32 + 4;

// Tree t splits at x < t + 0.5.
inline Forest FakeForest() {
  Forest forest;
  for (uint32_t t = 0; t < 9; ++t) {
    const Node root{.kind = SplitKind::kNumeric, .threshold = t + 0.5, .left = 1, .right = 2};
    forest.push_back(*Tree::Create({root, Node{}, Node{}}, SampleSchema()));
  }
  return forest;
}

inline Terms FakeTerms() {
  Terms terms = SampleTerms();
  terms.trees = 9;
  terms.forest_root = PackForest(FakeForest()).merkle.root;
  return terms;
}

// The key that reports are sealed for.
inline seal::SealingKey FakeDirectKey() {
  seal::SealingKey::Secret secret{};
  secret.fill(11);
  return *seal::SealingKey::FromSecret(secret);
}
inline DirectKey FakeDirect() { return {.suite = 1, .key = FakeDirectKey().public_key()}; }

// The longest report about any tree of `terms`, whatever the row.
inline constexpr uint32_t kFakeReportBytes = 512;

// What an honest curator signs about `terms`.
inline Manifest FakeManifest(const Terms& terms) {
  return {.study = terms.study,
          .fingerprint = FingerprintOf(SerializeTerms(terms)),
          .epsilon = terms.epsilon,
          .mechanism = terms.mechanism,
          .expires_unix_seconds = 4'000'000'000,  // in 2096
          .min_reports = 100,
          .sequence = 2,
          .issued_unix_seconds = 1000,
          .public_features = terms.num_public_features(),
          .direct = DirectSealing{.key = FakeDirect(), .report_bytes = kFakeReportBytes}};
}

inline SignedManifest Sign(const SigningKey& key, Manifest manifest, KeyChain endorsements = {}) {
  manifest.key = KeyIdOf(key.public_key());
  std::string bytes = WriteManifest(manifest);
  const Signature signature = *key.Sign(kManifestDomain, bytes);
  return {std::move(bytes), signature, key.public_key(), std::move(endorsements)};
}

// Offers FakeTerms(), unless it is given others, and the tickets SampleTicket(0) and so on.
class FakeStudies final : public v1::StudyService::Service {
 public:
  // Offers a study with this forest, whose root becomes the terms'.
  void Offer(Terms with, const Forest& forest) {
    packed = PackForest(forest);
    terms = std::move(with);
    terms.forest_root = packed.merkle.root;
    manifest = Sign(FakeKey(), FakeManifest(terms));
  }

  grpc::Status GetOffer(grpc::ServerContext*, const v1::GetOfferRequest* request,
                        v1::GetOfferResponse* response) override {
    tokens.assign(request->submission_tokens().begin(), request->submission_tokens().end());
    const std::string bytes = SerializeTerms(terms);
    const Fingerprint fingerprint = FingerprintOf(bytes);
    response->set_fingerprint(std::string(fingerprint.begin(), fingerprint.end()));
    if (request->known_fingerprint() != response->fingerprint()) response->set_terms(bytes);
    for (uint32_t i = 0; i < request->tickets(); ++i) {
      response->add_tickets(SampleTicket(static_cast<uint8_t>(i)).ToBytes());
    }
    const bool is_known = request->known_fingerprint() == response->fingerprint();
    if (!request->whole_forest()) {
      const uint32_t tree = TreeOfTicket(SampleTicket(0), terms.trees);
      response->set_tree(MakeEnvelope(packed.trees[tree], kFakeTreeBytes));
      response->set_tree_path(MakeEnvelope(packed.merkle.paths[tree], kFakePathBytes));
    } else if (!is_known) {
      response->mutable_forest()->Assign(packed.trees.begin(), packed.trees.end());
    }
    *response->mutable_manifest() = ToProto(manifest);
    const Sha256Digest known = Sha256({manifest.bytes});
    if (request->known_manifest() == std::string(known.begin(), known.end())) {
      response->clear_manifest();
    }
    tamper(*response);
    return grpc::Status::OK;
  }

  grpc::Status GetCuratorKeys(grpc::ServerContext*, const v1::GetCuratorKeysRequest* request,
                              v1::GetCuratorKeysResponse* response) override {
    response->mutable_key()->assign(claimed.begin(), claimed.end());
    response->set_direct_suite(direct.suite);
    response->set_direct_key(std::string(direct.key.begin(), direct.key.end()));
    const Signature proof = *key.Sign(kCuratorDomain, ProvenBytes(request->challenge(), direct));
    response->mutable_proof()->assign(proof.begin(), proof.end());
    return grpc::Status::OK;
  }

  SigningKey key = FakeKey();
  PublicKey claimed = FakeKey().public_key();
  DirectKey direct = FakeDirect();

  // Applied to every answer; set by tests.
  std::function<void(v1::GetOfferResponse&)> tamper = [](v1::GetOfferResponse&) {};
  std::vector<std::string> tokens;  // of the last request
  Terms terms = FakeTerms();
  PackedForest packed = PackForest(FakeForest());
  SignedManifest manifest = Sign(FakeKey(), FakeManifest(FakeTerms()));
};

class FakeReports final : public v1::ReportService::Service {
 public:
  grpc::Status SubmitReports(grpc::ServerContext* context, const v1::SubmitReportsRequest* request,
                             v1::SubmitReportsResponse* response) override {
    auto opener = seal::RequestOpener::Create(seal::Aead::kAes128Gcm, FakeDirectKey());
    const auto opened = opener->Open(request->encapsulated(), request->ciphertext());
    if (!opened.ok()) return {grpc::StatusCode::FAILED_PRECONDITION, "it does not open"};
    requests.push_back(opened->content);
    if (static_cast<int>(requests.size()) <= failures) {
      if (!pushback.empty()) context->AddTrailingMetadata("grpc-retry-pushback-ms", pushback);
      return failure;
    }
    std::string bytes;
    for (const auto outcome : outcomes) bytes.push_back(static_cast<char>(outcome));
    response->set_sealed_outcomes(*seal::SealOutcomes(*opened, bytes));
    return grpc::Status::OK;
  }

  std::vector<std::string> requests;  // the SealedReports in them, opened
  int failures = 0;
  std::string pushback;  // in milliseconds, sent with a failure
  grpc::Status failure{grpc::StatusCode::UNAVAILABLE, "not now"};
  std::vector<v1::ReportOutcome> outcomes{v1::REPORT_OUTCOME_ACCEPTED};
};

class FakeCurator {
 public:
  explicit FakeCurator(
      std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port_);
    builder.RegisterService(&studies);
    builder.RegisterService(&reports);
    server_ = builder.BuildAndStart();
  }

  std::string address() const { return StrCat("127.0.0.1:", port_); }

  FakeStudies studies;
  FakeReports reports;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_FAKE_CURATOR_H_
