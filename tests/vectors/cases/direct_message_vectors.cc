// Messages of reports as a device seals them for the curator itself, the curator's answers, and
// those of both that must be refused.

#include <array>
#include <string_view>

#include "common/encrypt/direct_message.h"
#include "common/terms/sha256.h"
#include "coppice/v1/report.pb.h"
#include "tests/vectors/vectors.h"

namespace coppice::vectors {
namespace {

using seal::Aead;
using seal::OpenedRequest;
using seal::RequestOpener;
using seal::SealedRequest;
using seal::SealingKey;

template <typename Bytes>
std::string StringOf(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

SealingKey CuratorsKey() { return *SealingKey::FromSecret(Sha256({"curator"})); }

struct Message {
  Aead aead;
  std::string study;
  uint32_t report_bytes;
  std::vector<size_t> payloads;  // their lengths
  uint64_t number;

  v1::SealedReports content() const {
    v1::SealedReports reports;
    reports.set_study("studies/" + study);
    reports.set_fingerprint(StringOf(Sha256({"terms"})));
    for (size_t i = 0; i < payloads.size(); ++i) {
      v1::Report& report = *reports.add_reports();
      report.set_ticket(NumberedTicket(number + i).ToBytes());
      report.set_payload(std::string(payloads[i], 'p'));
      if (i % 2 == 1) report.set_public_values("12345678");
    }
    return reports;
  }
  Sha256Digest ephemeral() const { return Sha256({StrCat("ephemeral ", number)}); }
  size_t plaintext_bytes() const {
    return static_cast<size_t>(seal::DirectPlaintextBytes(study, report_bytes, payloads.size()));
  }
};

Json CommonFields(Aead aead, const std::string& encapsulated) {
  return {{"aead", static_cast<int>(aead)},
          {"secret", Hex(CuratorsKey().secret())},
          {"encapsulated", Hex(encapsulated)}};
}

// What the curator gets when it opens the message.
Json MessageCase(Aead aead, const std::string& encapsulated, const std::string& ciphertext) {
  const auto opened = RequestOpener::Create(aead, CuratorsKey())->Open(encapsulated, ciphertext);
  Json json = CommonFields(aead, encapsulated);
  json["ciphertext"] = Hex(ciphertext);
  json["status"] = CodeName(opened.status());
  if (opened.ok()) json["content"] = Hex(opened->content);
  return json;
}

// What a device gets when it opens the answer. The curator's secret is in place of the device's
// ephemeral one, which leads to the same.
Json AnswerCase(Aead aead, const SealedRequest& request, const std::string& ciphertext,
                const std::string& answer) {
  const auto opened = seal::OpenOutcomes(aead, request, answer);
  Json json = CommonFields(aead, StringOf(request.message.encapsulated));
  json["ciphertext"] = Hex(ciphertext);
  json["answer"] = Hex(answer);
  json["status"] = CodeName(opened.status());
  if (opened.ok()) json["outcomes"] = Hex(*opened);
  return json;
}

std::string Flipped(std::string bytes, size_t at, uint8_t mask) {
  bytes[at] = static_cast<char>(bytes[at] ^ mask);
  return bytes;
}

class Cases {
 public:
  void Add(const Message& message) {
    const SealedRequest request = Seal(message);
    const std::string encapsulated = StringOf(request.message.encapsulated);
    const std::string& ciphertext = request.message.ciphertext;
    Json sealed = MessageCase(message.aead, encapsulated, ciphertext);
    sealed["study"] = message.study;
    sealed["report_bytes"] = message.report_bytes;
    sealed["reports"] = message.payloads.size();
    sealed["ephemeral"] = Hex(message.ephemeral());
    sealed["key_id"] = Hex(request.key);
    sealed_.push_back(sealed);
    AddChanged(message.aead, encapsulated, ciphertext);
    AddAnswers(message, request, ciphertext);
  }

  Lists lists() const { return {{"sealed", sealed_}, {"opened", opened_}, {"answers", answers_}}; }

 private:
  static SealedRequest Seal(const Message& message) {
    const FixedStream stream(StringOf(message.ephemeral()), "");
    return *seal::SealRequest(message.aead, CuratorsKey().public_key(),
                              message.content().SerializeAsString(), message.plaintext_bytes());
  }

  void AddChanged(Aead aead, const std::string& encapsulated, const std::string& ciphertext) {
    const auto add = [&](const std::string& enc, const std::string& text) {
      opened_.push_back(MessageCase(aead, enc, text));
    };
    add(Flipped(encapsulated, 0, 1), ciphertext);
    add(Flipped(encapsulated, 31, 0x80), ciphertext);  // X25519 ignores this bit
    add(std::string(32, '\0'), ciphertext);
    add(encapsulated, Flipped(ciphertext, 0, 1));
    add(encapsulated, Flipped(ciphertext, ciphertext.size() - 1, 0x80));
    add(encapsulated, ciphertext.substr(1));
    add(encapsulated, ciphertext + '\0');
  }

  void AddAnswers(const Message& message, const SealedRequest& request,
                  const std::string& ciphertext) {
    const OpenedRequest opened = *RequestOpener::Create(message.aead, CuratorsKey())
                                      ->Open(StringOf(request.message.encapsulated), ciphertext);
    std::string outcomes;
    for (size_t i = 0; i < message.payloads.size(); ++i) {
      outcomes.push_back(static_cast<char>(1 + i % 11));
    }
    const FixedStream stream("", StrCat("nonce ", message.number));
    const std::string answer = *seal::SealOutcomes(opened, outcomes);
    const std::string again = *seal::SealOutcomes(opened, outcomes);  // to a replayed message
    for (const std::string& each :
         {answer, again, Flipped(answer, 0, 1), Flipped(answer, answer.size() - 1, 1),
          Flipped(answer, answer.size() / 2, 0x10), answer.substr(1), answer + '\0',
          std::string()}) {
      answers_.push_back(AnswerCase(message.aead, request, ciphertext, each));
    }
  }

  std::vector<Json> sealed_, opened_, answers_;
};

}  // namespace

VectorFile MakeDirectMessageVectors() {
  Cases cases;
  uint64_t number = 100;
  for (const Aead aead : {Aead::kAes128Gcm, Aead::kChaCha20Poly1305}) {
    // Messages of one study have one length; of other studies, mostly the same one.
    cases.Add({aead, "flu", 12, {0}, ++number});
    cases.Add({aead, "flu", 12, {12}, ++number});
    cases.Add({aead, "influenza", 6, {6}, ++number});
    cases.Add({aead, std::string(63, 's'), 300, {292, 292}, number += 10});
    cases.Add({aead, "flu", 16, {1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8}, number += 20});
  }
  const Json header = {
      {"what",
       "Messages of reports that a device seals with a known ephemeral key for the curator itself; "
       "what the curator makes of changed ones; and its answers, good and changed"},
      {"read", "docs/protocol.md#sealing-reports"},
      {"units",
       "bytes: hexadecimal. aead: 1 is AES-128-GCM, 3 is ChaCha20-Poly1305. secret, ephemeral: of "
       "X25519, 32 bytes, not clamped. content: a SealedReports message. outcomes: one byte a "
       "report"}};
  return {.name = "direct_messages.json", .text = Render(header, cases.lists())};
}

}  // namespace coppice::vectors
