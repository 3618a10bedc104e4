// A curator that contradicts what it said about its study before, or does not sign it with its key.

#include "client/device/trust.h"

#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/device/c/coppice_device.h"
#include "client/device/grpc/grpc_carrier.h"
#include "client/device/journal_format.h"
#include "client/device/journal_store.h"
#include "client/device/run_session.h"
#include "common/base/status.h"
#include "common/privacy/openssl_random.h"
#include "common/wire/manifest.h"
#include "tests/client/device/c/scripted_curator.h"
#include "tests/client/device/fake_curator.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeCurator;
using ::coppice::testing::FakeKey;
using ::coppice::testing::FakeManifest;
using ::coppice::testing::FakeTerms;
using ::coppice::testing::Sign;
using ::coppice::testing::StatusIs;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kNow = 5000;
constexpr auto kRefused = StatusCode::kFailedPrecondition;
constexpr auto kBad = StatusCode::kDataLoss;

PublicKey Public(uint8_t number) { return FakeKey(number).public_key(); }
KeyEndorsement Step(uint8_t from, uint8_t to) {
  return *Endorse(FakeKey(from), Public(to), kNow - 10);
}

// What lies between the test and the device: the session over gRPC, or the C interface, whose
// bytes the test carries.
enum class Interface { kSession, kC };

class FixedClock final : public DeviceClock {
 public:
  explicit FixedClock(int64_t now) : now_(now) {}
  DeviceTime Now() override { return {.unix_seconds = now_}; }
  Status WaitUntil(int64_t) override { return OkStatus(); }

 private:
  const int64_t now_;
};

class TrustTest : public ::testing::TestWithParam<Interface> {
 protected:
  TrustTest() { OpenJournal(); }

  void OpenJournal() {
    journal_.reset();
    journal_ = *JournalStore::Open(dir_.path() + "/journal");
  }

  // Acts as a device that starts, fetches, and ends.
  Status Fetch() { return GetParam() == Interface::kC ? FetchInC() : FetchBySession(); }

  Status FetchBySession() {
    OpenJournal();
    const Policy policy{.max_epsilon = *Budget::FromEpsilon(4)};
    const RetryOptions once{.deadline = absl::Seconds(30), .give_up_after = absl::ZeroDuration()};
    GrpcCarrier carrier =
        *GrpcCarrier::ToCurator({.server = curator_->address(), .insecure = true}, once);
    OpenSslRandom random;
    DeviceSession session(
        {.policy = policy, .offers = policy_, .journal = journal_->journal(), .random = random},
        {.server = curator_->address(), .study = "sample"});
    FixedClock clock(now_);
    const Status run =
        RunSession(session, {.journal = *journal_, .carrier = carrier, .clock = clock},
                   [](size_t, const Terms&) { return LabelledRow(); });
    return run.ok() ? session.outcome().answer : run;
  }

  Status FetchInC() {
    journal_.reset();
    coppice_device_options options;
    coppice_device_options_init(&options);
    const std::string path = dir_.path() + "/journal";
    options.journal_path = path.c_str();
    if (policy_.curator_key.has_value()) options.curator_key = policy_.curator_key->data();
    options.require_pin = policy_.demand_pin ? 1 : 0;
    options.min_reports = policy_.min_reports;
    options.clock = [](void* now) { return *static_cast<int64_t*>(now); };
    options.clock_context = &now_;
    coppice_device* device = nullptr;
    coppice_error error{};
    if (coppice_device_open(&options, &device, &error) == COPPICE_OK) {
      VisitInC(device, error);
      coppice_device_close(device);
    }
    return Status(static_cast<StatusCode>(error.code), error.text);
  }

