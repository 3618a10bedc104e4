// Offers that a device judges one after another, and the status with which it accepts or refuses
// each.

#include <functional>
#include <optional>
#include <utility>

#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "tests/vectors/cases/sample_studies.h"
#include "tests/vectors/vectors.h"

namespace coppice::vectors {
namespace {

constexpr int64_t kNow = 1'700'000'000;
constexpr char kAddress[] = "curator.example:7443";

SigningKey Key(uint8_t number) {
  SigningKey::Seed seed{};
  for (size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<uint8_t>(number + i);
  return *SigningKey::FromSeed(seed);
}

// The terms of the vectors' study, which the manifests promise.
const Terms& StudyTerms() {
  static const Terms* const terms = new Terms(SampleStudies()[2].terms);  // some are public
  return *terms;
}

Manifest Promise() {
  const Terms& terms = StudyTerms();
  return {.study = terms.study,
          .fingerprint = FingerprintOf(SerializeTerms(terms)),
          .epsilon = terms.epsilon,
          .mechanism = terms.mechanism,
          .expires_unix_seconds = kNow + 1000,
          .min_reports = 500,
          .sequence = 3,
          .issued_unix_seconds = kNow - 1000,
          .public_features = terms.num_public_features(),
          .direct = DirectSealing{.key = {.suite = 1, .key = {7}}, .report_bytes = 100}};
}

using Change = std::function<void(Manifest&)>;
SignedManifest SignBytes(const std::string& bytes, uint8_t signer, const KeyChain& chain = {}) {
  const SigningKey key = Key(signer);
  return {.bytes = bytes,
          .signature = *key.Sign(kManifestDomain, bytes),
          .key = key.public_key(),
          .endorsements = chain};
}
SignedManifest SignPromise(
    uint8_t signer, const Change& change = [](Manifest&) {}, const KeyChain& chain = {}) {
  Manifest manifest = Promise();
  manifest.key = KeyIdOf(Key(signer).public_key());
  change(manifest);
  return SignBytes(WriteManifest(manifest), signer, chain);
}
KeyEndorsement Step(uint8_t from, uint8_t to, int64_t not_before = kNow - 10) {
  return *Endorse(Key(from), Key(to).public_key(), not_before);
}

// Judges offers as a session does (client/device/offer.h); an unreadable message is DATA_LOSS.
class Judge {
 public:
  Judge(std::string name, const OfferPolicy& policy, int64_t now = kNow)
      : policy_(policy), now_(now) {
    json_ = {{"name", std::move(name)}, {"now", now}};
    if (policy.curator_key) json_["pin"] = Hex(*policy.curator_key);
    if (policy.demand_pin) json_["demand_pin"] = true;
    if (policy.min_reports > 0) json_["min_reports"] = policy.min_reports;
    json_["offers"] = Json::array();
  }

  Judge& Offer(const SignedManifest& manifest, const std::string& address = kAddress) {
    return OfferBytes(WriteSignedManifest(manifest), address);
  }
  Judge& OfferNothing() { return Add(std::nullopt, kAddress); }
  Judge& OfferBytes(const std::string& bytes, const std::string& address = kAddress) {
    return Add(bytes, address);
  }
  const Json& json() const { return json_; }

 private:
  Judge& Add(const std::optional<std::string>& bytes, const std::string& address) {
    Json offer = {{"curator", address}};
    if (bytes) offer["manifest"] = Hex(*bytes);
    offer["status"] = CodeName(Admit(bytes, address));
    json_["offers"].push_back(offer);
    return *this;
  }

  Status Admit(const std::optional<std::string>& bytes, const std::string& address) {
    const Terms& terms = StudyTerms();
    const Trust trust(policy_, seen_);
    std::optional<SignedManifest> manifest;
    if (bytes) {
      StatusOr<SignedManifest> read = ReadSignedManifest(*bytes);
      if (!read.ok()) return DataLossError(read.status().message());
      manifest = *std::move(read);
    }
    COPPICE_ASSIGN_OR_RETURN(
        const SeenManifest verified,
        trust.Verify(address, terms.study, manifest, DeliveryRoute::kDirect, now_));
    if (verified.manifest.fingerprint != FingerprintOf(SerializeTerms(terms))) {
      return DataLossError("the terms that came are not those that were signed");
    }
    COPPICE_RETURN_IF_ERROR(trust.Admit(verified, terms, DeliveryRoute::kDirect, now_));
    if (!seen_.Knows(verified)) seen_.Add(verified);
    return OkStatus();
  }

  const OfferPolicy policy_;
  const int64_t now_;
  SeenManifests seen_;
  Json json_;
};

OfferPolicy Pin(uint8_t number) { return {.curator_key = Key(number).public_key()}; }

void AddKeys(std::vector<Json>& cases) {
  cases.push_back(Judge("first use", {}).Offer(SignPromise(1)).Offer(SignPromise(1)).json());
  cases.push_back(Judge("pinned", Pin(1)).Offer(SignPromise(1)).json());
  cases.push_back(Judge("another key than the pin", Pin(2)).Offer(SignPromise(1)).json());
  OfferPolicy demands;
  demands.demand_pin = true;
  cases.push_back(Judge("no pin where one is demanded", demands).Offer(SignPromise(1)).json());
  cases.push_back(Judge("another key than the first one, at either address", {})
                      .Offer(SignPromise(1))
                      .Offer(SignPromise(2))
                      .Offer(SignPromise(2), "other.example:7443")
                      .Offer(SignPromise(1), "other.example:7443")
                      .json());
}

void AddRotations(std::vector<Json>& cases) {
  const Change none = [](Manifest&) {};
  const KeyChain two = {Step(1, 2), Step(2, 3)};
  cases.push_back(Judge("one rotation", Pin(1)).Offer(SignPromise(2, none, {Step(1, 2)})).json());
  cases.push_back(Judge("two rotations, then an older key, then the newest", Pin(1))
                      .Offer(SignPromise(3, none, two))
                      .Offer(SignPromise(1))
                      .Offer(SignPromise(2, none, {Step(1, 2)}))
                      .Offer(SignPromise(3, none, two))
                      .Offer(SignPromise(3))
                      .json());
  cases.push_back(Judge("a pin within the chain", Pin(2)).Offer(SignPromise(3, none, two)).json());
  cases.push_back(
      Judge("a chain that lacks a step", Pin(1)).Offer(SignPromise(3, none, {Step(2, 3)})).json());
  cases.push_back(Judge("steps in the wrong order", Pin(1))
                      .Offer(SignPromise(3, none, {Step(2, 3), Step(1, 2)}))
                      .json());
  cases.push_back(Judge("a step that counts from now on, and one from later", Pin(1))
                      .Offer(SignPromise(2, none, {Step(1, 2, kNow + 1)}))
                      .Offer(SignPromise(2, none, {Step(1, 2, kNow)}))
                      .json());
  KeyEndorsement forged = Step(1, 2);
  forged.signature[10] ^= 1;
  cases.push_back(Judge("a forged step", Pin(1)).Offer(SignPromise(2, none, {forged})).json());
  KeyEndorsement moved = Step(1, 2);
  moved.not_before_unix_seconds += 1;
  cases.push_back(
      Judge("a step with another time", Pin(1)).Offer(SignPromise(2, none, {moved})).json());
  cases.push_back(Judge("a forged step that is not needed", Pin(2))
                      .Offer(SignPromise(2, none, {forged}))
                      .json());
  KeyChain longest;
  for (uint8_t i = 1; i <= 9; ++i) longest.push_back(Step(i, static_cast<uint8_t>(i + 1)));
  cases.push_back(Judge("nine steps", Pin(1)).Offer(SignPromise(10, none, longest)).json());
  longest.pop_back();
  cases.push_back(Judge("eight steps", Pin(1)).Offer(SignPromise(9, none, longest)).json());
}

// A signed manifest with one change, and bytes that no honest curator signs.
void AddBytes(std::vector<Json>& cases) {
  const SignedManifest good = SignPromise(1);
  const auto refused = [&cases](const char* name, const SignedManifest& manifest) {
    cases.push_back(Judge(name, Pin(1)).Offer(manifest).json());
  };
  SignedManifest changed = good;
  changed.bytes[2] = static_cast<char>(changed.bytes[2] ^ 1);
  refused("a changed manifest", changed);
  changed = good;
  changed.signature[0] ^= 1;
  refused("a changed first half of the signature", changed);
  changed = good;
  changed.signature[63] ^= 0x80;
  refused("a signature whose number is too large", changed);
  changed = good;
  changed.signature = *Key(1).Sign(kModelDomain, good.bytes);
  refused("a signature of another kind", changed);
  refused("bytes that are no message", SignBytes("\x0a\xff", 1));
  refused("an unknown field", SignBytes(good.bytes + std::string("\x58\x01"), 1));
  refused("a field twice", SignBytes(good.bytes + good.bytes.substr(0, 2 + good.bytes[1]), 1));
  refused("a zero that is written out", SignBytes(good.bytes + std::string("\x50\x00", 2), 1));
  refused("more than 256 bytes", SignBytes(good.bytes + "\x5a\x7f" + std::string(127, 'x') +
                                               "\x62\x20" + std::string(32, 'x'),
                                           1));
  refused("empty bytes", SignBytes("", 1));
  refused("the id of another key",
          SignPromise(1, [](Manifest& m) { m.key = KeyIdOf(Key(2).public_key()); }));
  cases.push_back(Judge("no message", Pin(1)).OfferBytes("\x0a\xff").OfferNothing().json());
  cases.push_back(Judge("a manifest that is left out, before and after it is known", Pin(1))
                      .OfferNothing()
                      .Offer(good)
                      .OfferNothing()
                      .json());
}

void AddPromises(std::vector<Json>& cases) {
  const auto refused = [&cases](const char* name, const Change& change) {
    cases.push_back(Judge(name, Pin(1)).Offer(SignPromise(1, change)).json());
  };
  refused("another study", [](Manifest& m) { m.study = "else"; });
  refused("another fingerprint", [](Manifest& m) { m.fingerprint[31] ^= 1; });
  refused("another epsilon", [](Manifest& m) { m.epsilon = *Budget::FromNanos(1'999'999'999); });
  refused("another mechanism", [](Manifest& m) { m.mechanism = MechanismKind::kDirect; });
  refused("another number of public features", [](Manifest& m) { m.public_features = 0; });
  refused("an epsilon that is too small", [](Manifest& m) { m.epsilon = *Budget::FromNanos(1); });
  refused("sequence 0", [](Manifest& m) { m.sequence = 0; });
  refused("no key that messages are sealed for", [](Manifest& m) { m.direct.reset(); });
  refused("a suite that there is not", [](Manifest& m) { m.direct->key.suite = 2; });
  refused("reports of no length", [](Manifest& m) { m.direct->report_bytes = 0; });
  refused("reports that go through a relay", [](Manifest& m) {
    m.direct.reset();
    m.sealing = ManifestSealing{.suite = 1, .key = {7}, .min_batch = 1000, .payload_bytes = 9};
  });
  refused("a negative time", [](Manifest& m) { m.issued_unix_seconds = -1; });
  refused("a study that is no id", [](Manifest& m) { m.study = "Some"; });
  refused("no end and no least number",
          [](Manifest& m) { m.expires_unix_seconds = 0, m.min_reports = 0; });
  cases.push_back(
      Judge("a second before the end", Pin(1), kNow + 999).Offer(SignPromise(1)).json());
  cases.push_back(Judge("at the end", Pin(1), kNow + 1000).Offer(SignPromise(1)).json());
  OfferPolicy many = Pin(1);
  many.min_reports = 500;
  cases.push_back(Judge("as many reports as wanted", many).Offer(SignPromise(1)).json());
  many.min_reports = 501;
  cases.push_back(Judge("fewer reports than wanted", many).Offer(SignPromise(1)).json());
}

// Follows the manifest that AddPromises() changes by one that differs from it.
void AddWeakened(std::vector<Json>& cases) {
  const auto then = [&cases](const char* name, const Change& change) {
    cases.push_back(Judge(name, Pin(1)).Offer(SignPromise(1)).Offer(SignPromise(1, change)).json());
  };
  then("then fewer reports", [](Manifest& m) { m.sequence = 4, m.min_reports = 499; });
  then("then more reports", [](Manifest& m) { m.sequence = 4, m.min_reports = 501; });
  then("then a later end", [](Manifest& m) { m.sequence = 4, ++m.expires_unix_seconds; });
  then("then an earlier end", [](Manifest& m) { m.sequence = 4, --m.expires_unix_seconds; });
  then("then no end", [](Manifest& m) { m.sequence = 4, m.expires_unix_seconds = 0; });
  then("then a smaller sequence", [](Manifest& m) { m.sequence = 2; });
  then("then the same sequence and another time", [](Manifest& m) { ++m.issued_unix_seconds; });
  then("then a greater sequence alone", [](Manifest& m) { m.sequence = 4; });
  then("then another direct key", [](Manifest& m) { m.direct->key.key = {8}; });
  then("then longer reports", [](Manifest& m) { m.sequence = 4, ++m.direct->report_bytes; });
  cases.push_back(Judge("then another curator's, with the same promises", {})
                      .Offer(SignPromise(1))
                      .Offer(SignPromise(4), "second.example:1")
                      .json());
}

}  // namespace

VectorFile MakeManifestVectors() {
  std::vector<Json> keys, cases;
  for (uint8_t number = 1; number <= 10; ++number) {
    const SigningKey key = Key(number);
    keys.push_back({{"seed", Hex(key.seed())},
                    {"key", Hex(key.public_key())},
                    {"key_id", Hex(KeyIdOf(key.public_key()))}});
  }
  AddKeys(cases);
  AddRotations(cases);
  AddBytes(cases);
  AddPromises(cases);
  AddWeakened(cases);
  const Json header = {
      {"what",
       "Signed manifests that a device judges before it reads its row: each case begins with no "
       "memory and goes through its offers in order; status is that of each"},
      {"read", "docs/protocol.md#manifest"},
      {"units",
       "bytes: hexadecimal. manifest: a serialized coppice.v1.SignedManifest, left out where the "
       "curator leaves it out. now: seconds since 1970. pin, demand_pin, min_reports: the device's "
       "own policy"},
      {"terms", Hex(SerializeTerms(StudyTerms()))}};
  return {.name = "manifests.json", .text = Render(header, {{"keys", keys}, {"cases", cases}})};
}

}  // namespace coppice::vectors
