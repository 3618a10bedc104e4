// Every function of the C interface that takes bytes: a curator's and a relay's responses to each
// call of a visit, models and rows for them, keys. The first byte selects the function. Nothing may
// crash; without the right signatures no row may be answered, nothing sent and no ticket taken; and
// no envelope may make a device decline.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "client/device/c/coppice_device.h"
#include "client/device/deal.h"
#include "client/device/journal_store.h"
#include "common/encrypt/sealing_key.h"
#include "common/terms/signature.h"
#include "common/wire/calls.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "common/wire/proto/packed_forest.h"
#include "coppice/v1/relay.pb.h"
#include "coppice/v1/study.pb.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/schemas.h"

namespace {

using coppice::testing::Require;

// Returns a path for this process alone.
std::string JournalPath(const std::string& name) {
  const std::string file = "fuzz_c_device_" + name + "_" + std::to_string(getpid());
  return (std::filesystem::temp_directory_path() / file).string();
}

// Removes a file when the process ends. A journal refuses writes once its file is gone.
struct RemovedAtTheEnd {
  const std::string path;
  ~RemovedAtTheEnd() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

coppice_device* Open(const std::string& path) {
  coppice_device_options options;
  coppice_device_options_init(&options);
  options.journal_path = path.c_str();
  options.require_pin = 0;
  coppice_device* opened = nullptr;
  Require(coppice_device_open(&options, &opened, nullptr) == COPPICE_OK, "no journal");
  return opened;
}

// Returns a device that trusts nobody yet, with an empty journal.
coppice_device* TheDevice() {
  static coppice_device* const device = [] {
    const std::string path = JournalPath("new");
    coppice_device* const opened = Open(path);
    std::filesystem::remove(path);  // it stays open
    return opened;
  }();
  return device;
}

coppice::SigningKey KeyOf(uint8_t number) {
  coppice::SigningKey::Seed seed{};
  seed.fill(number);
  return *coppice::SigningKey::FromSeed(seed);
}

const coppice::SigningKey& CuratorsKey() {
  static const coppice::SigningKey key = KeyOf(7);
  return key;
}

const coppice::SigningKey& RelaysKey() {
  static const coppice::SigningKey key = KeyOf(8);
  return key;
}

coppice::DirectKey DirectKeyOfCurator() {
  coppice::seal::SealingKey::Secret secret{};
  secret.fill(11);
  return {.suite = 1, .key = coppice::seal::SealingKey::FromSecret(secret)->public_key()};
}

// Returns a device whose answer waits for the curator: it delivers, and asks for no offer.
coppice_device* DeviceThatWaits() {
  static coppice_device* device = nullptr;
  coppice_device_state state;
  state.struct_size = sizeof(state);
  if (device != nullptr) {
    Require(coppice_device_get_state(device, &state, nullptr) == COPPICE_OK, "no state");
    if (state.waiting > 0) return device;
    coppice_device_close(device);
  }
  static const RemovedAtTheEnd file{JournalPath("waits")};
  const std::string& path = file.path;
  std::filesystem::remove(path);
  {
    const auto store = coppice::JournalStore::Open(path).value();
    const coppice::Budget epsilon = *coppice::Budget::FromEpsilon(1);
    coppice::Manifest manifest{
        .study = "s", .epsilon = epsilon, .mechanism = coppice::MechanismKind::kDirect};
    manifest.key = coppice::KeyIdOf(CuratorsKey().public_key());
    manifest.direct = coppice::DirectSealing{.key = DirectKeyOfCurator(), .report_bytes = 64};
    const coppice::SeenManifest seen{.curator = "curator:1",
                                     .bytes = coppice::WriteManifest(manifest),
                                     .manifest = manifest,
                                     .key = CuratorsKey().public_key(),
                                     .root = CuratorsKey().public_key()};
    Require(store->Change([&](coppice::Journal& journal) { return journal.Remember(seen); }).ok(),
            "no manifest");
    coppice::JournalEntry answer{.subject = "this device", .epsilon = epsilon, .report = {}};
    answer.report.study = "s";
    answer.report.payload = "payload";
    Require(store->Change([&](coppice::Journal& journal) { return journal.Append({answer}); }).ok(),
            "no answer");
  }
  device = Open(path);
  return device;
}

// Returns the next call, which must be `method`.
coppice_call CallOf(coppice_visit* visit, const std::string& method) {
  coppice_call call;
  call.struct_size = sizeof(call);
  Require(coppice_visit_next(visit, &call, nullptr) == COPPICE_OK && call.method != nullptr,
          "no call");
  Require(std::string(call.method).ends_with(method), "another call");
  return call;
}

coppice_visit* VisitToDeliver() {
  coppice_visit_options options;
  coppice_visit_options_init(&options);
  options.curator = "curator:1";
  coppice_visit* visit = nullptr;
  Require(coppice_visit_open(DeviceThatWaits(), &options, &visit, nullptr) == COPPICE_OK,
          "no visit");
  return visit;
}

// Guessed bytes cannot sign a challenge that was just drawn.
void TakeProof(const uint8_t* data, size_t size) {
  coppice_visit* const visit = VisitToDeliver();
  CallOf(visit, "/GetCuratorKeys");
  (void)coppice_visit_take(visit, data, size, nullptr);
  coppice_call call;
  call.struct_size = sizeof(call);
  (void)coppice_visit_next(visit, &call, nullptr);
  Require(call.method == nullptr, "a report goes to who proved nothing");
  coppice_visit_close(visit);
}

void TakeDelivery(const uint8_t* data, size_t size) {
  coppice_visit* const visit = VisitToDeliver();
  const coppice_call asked = CallOf(visit, "/GetCuratorKeys");
  coppice::v1::GetCuratorKeysRequest request;
  Require(request.ParseFromArray(asked.request, static_cast<int>(asked.request_size)),
          "no message");
  coppice::v1::GetCuratorKeysResponse response;
  const coppice::PublicKey key = CuratorsKey().public_key();
  response.mutable_key()->assign(key.begin(), key.end());
  const coppice::DirectKey direct = DirectKeyOfCurator();
  response.set_direct_suite(direct.suite);
  response.set_direct_key(std::string(direct.key.begin(), direct.key.end()));
  const auto proof = *CuratorsKey().Sign(coppice::kCuratorDomain,
                                         coppice::ProvenBytes(request.challenge(), direct));
  response.mutable_proof()->assign(proof.begin(), proof.end());
  const std::string bytes = response.SerializeAsString();
  Require(coppice_visit_take(visit, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                             nullptr) == COPPICE_OK,
          "a proof is refused");
  CallOf(visit, "/SubmitReports");
  (void)coppice_visit_take(visit, data, size, nullptr);
  coppice_visit_close(visit);
}

void TakeOffer(const uint8_t* data, size_t size) {
  coppice_visit_options options;
  coppice_visit_options_init(&options);
  options.curator = "curator:1";
  options.study = "s";
  options.read_row = [](void*, const coppice_terms*, coppice_row*) {
    Require(false, "an offer that nobody signed was answered");
  };
  coppice_visit* visit = nullptr;
  coppice_error error;
  Require(coppice_visit_open(TheDevice(), &options, &visit, &error) == COPPICE_OK, "no visit");
  coppice_call call;
  call.struct_size = sizeof(call);
  Require(coppice_visit_next(visit, &call, &error) == COPPICE_OK, "no call");
  (void)coppice_visit_take(visit, data, size, &error);
  (void)coppice_visit_next(visit, &call, &error);
  coppice_visit_close(visit);
}

// As long as the envelope in the corpus.
constexpr uint32_t kOfferBytes = 82;

// What an honest relay says of a deal of study "s", whose one tree is a leaf.
std::string HonestDeal() {
  const coppice::Schema schema =
      *coppice::Schema::Create({coppice::testing::Numeric("x", 0, 10)}, "y", {"no", "yes"});
  coppice::Terms terms{.study = "s",
                       .schema = std::make_shared<const coppice::Schema>(schema),
                       .trees = 1,
                       .epsilon = *coppice::Budget::Parse("1"),
                       .mechanism = coppice::MechanismKind::kDirect};
  const coppice::Forest forest = {*coppice::Tree::Create({coppice::Node{}}, schema)};
  terms.forest_root = coppice::PackForest(forest).merkle.root;
  const std::string terms_bytes = coppice::SerializeTerms(terms);
  coppice::seal::SealingKey::Secret secret{};
  secret.fill(9);
  const auto sealing_key = coppice::seal::SealingKey::FromSecret(secret)->public_key();
  coppice::Manifest manifest{.study = "s",
                             .fingerprint = coppice::FingerprintOf(terms_bytes),
                             .epsilon = terms.epsilon,
                             .mechanism = terms.mechanism,
                             .sequence = 1,
                             .key = coppice::KeyIdOf(CuratorsKey().public_key())};
  manifest.sealing = coppice::ManifestSealing{
      .suite = 1, .key = sealing_key, .min_batch = 1000, .payload_bytes = 8};
  const coppice::RelayTerms relay{
      .study = "s",
      .fingerprint = manifest.fingerprint,
      .sealing_key = coppice::seal::SealingKeyIdOf(coppice::seal::Aead::kAes128Gcm, sealing_key),
      .min_batch = 1000,
      .tickets = 1000,
      .deal_until_unix_seconds = 2'000'000'000,
      .freeze_at_unix_seconds = 2'000'003'600,
      .relay_key = coppice::KeyIdOf(RelaysKey().public_key()),
      .offer_bytes = kOfferBytes};
  const std::string manifest_bytes = coppice::WriteManifest(manifest);
  coppice::v1::GetRelayTermsResponse response;
  response.set_relay_terms(coppice::WriteRelayTerms(relay));
  const auto signature = *RelaysKey().Sign(coppice::kRelayDomain, response.relay_terms());
  response.mutable_signature()->assign(signature.begin(), signature.end());
  response.set_terms(terms_bytes);
  *response.mutable_manifest() = coppice::ToProto(coppice::SignedManifest{
      .bytes = manifest_bytes,
      .signature = *CuratorsKey().Sign(coppice::kManifestDomain, manifest_bytes),
      .key = CuratorsKey().public_key(),
      .endorsements = {}});
  return response.SerializeAsString();
}

// A device that has both pins and no answer.
coppice_device* DeviceOfRelay() {
  static coppice_device* device = nullptr;
  static const RemovedAtTheEnd file{JournalPath("relay")};
  coppice_device_state state;
  state.struct_size = sizeof(state);
  if (device != nullptr) {
    Require(coppice_device_get_state(device, &state, nullptr) == COPPICE_OK, "no state");
    if (state.answers == 0) return device;
    coppice_device_close(device);
  }
  std::filesystem::remove(file.path);
  const coppice::PublicKey curator = CuratorsKey().public_key();
  const coppice::PublicKey relay = RelaysKey().public_key();
  coppice_device_options options;
  coppice_device_options_init(&options);
  options.journal_path = file.path.c_str();
  options.curator_key = curator.data();
  options.relay_key = relay.data();
  options.max_send_delay_seconds = 0;
  options.clock = [](void*) { return int64_t{1'900'000'000}; };
  Require(coppice_device_open(&options, &device, nullptr) == COPPICE_OK, "no journal");
  return device;
}

coppice_visit* VisitToRelay() {
  coppice_visit_options options;
  coppice_visit_options_init(&options);
  options.relay = "relay:1";
  options.study = "s";
  options.read_row = [](void*, const coppice_terms*, coppice_row*) {};
  coppice_visit* visit = nullptr;
  Require(coppice_visit_open(DeviceOfRelay(), &options, &visit, nullptr) == COPPICE_OK, "no visit");
  CallOf(visit, "/GetRelayTerms");
  return visit;
}

int32_t TakeBytes(coppice_visit* visit, const std::string& bytes) {
  return coppice_visit_take(visit, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                            nullptr);
}

void TakeDeal(const uint8_t* data, size_t size) {
  coppice_visit* const visit = VisitToRelay();
  (void)coppice_visit_take(visit, data, size, nullptr);
  coppice_call call;
  call.struct_size = sizeof(call);
  (void)coppice_visit_next(visit, &call, nullptr);
  Require(call.method == nullptr, "a ticket is taken of a deal that nobody signed");
  coppice_visit_close(visit);
}

// Takes `response` as that to TakeOffer; whether it has a ticket.
bool TakeTicket(coppice_visit* visit, const std::string& response) {
  static const std::string deal = HonestDeal();
  Require(TakeBytes(visit, deal) == COPPICE_OK, "an honest deal is declined");
  CallOf(visit, "/TakeOffer");
  const int32_t code = TakeBytes(visit, response);
  Require(code == COPPICE_OK || code == COPPICE_DATA_LOSS, "a ticket is declined");
  return code == COPPICE_OK;
}

void TakeEnvelope(const uint8_t* data, size_t size) {
  coppice_visit* const visit = VisitToRelay();
  if (TakeTicket(visit, std::string(reinterpret_cast<const char*>(data), size))) {
    CallOf(visit, "/SubmitSealedReport");
  }
  coppice_visit_close(visit);
}

void TakeRelaysOutcome(const uint8_t* data, size_t size) {
  coppice_visit* const visit = VisitToRelay();
  coppice::v1::RelayedOffer offer;
  offer.set_ticket(std::string(32, 't'));
  offer.set_claim(std::string(16, 'c'));
  const std::string content = offer.SerializeAsString();
  coppice::v1::TakeOfferResponse response;
  std::string envelope = std::string(3, '\0') + static_cast<char>(content.size()) + content;
  envelope.resize(kOfferBytes, '\0');
  response.set_envelope(envelope);
  Require(TakeTicket(visit, response.SerializeAsString()), "no ticket");
  CallOf(visit, "/SubmitSealedReport");
  (void)coppice_visit_take(visit, data, size, nullptr);
  coppice_outcome outcome;
  outcome.struct_size = sizeof(outcome);
  Require(coppice_visit_get_outcome(visit, &outcome) == COPPICE_OK, "no outcome");
  const auto read = coppice::ReadSealedResult(coppice::testing::AsBytes(data, size));
  Require(outcome.stored + outcome.lost == (read.ok() ? 1 : 0), "an outcome is made up");
  coppice_visit_close(visit);
}

// A model, and a row of it whose texts are the model's own bytes.
void OpenModel(const uint8_t* data, size_t size) {
  coppice_model* model = nullptr;
  if (coppice_model_open(data, size, &model, nullptr) != COPPICE_OK) return;
  const coppice_schema* const schema = coppice_model_schema(model);
  coppice_row* row = nullptr;
  Require(coppice_model_new_row(model, &row, nullptr) == COPPICE_OK, "no row");
  coppice_prediction prediction;
  prediction.struct_size = sizeof(prediction);
  const uint32_t columns = coppice_schema_num_columns(schema);
  for (uint32_t i = 0; i < columns && i < 20; ++i) {
    coppice_column column;
    Require(coppice_schema_column(schema, i, &column) == COPPICE_OK, "no column");
    (void)coppice_schema_value(schema, i, column.num_values);
    coppice_row_set_text(row, column.name, reinterpret_cast<const char*>(data), size % 20);
    Require(coppice_model_predict(model, row, &prediction, nullptr) == COPPICE_OK, "no prediction");
    coppice_row_set_number(row, column.name, static_cast<double>(size));
    Require(coppice_model_predict(model, row, &prediction, nullptr) == COPPICE_OK, "no prediction");
  }
  coppice_row_close(row);
  coppice_model_close(model);
}

void ParseKey(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  uint8_t key[32];
  coppice_error error;
  (void)coppice_key_parse(text.c_str(), key, &error);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  using Function = void (*)(const uint8_t*, size_t);
  static constexpr Function kFunctions[] = {TakeOffer,    OpenModel,        ParseKey,
                                            TakeProof,    TakeDelivery,     TakeDeal,
                                            TakeEnvelope, TakeRelaysOutcome};
  kFunctions[data[0] % std::size(kFunctions)](data + 1, size - 1);
  return 0;
}