  // Takes the offer, and is not OK unless its review is called, which declines.
  void VisitInC(coppice_device* device, coppice_error& error) {
    bool admitted = false;
    coppice_visit_options options;
    coppice_visit_options_init(&options);
    const std::string address = curator_->address();
    options.curator = address.c_str();
    options.study = "sample";
    options.context = &admitted;
    options.review = [](void* was_asked, const coppice_terms*) {
      *static_cast<bool*>(was_asked) = true;
      return 0;
    };
    options.read_row = [](void*, const coppice_terms*, coppice_row*) { FAIL() << "declined"; };
    coppice_visit* visit = nullptr;
    ASSERT_EQ(coppice_visit_open(device, &options, &visit, &error), COPPICE_OK) << error.text;
    auto call = testing::Sized<coppice_call>();
    ASSERT_EQ(coppice_visit_next(visit, &call, &error), COPPICE_OK);
    v1::GetOfferRequest request;
    ASSERT_TRUE(request.ParseFromArray(call.request, static_cast<int>(call.request_size)));
    v1::GetOfferResponse response;
    ASSERT_TRUE(curator_->studies.GetOffer(nullptr, &request, &response).ok());
    const std::string bytes = response.SerializeAsString();
    coppice_visit_take(visit, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), &error);
    coppice_visit_close(visit);
    if (admitted) error = {};
  }

  // The curator signs with key `number` what it says after `change`.
  void Say(const std::function<void(Manifest&)>& change, uint8_t number = 1, KeyChain chain = {}) {
    Manifest manifest = FakeManifest(FakeTerms());
    change(manifest);
    curator_->studies.manifest = Sign(FakeKey(number), manifest, std::move(chain));
  }
  void SignWith(uint8_t number, KeyChain chain = {}) {
    Say([](Manifest&) {}, number, std::move(chain));
  }
  void Tamper(std::function<void(v1::SignedManifest&)> tamper) {
    curator_->studies.tamper = [tamper](v1::GetOfferResponse& response) {
      tamper(*response.mutable_manifest());
    };
  }

  // Returns the number of records in the journal after the first one, its owner's choice.
  size_t JournalRecords() const {
    std::ifstream file(dir_.path() + "/journal", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    std::string_view left = std::string_view(bytes).substr(JournalHeader().size());
    FrameDigest last = FirstFrameDigest();
    size_t records = 0;
    for (; !left.empty(); ++records) {
      const ParsedFrame frame = *ParseFrame(last, left);
      last = frame.digest;
      left.remove_prefix(frame.size);
    }
    return records - 1;
  }

  TempDir dir_;
  OfferPolicy policy_;
  int64_t now_ = kNow;
  std::unique_ptr<FakeCurator> curator_ = std::make_unique<FakeCurator>();
  std::unique_ptr<JournalStore> journal_;
};

TEST_P(TrustTest, ThePinnedKeyIsAccepted) {
  policy_ = {.curator_key = Public(1), .demand_pin = true};
  EXPECT_OK(Fetch());
  EXPECT_OK(Fetch());
}

TEST_P(TrustTest, AnotherKeyThanThePinnedOneIsRefused) {
  policy_.curator_key = Public(2);
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("has not endorsed")));
}

TEST_P(TrustTest, WithoutAPinTheFirstKeyIsRememberedAndAnotherRefused) {
  EXPECT_OK(Fetch());
  SignWith(2);
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("has not endorsed")));
  SignWith(1);
  EXPECT_OK(Fetch());
}

TEST_P(TrustTest, TheStudysKeyIsRememberedWhereverTheCuratorMoves) {
  EXPECT_OK(Fetch());
  curator_ = std::make_unique<FakeCurator>();
  SignWith(2);
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("has not endorsed")));
  SignWith(1);
  EXPECT_OK(Fetch());
}

