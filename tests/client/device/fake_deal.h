// A relay's deal of FakeTerms(), with all keys at hand.

#ifndef COPPICE_TESTS_CLIENT_DEVICE_FAKE_DEAL_H_
#define COPPICE_TESTS_CLIENT_DEVICE_FAKE_DEAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/device/deal.h"
#include "common/encrypt/sealing_key.h"
#include "common/wire/calls.h"
#include "coppice/v1/relay.pb.h"
#include "tests/client/device/fake_curator.h"

namespace coppice::testing {

inline constexpr int64_t kDealNow = 1'800'000'000;  // in 2027
inline constexpr uint32_t kOfferBytes = 4096;

inline SigningKey RelayKey() { return FakeKey(7); }
inline seal::SealingKey CuratorSealingKey() {
  seal::SealingKey::Secret secret{};
  secret.fill(9);
  return *seal::SealingKey::FromSecret(secret);
}

inline uint32_t LongestPayload() {
  uint64_t longest = 0;
  for (const Tree& tree : FakeForest()) {
    longest = std::max<uint64_t>(
        longest, (*MakeMechanism(FakeTerms(), tree.num_leaves()))->max_payload_bytes());
  }
  return static_cast<uint32_t>(longest);
}

inline Manifest SealedManifest(const Terms& terms = FakeTerms()) {
  Manifest manifest = FakeManifest(terms);
  manifest.direct.reset();
  manifest.sealing = ManifestSealing{.suite = 1,
                                     .key = CuratorSealingKey().public_key(),
                                     .min_batch = 1000,
                                     .payload_bytes = LongestPayload()};
  return manifest;
}

inline RelayTerms PromisedTerms(const Manifest& manifest = SealedManifest()) {
  return {.study = manifest.study,
          .fingerprint = manifest.fingerprint,
          .sealing_key = seal::SealingKeyIdOf(static_cast<seal::Aead>(manifest.sealing->suite),
                                              manifest.sealing->key),
          .epoch = {5},
          .min_batch = 2000,
          .tickets = 5000,
          .deal_until_unix_seconds = kDealNow + 3600,
          .freeze_at_unix_seconds = kDealNow + 7200,
          .relay_key = KeyIdOf(RelayKey().public_key()),
          .offer_bytes = kOfferBytes};
}

// What a relay sends about a deal.
struct DealOffer {
  std::string relay_terms = {};
  Signature signature{};
  std::string terms = {};
  SignedManifest manifest = {};

  DealMessage AsMessage() const {
    return {
        .relay_terms = relay_terms, .signature = signature, .terms = terms, .manifest = manifest};
  }
};

inline DealOffer SignDeal(const RelayTerms& relay, const SignedManifest& manifest,
                          const Terms& terms = FakeTerms(), const SigningKey& key = RelayKey()) {
  DealOffer offer;
  offer.relay_terms = WriteRelayTerms(relay);
  offer.signature = *key.Sign(kRelayDomain, offer.relay_terms);
  offer.terms = SerializeTerms(terms);
  offer.manifest = manifest;
  return offer;
}

inline DealOffer FakeDealOffer() {
  return SignDeal(PromisedTerms(), Sign(FakeKey(), SealedManifest()));
}

inline Deal FakeDeal() {
  return {.relay = PromisedTerms(), .terms = FakeTerms(), .sealing = *SealedManifest().sealing};
}

inline std::string Envelope(const std::string& content, size_t bytes = kOfferBytes) {
  std::string envelope;
  for (const int shift : {24, 16, 8, 0}) {
    envelope.push_back(static_cast<char>(content.size() >> shift & 0xff));
  }
  envelope += content;
  envelope.resize(bytes, '\0');
  return envelope;
}

// What the relay deals with `ticket`: its tree of FakeForest().
inline v1::RelayedOffer OfferOf(const Ticket& ticket) {
  static const PackedForest& packed = *new PackedForest(PackForest(FakeForest()));
  const uint32_t tree = TreeOfTicket(ticket, FakeTerms().trees);
  v1::RelayedOffer offer;
  offer.set_ticket(ticket.ToBytes());
  offer.set_claim(std::string(16, 'c'));
  offer.set_tree(packed.trees[tree]);
  offer.set_tree_path(packed.merkle.paths[tree]);
  return offer;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_DEVICE_FAKE_DEAL_H_
