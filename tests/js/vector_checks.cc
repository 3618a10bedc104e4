// Runs the files of tests/vectors through the C core as WebAssembly, with the cryptography and the
// memory that a page has. vectors_test.js gives each file's text, and random bytes that the file
// knows.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "client/device/journal.h"
#include "client/device/privatizer.h"
#include "client/device/trust.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/encrypt/direct_message.h"
#include "common/encrypt/report_seal.h"
#include "common/ldp/mechanisms.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/merkle.h"
#include "common/terms/ticket.h"
#include "common/wire/manifest.h"
#include "common/wire/terms.h"

// From now on random bytes are `prefix`, then the blocks SHA-256(seed || counter).
extern "C" __attribute__((import_module("coppice"), import_name("stream"))) void coppice_js_stream(
    const char* prefix, size_t prefix_size, const char* seed, size_t seed_size);

namespace coppice {
namespace {

using Json = nlohmann::json;

std::string Data(const Json& json, const char* key) {
  return json.contains(key) ? HexStringToBytes(json[key].get<std::string>()) : std::string();
}
std::string Text(const Json& json, const char* key) { return json[key].get<std::string>(); }
template <typename Bytes>
std::string Hex(const Bytes& bytes) {
  return BytesToHexString(std::string(bytes.begin(), bytes.end()));
}
template <typename Array>
Array ArrayOf(const Json& json, const char* key) {
  const std::string bytes = Data(json, key);
  Array array{};
  if (bytes.size() != array.size()) std::abort();
  std::copy(bytes.begin(), bytes.end(), array.begin());
  return array;
}
Ticket TicketOf(const Json& json) { return *Ticket::FromBytes(Data(json, "ticket")); }
std::string CodeName(const Status& status) { return std::string(StatusCodeName(status.code())); }

void Stream(const std::string& prefix, const std::string& seed) {
  coppice_js_stream(prefix.data(), prefix.size(), seed.data(), seed.size());
}

// What a check found: how many cases there are, and those that do not hold.
struct Result {
  int cases = 0;
  std::vector<std::string> wrong;