TEST_P(TrustTest, AStudyAtTwoAddressesIsWrittenDownOnceForEach) {
  std::unique_ptr<FakeCurator> other = std::make_unique<FakeCurator>();
  std::vector<size_t> records;
  for (int fetch = 0; fetch < 6; ++fetch) {
    EXPECT_OK(Fetch());
    records.push_back(JournalRecords());
    std::swap(curator_, other);
  }
  EXPECT_THAT(records, ElementsAre(1, 2, 2, 2, 2, 2));
  // Changes are written down, at whichever address the study is met.
  Say([](Manifest& m) { m.sequence = 3; });
  EXPECT_OK(Fetch());
  EXPECT_EQ(JournalRecords(), 3u);
  std::swap(curator_, other);
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("is older")));
  Say([](Manifest& m) { m.sequence = 3; });
  EXPECT_OK(Fetch());
  EXPECT_EQ(JournalRecords(), 3u);
  // So is another root of trust, though the manifest is the same.
  policy_.curator_key = Public(2);
  Say([](Manifest& m) { m.sequence = 3; }, 2);
  EXPECT_OK(Fetch());
  EXPECT_EQ(JournalRecords(), 4u);
}

TEST_P(TrustTest, ADeviceThatDemandsAPinTrustsNoFirstUse) {
  EXPECT_OK(Fetch());
  policy_.demand_pin = true;
  if (GetParam() == Interface::kC) {  // refuses before anything is fetched
    EXPECT_THAT(Fetch(),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("curator_key must be set")));
  } else {
    EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("pinned")));
  }
}

TEST_P(TrustTest, AnEndorsedKeyIsAcceptedAndTheOldOneThenRefused) {
  policy_.curator_key = Public(1);
  EXPECT_OK(Fetch());
  SignWith(3, {Step(1, 2), Step(2, 3)});
  EXPECT_OK(Fetch());
  SignWith(1);
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("has not endorsed")));
  // A stolen old key cannot lead a device that has left it behind.
  SignWith(4, {Step(1, 4)});
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("has not endorsed")));
  SignWith(4, {Step(2, 4)});
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("has not endorsed")));
  SignWith(4, {Step(1, 2), Step(2, 3), Step(3, 4)});
  EXPECT_OK(Fetch());
}

TEST_P(TrustTest, AnotherPinStartsAnewAndStudiesKeepTheirPromises) {
  policy_.curator_key = Public(1);
  EXPECT_OK(Fetch());
  policy_.curator_key = Public(2);
  SignWith(2);
  EXPECT_OK(Fetch());
  Say([](Manifest& m) { m.sequence = 3, m.min_reports = 1; }, 2);
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("fewer reports")));
}

TEST_P(TrustTest, AForgedEndorsementIsRefused) {
  policy_.curator_key = Public(1);
  KeyEndorsement forged = *Endorse(FakeKey(2), Public(2), 0);
  forged.endorser = KeyIdOf(Public(1));
  SignWith(2, {forged});
  EXPECT_THAT(Fetch(), StatusIs(kBad, HasSubstr("does not check")));
}

TEST_P(TrustTest, NineEndorsementsAreRefused) {
  SignWith(1, KeyChain(9, Step(1, 2)));
  EXPECT_THAT(Fetch(), StatusIs(kBad, HasSubstr("at most 8")));
}

TEST_P(TrustTest, ABadSignatureIsRefused) {
  Tamper([](v1::SignedManifest& m) { (*m.mutable_signature())[10] ^= 1; });
  EXPECT_THAT(Fetch(), StatusIs(kBad, HasSubstr("signature that does not check")));
  Tamper([](v1::SignedManifest& m) { m.mutable_manifest()->back() ^= 1; });
  EXPECT_THAT(Fetch(), StatusIs(kBad, HasSubstr("signature that does not check")));
  Tamper([](v1::SignedManifest& m) {  // with the pin's key and somebody else's signature
    m = ToProto(Sign(FakeKey(2), FakeManifest(FakeTerms())));
    const PublicKey key = Public(1);
    m.mutable_key()->assign(key.begin(), key.end());
  });
  EXPECT_THAT(Fetch(), StatusIs(kBad, HasSubstr("signature that does not check")));
}

