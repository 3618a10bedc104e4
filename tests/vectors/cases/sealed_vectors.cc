// Reports as a device seals them for the curator, and those that the curator must refuse.

#include <algorithm>
#include <array>
#include <string_view>

#include "common/base/text.h"
#include "common/encrypt/report_seal.h"
#include "tests/vectors/vectors.h"

namespace coppice::vectors {
namespace {

using seal::Aead;
using seal::ReportOpener;
using seal::ReportSealer;
using seal::ReportSealing;
using seal::SealedMessage;
using seal::SealingKey;

using Bytes32 = std::array<uint8_t, 32>;

// SHA-256 of the name, used as a secret of X25519 or a fingerprint.
Bytes32 Named(std::string_view name) { return Sha256({name}); }

std::string TextOf(const Bytes32& bytes) { return {bytes.begin(), bytes.end()}; }

struct Sample {
  Aead aead = Aead::kAes128Gcm;
  size_t payload_bytes = 0;
  std::string payload;
  uint64_t number = 0;

  SealingKey key() const { return *SealingKey::FromSecret(Named("curator")); }
  ReportSealing sealing() const {
    return {.aead = aead, .fingerprint = Named("terms"), .payload_bytes = payload_bytes};
  }
  Bytes32 ephemeral() const { return Named(StrCat("ephemeral ", number)); }
};

Json KeyCase(Aead aead, const std::string& name) {
  const SealingKey key = *SealingKey::FromSecret(Named(name));
  return {{"aead", static_cast<int>(aead)},
          {"secret", Hex(key.secret())},
          {"public", Hex(key.public_key())},
          {"key_id", Hex(seal::SealingKeyIdOf(aead, key.public_key()))}};
}

SealedMessage SealSample(const Sample& sample) {
  const FixedStream stream(TextOf(sample.ephemeral()), "");
  return *ReportSealer::Create(sample.sealing(), sample.key().public_key())
              ->Seal(NumberedTicket(sample.number), sample.payload);
}

// What the curator gets when it opens the report.
Json OpenedCase(const Sample& sample, const ReportSealing& sealing, const Ticket& ticket,
                const std::string& encapsulated, const std::string& ciphertext) {
  const auto opened =
      ReportOpener::Create(sealing, sample.key())->Open(ticket, encapsulated, ciphertext);
  Json json = {{"aead", static_cast<int>(sealing.aead)},  {"secret", Hex(sample.key().secret())},
               {"fingerprint", Hex(sealing.fingerprint)}, {"payload_bytes", sealing.payload_bytes},
               {"ticket", Hex(ticket.ToBytes())},         {"encapsulated", Hex(encapsulated)},
               {"ciphertext", Hex(ciphertext)},           {"status", CodeName(opened.status())}};
  if (opened.ok()) json["payload"] = Hex(*opened);
  return json;
}

void AddSample(const Sample& sample, std::vector<Json>& sealed, std::vector<Json>& opened) {
  const SealedMessage message = SealSample(sample);
  const std::string encapsulated = TextOf(message.encapsulated);
  const Ticket ticket = NumberedTicket(sample.number);
  Json json = OpenedCase(sample, sample.sealing(), ticket, encapsulated, message.ciphertext);
  json["ephemeral"] = Hex(sample.ephemeral());
  sealed.push_back(json);

  const auto flipped = [](std::string bytes, size_t at, uint8_t mask) {
    bytes[at] = static_cast<char>(bytes[at] ^ mask);
    return bytes;
  };
  const auto add = [&](const ReportSealing& sealing, const Ticket& of, const std::string& enc,
                       const std::string& ciphertext) {
    opened.push_back(OpenedCase(sample, sealing, of, enc, ciphertext));
  };
  const std::string& ciphertext = message.ciphertext;
  add(sample.sealing(), NumberedTicket(sample.number + 1), encapsulated, ciphertext);
  add(sample.sealing(), ticket, flipped(encapsulated, 0, 1), ciphertext);
  // X25519 ignores this bit.
  add(sample.sealing(), ticket, flipped(encapsulated, 31, 0x80), ciphertext);
  add(sample.sealing(), ticket, std::string(32, '\0'), ciphertext);
  add(sample.sealing(), ticket, encapsulated, flipped(ciphertext, 0, 1));
  add(sample.sealing(), ticket, encapsulated, flipped(ciphertext, ciphertext.size() - 1, 0x80));
  add(sample.sealing(), ticket, encapsulated, ciphertext + '\0');
  add(sample.sealing(), ticket, encapsulated, ciphertext.substr(1));
  ReportSealing other = sample.sealing();
  other.fingerprint = Named("other terms");
  add(other, ticket, encapsulated, ciphertext);
}

// Plaintexts that no device of ours makes, properly sealed.
Json PlaintextCase(const Sample& sample, std::string plaintext) {
  plaintext.resize(2 + sample.payload_bytes, '\0');
  const auto key_id = seal::SealingKeyIdOf(sample.aead, sample.key().public_key());
  const std::string info =
      StrCat(std::string_view("coppice.v1.sealed_report\0", 25),
             TextOf(sample.sealing().fingerprint), std::string(key_id.begin(), key_id.end()));
  const Ticket ticket = NumberedTicket(sample.number);
  const FixedStream stream(TextOf(sample.ephemeral()), "");
  const SealedMessage message = *seal::Sender::Create(sample.aead, sample.key().public_key(), info)
                                     ->Seal(ticket.ToBytes(), plaintext);
  return OpenedCase(sample, sample.sealing(), ticket, TextOf(message.encapsulated),
                    message.ciphertext);
}

}  // namespace

VectorFile MakeSealedVectors() {
  std::vector<Json> keys, sealed, opened;
  uint64_t number = 0;
  for (const Aead aead : {Aead::kAes128Gcm, Aead::kChaCha20Poly1305}) {
    for (const char* name : {"curator", "another", "a third"}) keys.push_back(KeyCase(aead, name));
    // Sizes around both ciphers' blocks, and payloads of zeros, which look like padding.
    for (const auto& [payload, longest] : std::vector<std::pair<size_t, size_t>>{
             {0, 0}, {1, 1}, {1, 14}, {14, 14}, {15, 15}, {30, 30}, {62, 62}, {63, 64}, {4, 300}}) {
      AddSample({aead, longest, std::string(payload, payload == 4 ? '\0' : 'p'), ++number}, sealed,
                opened);
    }
    const Sample sample = {aead, 20, "", ++number};
    for (const auto& start :
         {std::string("\0\3one", 5), std::string("\0\2one", 5), std::string("\0\x14", 2),
          std::string("\0\x15", 2), std::string("\1\3one", 5), std::string("\xff\xff", 2)}) {
      opened.push_back(PlaintextCase(sample, start));
    }
  }
  const Json header = {
      {"what",
       "Sealing keys and their ids; reports that a device seals with a known ephemeral key; and "
       "what the curator makes of changed ones"},
      {"read", "docs/relay.md#sealing"},
      {"units",
       "bytes: hexadecimal. aead: 1 is AES-128-GCM, 3 is ChaCha20-Poly1305. secret, ephemeral: of "
       "X25519, 32 bytes, not clamped"}};
  return {.name = "sealed.json",
          .text = Render(header, {{"keys", keys}, {"sealed", sealed}, {"opened", opened}})};
}

}  // namespace coppice::vectors
