// A relay between a curator in this process, which records what it is sent, and devices that the
// test plays. The test sets the time and the deals' names.

#ifndef COPPICE_TESTS_SERVER_RELAY_DEALING_RELAY_FIXTURE_H_
#define COPPICE_TESTS_SERVER_RELAY_DEALING_RELAY_FIXTURE_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/encrypt/report_seal.h"
#include "common/wire/calls.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "common/wire/proto/packed_forest.h"
#include "coppice/v1/batch.grpc.pb.h"
#include "coppice/v1/relay.pb.h"
#include "coppice/v1/study.grpc.pb.h"
#include "server/relay/dealing/relay.h"
#include "tests/support/full_tree.h"
#include "tests/support/schemas.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::relay::testing {

using ::coppice::testing::TempDir;

inline constexpr uint32_t kPayloadBytes = 4;
inline constexpr size_t kCiphertextBytes = 2 + kPayloadBytes + seal::kTagBytes;
inline constexpr int64_t kStart = 1'800'000'000;

inline SigningKey KeyOf(uint8_t number) {
  SigningKey::Seed seed{};
  seed.fill(number);
  return *SigningKey::FromSeed(seed);
}

// Trees of four sizes.
inline Forest RelayedForest(const Schema& schema) {
  Forest forest;
  for (uint32_t tree = 0; tree < 8; ++tree) {
    forest.push_back(coppice::testing::FullTree(1 + tree % 4, schema));
  }
  return forest;
}

inline Terms RelayedTerms() {
  Terms terms{.study = "wells",
              .schema = std::make_shared<const Schema>(
                  *Schema::Create({coppice::testing::Numeric("x", 0, 10)}, "y", {"no", "yes"})),
              .epsilon = *Budget::FromEpsilon(4),
              .mechanism = MechanismKind::kDirect};
  const PackedForest packed = PackForest(RelayedForest(*terms.schema));
  terms.trees = static_cast<uint32_t>(packed.trees.size());
  terms.forest_root = packed.merkle.root;
  return terms;
}

inline Manifest RelayedManifest(const Terms& terms) {
  return {.study = terms.study,
          .fingerprint = FingerprintOf(SerializeTerms(terms)),
          .epsilon = terms.epsilon,
          .mechanism = terms.mechanism,
          .expires_unix_seconds = kStart + 30 * 86400,
          .min_reports = 10,
          .sequence = 2,
          .issued_unix_seconds = 1000,
          .public_features = terms.num_public_features(),
          .sealing = ManifestSealing{
              .suite = 1, .key = {7}, .min_batch = 3, .payload_bytes = kPayloadBytes}};
}

inline SignedManifest SignManifest(const SigningKey& key, Manifest manifest,
                                   KeyChain endorsements = {}) {
  manifest.key = KeyIdOf(key.public_key());
  std::string bytes = WriteManifest(manifest);
  const Signature signature = *key.Sign(kManifestDomain, bytes);
  return {std::move(bytes), signature, key.public_key(), std::move(endorsements)};
}

// Ticket `number` of those that the fake curator gives.
inline std::string TicketNumber(uint64_t number) {
  const Sha256Digest digest = Sha256({"ticket", StrCat(number)});
  return {digest.begin(), digest.end()};
}

class FakeOffers final : public v1::StudyService::Service {
 public:
  grpc::Status GetOffer(grpc::ServerContext* context, const v1::GetOfferRequest* request,
                        v1::GetOfferResponse* response) override {
    ++calls;
    if (!failure.ok()) {
      if (!pushback.empty()) context->AddTrailingMetadata("grpc-retry-pushback-ms", pushback);
      return failure;
    }
    const std::string bytes = SerializeTerms(terms);
    const Fingerprint fingerprint = FingerprintOf(bytes);
    response->set_fingerprint(std::string(fingerprint.begin(), fingerprint.end()));
    if (request->known_fingerprint() != response->fingerprint()) {
      response->set_terms(bytes);
      const PackedForest packed = PackForest(RelayedForest(*terms.schema));
      for (const std::string& tree : packed.trees) response->add_forest(tree);
    }
    for (uint32_t i = 0; i < request->tickets(); ++i) {
      response->add_tickets(TicketNumber(next_ticket++));
    }
    const Sha256Digest known = Sha256({manifest.bytes});
    if (request->known_manifest() != std::string(known.begin(), known.end())) {
      *response->mutable_manifest() = ToProto(manifest);
    }
    tamper(*response);
    return grpc::Status::OK;
  }