TEST_P(TrustTest, ASignatureOfAnotherKindIsRefused) {
  const std::string bytes = curator_->studies.manifest.bytes;
  curator_->studies.manifest.signature = *FakeKey().Sign(kEndorsementDomain, bytes);
  EXPECT_THAT(Fetch(), StatusIs(kBad, HasSubstr("signature that does not check")));
}

TEST_P(TrustTest, NoManifestIsRefused) {
  curator_->studies.tamper = [](v1::GetOfferResponse& response) { response.clear_manifest(); };
  EXPECT_THAT(Fetch(), StatusIs(kBad, HasSubstr("is missing")));
}

// All of them are signed, so that only the parser stands between them and the device.
TEST_P(TrustTest, AMalformedOrOversizedManifestIsRefused) {
  const std::string good = curator_->studies.manifest.bytes;
  for (const std::string& bytes : {std::string(), std::string("x"), good.substr(0, 50),
                                   good + std::string("\x78\x01", 2), std::string(200, '\xff')}) {
    curator_->studies.manifest.bytes = bytes;
    curator_->studies.manifest.signature = *FakeKey().Sign(kManifestDomain, bytes);
    EXPECT_THAT(Fetch(), StatusIs(kBad, HasSubstr("is bad")));
  }
  for (const size_t size : {size_t{257}, size_t{1} << 20}) {
    Tamper([size](v1::SignedManifest& m) { m.set_manifest(std::string(size, 'x')); });
    EXPECT_THAT(Fetch(), StatusIs(kBad, HasSubstr("at most 256")));
  }
}

TEST_P(TrustTest, AManifestThatNamesAnotherKeyIsRefused) {
  Manifest manifest = FakeManifest(FakeTerms());
  manifest.key = KeyIdOf(Public(2));
  SignedManifest& sent = curator_->studies.manifest;
  sent.bytes = WriteManifest(manifest);
  sent.signature = *FakeKey().Sign(kManifestDomain, sent.bytes);
  EXPECT_THAT(Fetch(), StatusIs(kBad, HasSubstr("names another key")));
}

TEST_P(TrustTest, AManifestOfAnotherStudyIsRefused) {
  Say([](Manifest& m) { m.study = "another"; });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("another study")));
}

TEST_P(TrustTest, AManifestOfOtherTermsIsRefused) {
  Say([](Manifest& m) { m.fingerprint[0] ^= 1; });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("about other terms")));
  Say([](Manifest& m) { m.epsilon = *Budget::FromEpsilon(1); });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("not about the terms")));
  Say([](Manifest& m) { m.mechanism = MechanismKind::kLaplaceJoint; });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("not about the terms")));
}

TEST_P(TrustTest, AnExpiredManifestIsRefusedByTheDevicesClock) {
  Say([](Manifest& m) { m.expires_unix_seconds = kNow; });
  now_ = kNow - 1;
  EXPECT_OK(Fetch());
  now_ = kNow;
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("has expired")));
}

TEST_P(TrustTest, FewerReportsThanTheDeviceWantsAreRefused) {
  policy_.min_reports = 100;
  EXPECT_OK(Fetch());
  policy_.min_reports = 101;
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("at least 101")));
}

// Both interfaces talk to the curator directly.
TEST_P(TrustTest, AStudyThatTakesReportsFromItsRelayIsRefusedInWords) {
  Say([](Manifest& m) {
    m.direct.reset();
    m.sealing = ManifestSealing{.suite = 1, .key = {7}, .min_batch = 1000, .payload_bytes = 64};
  });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("from its relay alone")));
  SignWith(1);
  EXPECT_OK(Fetch());  // it was not remembered
}