  void Expect(bool holds, const Json& json) {
    ++cases;
    if (!holds) wrong.push_back(json.dump().substr(0, 400));
  }
};

constexpr uint64_t kAnyWord = 1 << 16;

MechanismKind KindOf(const std::string& name) {
  for (const MechanismEntry& entry : kMechanisms) {
    if (entry.name == name) return entry.kind;
  }
  std::abort();
}

void CheckMechanism(const Json& file, Result& result) {
  const MechanismKind kind = KindOf(Text(file, "mechanism"));
  for (const Json& json : file["cases"]) {
    Domain domain{.leaves = json["leaves"], .classes = json["classes"]};
    if (json.contains("reach")) domain.window = Window{json["reach"], json["half_width"]};
    const auto mechanism =
        *MakeLocalMechanism(kind, *Budget::FromNanos(json["epsilon_nanos"]), domain);
    Stream(Data(json, "prefix"), Data(json, "seed"));
    OpenSslRandom random;
    for (size_t i = 0; i < json.value("start", size_t{0}); ++i) {
      random.UniformBelow(kAnyWord).value();
    }
    const uint32_t column = DrawOf(TicketOf(json)).Column(mechanism->columns());
    std::string payload;
    const Status made = json.contains("place")
                            ? mechanism->RandomizeNumber({.leaf = 0, .place = json["place"]},
                                                         column, random, payload)
                            : mechanism->Randomize({.leaf = json["leaf"], .label = json["label"]},
                                                   column, random, payload);
    const uint64_t next = random.UniformBelow(kAnyWord).value();
    result.Expect(made.ok() && json["column"] == column && json["payload"] == Hex(payload) &&
                      json["next_word"] == next,
                  json);
  }
}

void CheckTickets(const Json& file, Result& result) {
  for (const Json& json : file["cases"]) {
    const TicketDraw draw = DrawOf(TicketOf(json));
    bool holds = true;
    for (const auto& [count, tree] : json["tree_of"].items()) {
      holds = holds && draw.Tree(static_cast<uint32_t>(std::atol(count.c_str()))) == tree;
    }
    for (const auto& [count, column] : json["column_of"].items()) {
      holds = holds && draw.Column(static_cast<uint32_t>(std::atol(count.c_str()))) == column;
    }
    result.Expect(holds, json);
  }
}

void CheckTerms(const Json& file, Result& result) {
  for (const Json& json : file["terms"]) {
    const std::string bytes = Data(json, "terms");
    const StatusOr<Terms> terms = ReadTerms(bytes);
    result.Expect(terms.ok() && Hex(FingerprintOf(bytes)) == json["fingerprint"] &&
                      terms->study == json["values"]["study"] &&
                      terms->epsilon.nanos() == json["values"]["epsilon_nanos"] &&
                      MechanismName(terms->mechanism) == json["values"]["mechanism"],
                  json);
  }
  for (const Json& json : file["forests"]) {
    std::vector<std::string> trees;
    for (const Json& tree : json["trees"]) trees.push_back(Data(tree, "tree"));
    const MerkleTree made = MakeMerkleTree(trees);
    bool holds = Hex(made.root) == json["root"];
    for (size_t i = 0; i < trees.size(); ++i) {
      holds = holds && Hex(made.paths[i]) == json["trees"][i]["path"];
    }
    result.Expect(holds, json);
  }
  for (const Json& json : file["proofs"]) {
    const bool holds = VerifyMerklePath(Data(json, "tree"), json["index"], json["count"],
                                        Data(json, "path"), ArrayOf<Sha256Digest>(json, "root"));
    result.Expect(holds == json["holds"], json);
  }
}

// As a session does (client/device/offer.h).
Status Admit(const OfferPolicy& policy, SeenManifests& seen, const Terms& terms,
             const Fingerprint& fingerprint, const Json& offer, int64_t now) {
  const Trust trust(policy, seen);
  std::optional<SignedManifest> manifest;
  if (offer.contains("manifest")) {
    StatusOr<SignedManifest> read = ReadSignedManifest(Data(offer, "manifest"));
    if (!read.ok()) return DataLossError(read.status().message());
    manifest = *std::move(read);
  }
  const std::string curator = Text(offer, "curator");
  COPPICE_ASSIGN_OR_RETURN(const SeenManifest verified, trust.Verify(curator, terms.study, manifest,
                                                                     DeliveryRoute::kDirect, now));
  if (verified.manifest.fingerprint != fingerprint) return DataLossError("other terms");
  COPPICE_RETURN_IF_ERROR(trust.Admit(verified, terms, DeliveryRoute::kDirect, now));
  if (!seen.Knows(verified)) seen.Add(verified);
  return OkStatus();
}

void CheckManifests(const Json& file, Result& result) {
  const std::string bytes = Data(file, "terms");
  const Terms terms = *ReadTerms(bytes);
  for (const Json& json : file["keys"]) {
    const SigningKey key = *SigningKey::FromSeed(ArrayOf<SigningKey::Seed>(json, "seed"));
    result.Expect(
        Hex(key.public_key()) == json["key"] && Hex(KeyIdOf(key.public_key())) == json["key_id"],
        json);
  }
  for (const Json& json : file["cases"]) {
    OfferPolicy policy{.demand_pin = json.value("demand_pin", false),
                       .min_reports = json.value("min_reports", uint64_t{0})};
    if (json.contains("pin")) policy.curator_key = ArrayOf<PublicKey>(json, "pin");
    SeenManifests seen;
    for (const Json& offer : json["offers"]) {
      const Status status = Admit(policy, seen, terms, FingerprintOf(bytes), offer, json["now"]);
      result.Expect(CodeName(status) == offer["status"], offer);
    }
  }
}

JournalEntry EntryOf(const Json& json) {
  JournalEntry entry{.subject = Text(json, "subject"),
                     .epsilon = *Budget::FromNanos(json["epsilon_nanos"]),
                     .report = {.study = Text(json, "study"),
                                .fingerprint = ArrayOf<Fingerprint>(json, "fingerprint"),
                                .ticket = TicketOf(json),
                                .payload = Data(json, "payload"),
                                .public_values = Data(json, "public_values")}};
  if (json.contains("ciphertext")) {
    entry.sealed =
        SealedAnswer{.relay = ArrayOf<KeyId>(json, "relay"),
                     .epoch = ArrayOf<EpochId>(json, "epoch"),
                     .closes_unix_seconds = json["closes"],
                     .claim = ArrayOf<std::array<uint8_t, 16>>(json, "claim"),
                     .encapsulated = ArrayOf<std::array<uint8_t, 32>>(json, "encapsulated"),
                     .ciphertext = Data(json, "ciphertext")};
  }
  return entry;
}

Status Change(Journal& journal, const Json& step) {
  const std::string what = Text(step, "do");
  if (what == "see") {
    return journal.Remember({.curator = Text(step, "curator"),
                             .bytes = Data(step, "manifest"),
                             .manifest = *ReadManifest(Data(step, "manifest")),
                             .key = ArrayOf<PublicKey>(step, "key"),
                             .root = ArrayOf<PublicKey>(step, "root")});
  }
  if (what == "answer") {
    std::vector<JournalEntry> entries;
    for (const Json& answer : step["answers"]) entries.push_back(EntryOf(answer));
    return journal.Append(entries);
  }
  if (what == "deliver") {
    return journal.MarkDelivered(Text(step, "study"),
                                 step["subjects"].get<std::vector<std::string>>());
  }
  if (what == "forget") return journal.Forget(step["now"]);
  if (what == "choose") return journal.SetOptedOut(step["opted_out"] == 1);
  return OkStatus();  // open
}

void CheckJournal(const Json& file, Result& result) {
  std::string bytes = Journal::NewBytes();
  const std::unique_ptr<Journal> journal = *Journal::Open(bytes);
  for (const Json& step : file["steps"]) {
    const Status changed = Change(*journal, step);
    if (const JournalWrite* write = journal->pending()) {
      if (write->kind == JournalWrite::Kind::kReplace) bytes.clear();
      bytes += write->bytes;
      journal->Committed();
    }
    result.Expect(changed.ok() && Hex(bytes) == step["file"] &&
                      journal->CountUndelivered() == step["undelivered"],
                  step);
  }
  for (const Json& json : file["files"]) {
    const auto opened = Journal::Open(Data(json, "file"));
    result.Expect(CodeName(opened.status()) == json["status"] &&
                      (!opened.ok() || (*opened)->SizeBytes() == json["left"]),
                  json);
  }
}

void CheckReports(const Json& file, Result& result) {
  std::map<std::string, Privatizer> studies;
  for (const Json& json : file["studies"]) {
    const std::string bytes = Data(json, "terms");
    const Terms terms = *ReadTerms(bytes);
    TreesByIndex trees;
    for (const Json& tree : json["trees"]) {
      const auto number = static_cast<uint32_t>(trees.size());
      trees.emplace(number, *ReadStudyTree(HexStringToBytes(tree.get<std::string>()), terms));
    }
    studies.emplace(json["study"], *Privatizer::Create(terms, FingerprintOf(bytes), trees));
  }
  for (const Json& json : file["cases"]) {
    const Privatizer& privatizer = studies.at(Text(json, "study"));
    TextRow text;
    for (const auto& [column, value] : json["row"].items()) text[column] = value;
    Stream("", Data(json, "seed"));
    OpenSslRandom random;
    const auto report =
        privatizer.Privatize(EncodeText(privatizer.terms(), text), TicketOf(json), random);
    const uint64_t next = random.UniformBelow(kAnyWord).value();
    result.Expect(CodeName(report.status()) == json["status"] && next == json["next_word"] &&
                      (!report.ok() || (Hex(report->payload) == json["payload"] &&
                                        Hex(report->public_values) == json["public_values"])),
                  json);
  }
}

seal::SealingKey KeyOf(const Json& json) {
  return *seal::SealingKey::FromSecret(ArrayOf<seal::SealingKey::Secret>(json, "secret"));
}
seal::Aead AeadOf(const Json& json) { return static_cast<seal::Aead>(json["aead"].get<int>()); }
seal::ReportSealing SealingOf(const Json& json) {
  return {.aead = AeadOf(json),
          .fingerprint = ArrayOf<Fingerprint>(json, "fingerprint"),
          .payload_bytes = json["payload_bytes"]};
}

void CheckOpened(const Json& json, Result& result) {
  const auto opened =
      seal::ReportOpener::Create(SealingOf(json), KeyOf(json))
          ->Open(TicketOf(json), Data(json, "encapsulated"), Data(json, "ciphertext"));
  result.Expect(CodeName(opened.status()) == json["status"] &&
                    (!opened.ok() || Hex(*opened) == json["payload"]),
                json);
}

void CheckSealed(const Json& file, Result& result) {
  for (const Json& json : file["keys"]) {
    const seal::SealingKey key = KeyOf(json);
    result.Expect(Hex(key.public_key()) == json["public"] &&
                      Hex(seal::SealingKeyIdOf(AeadOf(json), key.public_key())) == json["key_id"],
                  json);
  }
  for (const Json& json : file["sealed"]) {
    Stream(Data(json, "ephemeral"), "");
    const auto sealed = seal::ReportSealer::Create(SealingOf(json), KeyOf(json).public_key())
                            ->Seal(TicketOf(json), Data(json, "payload"));
    result.Expect(sealed.ok() && Hex(sealed->encapsulated) == json["encapsulated"] &&
                      Hex(sealed->ciphertext) == json["ciphertext"],
                  json);
    CheckOpened(json, result);
  }
  for (const Json& json : file["opened"]) CheckOpened(json, result);
}

StatusOr<seal::OpenedRequest> OpenMessage(const Json& json) {
  return seal::RequestOpener::Create(AeadOf(json), KeyOf(json))
      ->Open(Data(json, "encapsulated"), Data(json, "ciphertext"));
}

void CheckDirectMessages(const Json& file, Result& result) {
  for (const Json& json : file["sealed"]) {
    Stream(Data(json, "ephemeral"), "");
    const uint64_t bytes =
        seal::DirectPlaintextBytes(Text(json, "study"), json["report_bytes"], json["reports"]);
    const auto sealed = seal::SealRequest(AeadOf(json), KeyOf(json).public_key(),
                                          Data(json, "content"), static_cast<size_t>(bytes));
    result.Expect(sealed.ok() && Hex(sealed->message.encapsulated) == json["encapsulated"] &&
                      Hex(sealed->message.ciphertext) == json["ciphertext"] &&
                      Hex(sealed->key) == json["key_id"],
                  json);
  }
  for (const char* list : {"sealed", "opened"}) {
    for (const Json& json : file[list]) {
      const auto opened = OpenMessage(json);
      result.Expect(CodeName(opened.status()) == json["status"] &&
                        (!opened.ok() || Hex(opened->content) == json["content"]),
                    json);
    }
  }
  for (const Json& json : file["answers"]) {
    seal::SealedRequest request;
    request.secret = OpenMessage(json)->secret;
    request.message.encapsulated =
        ArrayOf<decltype(request.message.encapsulated)>(json, "encapsulated");
    const auto outcomes = seal::OpenOutcomes(AeadOf(json), request, Data(json, "answer"));
    result.Expect(CodeName(outcomes.status()) == json["status"] &&
                      (!outcomes.ok() || Hex(*outcomes) == json["outcomes"]),
                  json);
  }
}

void CheckFile(const std::string& name, const Json& file, Result& result) {
  if (file.contains("mechanism")) return CheckMechanism(file, result);
  if (name == "tickets.json") return CheckTickets(file, result);
  if (name == "terms.json") return CheckTerms(file, result);
  if (name == "manifests.json") return CheckManifests(file, result);
  if (name == "journal.json") return CheckJournal(file, result);
  if (name == "reports.json") return CheckReports(file, result);
  if (name == "sealed.json") return CheckSealed(file, result);
  if (name == "direct_messages.json") return CheckDirectMessages(file, result);
}

std::string answer;

}  // namespace
}  // namespace coppice

extern "C" __attribute__((export_name("take_memory"))) void* TakeMemory(size_t bytes) {
  return std::malloc(bytes);
}

// Checks a file: "CASES" and, one a line, those that do not hold. Texts end with a zero byte.
extern "C" __attribute__((export_name("check"))) const char* Check(const char* name,
                                                                   const char* text) {
  coppice::Result result;
  coppice::CheckFile(name, coppice::Json::parse(text), result);
  coppice::answer = std::to_string(result.cases);
  for (const std::string& wrong : result.wrong) coppice::answer += "\n" + wrong;
  return coppice::answer.c_str();
}