  Terms terms = RelayedTerms();
  SignedManifest manifest = SignManifest(KeyOf(1), RelayedManifest(terms));
  std::function<void(v1::GetOfferResponse&)> tamper = [](v1::GetOfferResponse&) {};
  grpc::Status failure = grpc::Status::OK;
  std::string pushback;  // milliseconds, with a failure
  uint64_t next_ticket = 0;
  int calls = 0;
};

// Keeps batches as docs/relay.md says the curator does.
class FakeBatches final : public v1::SealedReportService::Service {
 public:
  grpc::Status DeliverBatch(grpc::ServerContext*, const v1::DeliverBatchRequest* request,
                            v1::DeliverBatchResponse* response) override {
    ++calls;
    requests.push_back(request->SerializeAsString());
    if (!failure.ok()) return failure;
    std::vector<std::string>& batch = batches[request->header()];
    const size_t reports = request->tickets().size() / 32;
    const size_t bytes = reports == 0 ? 0 : request->ciphertexts().size() / reports;
    if (reports > 0 && !part_failure.ok()) return part_failure;
    if (request->first_report() == batch.size()) {
      for (size_t i = 0; i < reports; ++i) {
        batch.push_back(request->tickets().substr(32 * i, 32) +
                        request->encapsulated().substr(32 * i, 32) +
                        request->ciphertexts().substr(bytes * i, bytes));
      }
    }
    const BatchHeader header = *ReadBatchHeader(request->header());
    response->set_received(batch.size());
    response->set_state(batch.size() == header.reports ? at_the_end : v1::BATCH_STATE_RECEIVING);
    return lose_answers > 0 && lose_answers-- > 0
               ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the line is cut")
               : grpc::Status::OK;
  }

  // By header, the reports that came, in order.
  std::map<std::string, std::vector<std::string>> batches;
  std::vector<std::string> requests;
  grpc::Status failure = grpc::Status::OK;
  grpc::Status part_failure = grpc::Status::OK;  // for calls with reports
  v1::BatchState at_the_end = v1::BATCH_STATE_STORED;
  int lose_answers = 0;
  int calls = 0;
};

struct FakeCurator {
  explicit FakeCurator(
      std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", std::move(credentials), &port);
    builder.RegisterService(&offers);
    builder.RegisterService(&batches);
    server = builder.BuildAndStart();
  }
  std::string address() const { return StrCat("127.0.0.1:", port); }

