// Sealed reports from anybody. Input: which cipher, whether the rest is a report as it travels or a
// plaintext that a device seals for us, then the ticket's 32 bytes.

#include <algorithm>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/encrypt/report_seal.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using coppice::seal::Aead;
using coppice::seal::ReportOpener;
using coppice::seal::ReportSealer;
using coppice::seal::ReportSealing;
using coppice::seal::SealingKey;
using coppice::seal::Sender;
using coppice::testing::Require;
using coppice::testing::TakeByte;

constexpr size_t kPayloadBytes = 64;

const SealingKey& Key() {
  static const auto* const key = new SealingKey(*SealingKey::FromSecret({7}));
  return *key;
}

std::string_view TakeFront(std::string_view& input, size_t bytes) {
  const std::string_view front = input.substr(0, bytes);
  input.remove_prefix(front.size());
  return front;
}

std::string InfoOf(const ReportSealing& sealing) {
  std::string info("coppice.v1.sealed_report\0", 25);
  info.append(sealing.fingerprint.begin(), sealing.fingerprint.end());
  const auto id = coppice::seal::SealingKeyIdOf(sealing.aead, Key().public_key());
  return info.append(id.begin(), id.end());
}

void OpenSealed(const ReportSealing& sealing, const coppice::Ticket& ticket,
                std::string_view plaintext) {
  auto opener = *ReportOpener::Create(sealing, Key());
  const auto sealed = *Sender::Create(sealing.aead, Key().public_key(), InfoOf(sealing))
                           ->Seal(ticket.ToBytes(), plaintext);
  const std::string enc(sealed.encapsulated.begin(), sealed.encapsulated.end());
  const auto payload = opener.Open(ticket, enc, sealed.ciphertext);
  if (!payload.ok()) return;
  // A payload that opens is one that our own device would have sealed.
  Require(payload->size() <= kPayloadBytes, "a payload is longer than its padding");
  std::string padded = {static_cast<char>(payload->size() >> 8),
                        static_cast<char>(payload->size() & 0xff)};
  padded.append(*payload).resize(2 + kPayloadBytes, '\0');
  Require(padded == plaintext, "two plaintexts are one payload");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = coppice::testing::AsBytes(data, size);
  const uint8_t kind = TakeByte(input);
  const ReportSealing sealing = {.aead = kind % 2 == 0 ? Aead::kAes128Gcm : Aead::kChaCha20Poly1305,
                                 .fingerprint = {1},
                                 .payload_bytes = kPayloadBytes};
  std::string ticket_bytes(TakeFront(input, 32));
  ticket_bytes.resize(32, '\0');
  const coppice::Ticket ticket = *coppice::Ticket::FromBytes(ticket_bytes);
  if (kind / 2 % 2 == 0) {
    auto opener = *ReportOpener::Create(sealing, Key());
    const std::string_view enc = TakeFront(input, 32);
    const auto payload = opener.Open(ticket, enc, input);
    Require(!payload.ok(), "a report that nobody sealed opens");
    Require(payload.status().code() == coppice::StatusCode::kInvalidArgument,
            "bytes of a sender's look like a failure of ours");
  } else {
    OpenSealed(sealing, ticket, input);
  }
  return 0;
}