TEST_P(TrustTest, WhatLoosensIsRefusedAfterARestartToo) {
  Say([](Manifest& m) { m.expires_unix_seconds = 9000; });
  EXPECT_OK(Fetch());
  Say([](Manifest& m) { m.sequence = 3, m.expires_unix_seconds = 9001; });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("expires later")));
  Say([](Manifest& m) { m.sequence = 3, m.expires_unix_seconds = 0; });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("expires later")));
  Say([](Manifest& m) { m.sequence = 3, m.min_reports = 99, m.expires_unix_seconds = 9000; });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("fewer reports")));
  Say([](Manifest& m) { m.sequence = 1, m.expires_unix_seconds = 9000; });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("is older")));
  Say([](Manifest& m) { m.min_reports = 101, m.expires_unix_seconds = 9000; });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("same sequence")));
}

TEST_P(TrustTest, WhatTightensIsAcceptedAndIsTheMeasureFromThenOn) {
  EXPECT_OK(Fetch());
  Say([](Manifest& m) { m.sequence = 3, m.min_reports = 200; });
  EXPECT_OK(Fetch());
  Say([](Manifest& m) { m.sequence = 4, m.min_reports = 150; });
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("fewer reports")));
}

// The same id with other terms, properly signed: a larger epsilon than the device saw before.
TEST_P(TrustTest, AStudyThatIsMadeAnewIsRefused) {
  EXPECT_OK(Fetch());
  curator_->studies.tamper = [](v1::GetOfferResponse& response) {
    Terms terms = FakeTerms();
    terms.epsilon = *Budget::FromEpsilon(4);
    response.set_terms(SerializeTerms(terms));
    const Fingerprint fingerprint = FingerprintOf(response.terms());
    response.set_fingerprint(std::string(fingerprint.begin(), fingerprint.end()));
    Manifest manifest = FakeManifest(terms);
    manifest.sequence = 9;
    *response.mutable_manifest() = ToProto(Sign(FakeKey(), manifest));
  };
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("other terms")));
}

TEST_P(TrustTest, AManifestThatIsKnownIsNotSentAgain) {
  EXPECT_OK(Fetch());
  bool sent = true;
  curator_->studies.tamper = [&](v1::GetOfferResponse& response) {
    sent = response.has_manifest();
  };
  EXPECT_OK(Fetch());
  EXPECT_FALSE(sent);
  policy_.curator_key = Public(1);
  EXPECT_OK(Fetch());
  EXPECT_FALSE(sent);
  policy_.curator_key = Public(2);  // signed by the key before: must be shown again
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("has not endorsed")));
  EXPECT_TRUE(sent);
}

TEST_P(TrustTest, WhatWasRefusedIsNotRemembered) {
  policy_.min_reports = 101;
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("at least 101")));
  policy_.min_reports = 0;
  SignWith(2);
  EXPECT_OK(Fetch());
}

TEST_P(TrustTest, AnotherCuratorCannotTakeOverAStudy) {
  EXPECT_OK(Fetch());
  // Another address has another curator, which the device knows by a study of its own.
  OpenJournal();
  auto other = std::make_unique<FakeCurator>();
  Manifest own = FakeManifest(FakeTerms());
  own.study = "own";
  const SignedManifest said = Sign(FakeKey(2), own);
  ASSERT_OK(journal_->Change([&](Journal& journal) {
    return journal.Remember({.curator = other->address(),
                             .bytes = said.bytes,
                             .manifest = *ReadManifest(said.bytes),
                             .key = Public(2),
                             .root = Public(2)});
  }));
  other->studies.manifest = Sign(FakeKey(2), FakeManifest(FakeTerms()));
  curator_ = std::move(other);
  EXPECT_THAT(Fetch(), StatusIs(kRefused, HasSubstr("another curator's before")));
}

INSTANTIATE_TEST_SUITE_P(ByInterface, TrustTest,
                         ::testing::Values(Interface::kSession, Interface::kC),
                         [](const auto& tested) {
                           return tested.param == Interface::kC ? "C" : "Session";
                         });

}  // namespace
}  // namespace coppice