  FakeOffers offers;
  FakeBatches batches;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

// What a device has been offered.
struct Offered {
  std::string epoch;
  v1::RelayedOffer offer;
};

// The report follows from the ticket, whichever device has it.
inline SealedReport ReportFor(const v1::RelayedOffer& offer, std::string_view kind = "") {
  const Sha256Digest bytes = Sha256({"report", offer.ticket(), kind});
  const std::string text(bytes.begin(), bytes.end());
  return {.ticket = offer.ticket(),
          .claim = offer.claim(),
          .encapsulated = text,
          .ciphertext = text.substr(0, kCiphertextBytes)};
}

// Opens the envelope; fails the test unless zeros follow the offer.
inline v1::RelayedOffer OpenEnvelope(const std::string& envelope) {
  size_t length = 0;
  for (size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<uint8_t>(envelope[i]);
  v1::RelayedOffer offer;
  EXPECT_TRUE(offer.ParseFromString(envelope.substr(4, length)));
  EXPECT_EQ(envelope.substr(4 + length), std::string(envelope.size() - 4 - length, '\0'));
  return offer;
}

class RelayTest : public ::testing::Test {
 protected:
  RelayTest() {
    options_ = {.data_dir = dir_.path(),
                .studies = {"wells"},
                .curator_key = KeyOf(1).public_key(),
                .tickets = 12,
                .min_batch = 0,
                .deal_for = absl::Hours(12),
                .collect_for = absl::Hours(24)};
    now_ = absl::FromUnixSeconds(kStart);
    seams_ = {.now = [this] { return now_; },
              .draw_epoch = [this]() -> StatusOr<EpochId> {
                return EpochId{static_cast<uint8_t>(++epochs_)};
              },
              .log = [this](const RelayEvent& event) { events_.push_back(event.text); },
              .threads = false};
  }

  Status TryOpen() {
    relay_.reset();
    StatusOr<std::unique_ptr<CuratorCalls>> calls =
        MakeCuratorCalls({.server = curator_.address(), .insecure = true}, absl::Minutes(2));
    if (!calls.ok()) return calls.status();
    auto opened = Relay::Open(options_, key_, *std::move(calls), seams_);
    if (opened.ok()) relay_ = *std::move(opened);
    return opened.status();
  }
  // Also works after a crash: destroyed objects write only what they have promised.
  void Open() { ASSERT_OK(TryOpen()); }

  // Calls Step() until nothing is due; returns the time of the next step.
  absl::Time Work() {
    absl::Time next = now_;
    for (int i = 0; i < 10000 && next <= now_; ++i) next = relay_->Step();
    EXPECT_GT(next, now_);
    return next;
  }
  void OpenDeal() {
    Open();
    Work();
    ASSERT_OK(relay_->Ready());
  }
  void Advance(absl::Duration duration) { now_ += duration; }

  v1::GetRelayTermsResponse Answer() {
    v1::GetRelayTermsResponse answer;
    const auto bytes = relay_->Terms("studies/wells");
    EXPECT_OK(bytes);
    EXPECT_TRUE(bytes.ok() && answer.ParseFromString(**bytes));
    return answer;
  }
  RelayTerms Promised() { return *ReadRelayTerms(Answer().relay_terms()); }
  std::string OpenEpoch() {
    const RelayTerms terms = Promised();
    return {terms.epoch.begin(), terms.epoch.end()};
  }

  StatusOr<Offered> Take() {
    const std::string epoch = OpenEpoch();
    const auto admit = [](const EpochId&) { return OkStatus(); };
    const auto envelope = relay_->TakeOffer("studies/wells", epoch, admit);
    if (!envelope.ok()) return envelope.status();
    return Offered{epoch, OpenEnvelope(*envelope)};
  }
  std::vector<Offered> TakeAll() {
    std::vector<Offered> all;
    for (auto offered = Take(); offered.ok(); offered = Take()) all.push_back(*offered);
    return all;
  }

  SubmitOutcome Submit(const std::string& epoch, SealedReport report) {
    std::promise<StatusOr<SubmitOutcome>> done;
    relay_->Submit(epoch, std::move(report),
                   [&](StatusOr<SubmitOutcome> outcome) { done.set_value(outcome); });
    const StatusOr<SubmitOutcome> outcome = done.get_future().get();
    EXPECT_OK(outcome);
    return outcome.value_or(SubmitOutcome::kUnknown);
  }
  SubmitOutcome Submit(const Offered& offered) {
    return Submit(offered.epoch, ReportFor(offered.offer));
  }
  // Submits all at once, so that many share a sync.
  void SubmitAll(const std::vector<Offered>& all) {
    std::vector<std::future<StatusOr<SubmitOutcome>>> outcomes;
    for (const Offered& offered : all) {
      auto done = std::make_shared<std::promise<StatusOr<SubmitOutcome>>>();
      outcomes.push_back(done->get_future());
      relay_->Submit(offered.epoch, ReportFor(offered.offer),
                     [done](StatusOr<SubmitOutcome> outcome) { done->set_value(outcome); });
    }
    for (auto& outcome : outcomes) EXPECT_EQ(*outcome.get(), SubmitOutcome::kStored);
  }

  const std::vector<std::string>& OnlyBatch() {
    static const std::vector<std::string> kNone;
    EXPECT_EQ(curator_.batches.batches.size(), 1u);
    return curator_.batches.batches.empty() ? kNone : curator_.batches.batches.begin()->second;
  }
  std::string EpochFolders() const { return dir_.path() + "/studies/wells/epochs"; }
  StudyTotals Totals() { return relay_->totals()[0]; }

  TempDir dir_;
  FakeCurator curator_;
  absl::Time now_;
  int epochs_ = 0;
  SigningKey key_ = KeyOf(9);
  RelayOptions options_;
  RelaySeams seams_;
  std::vector<std::string> events_;
  std::unique_ptr<Relay> relay_;
};

}  // namespace coppice::relay::testing

#endif  // COPPICE_TESTS_SERVER_RELAY_DEALING_RELAY_FIXTURE_H_
