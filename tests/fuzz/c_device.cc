// Every function of the C interface that takes bytes: a curator's responses to each call of a
// visit, models and rows for them, keys. The first byte selects the function. Nothing may crash, no
// row may be answered, and nothing may be sent to a peer that has not proved to be the curator.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "client/c/coppice_device.h"
#include "client/journal.h"
#include "common/study/signature.h"
#include "coppice/v1/study.pb.h"
#include "tests/fuzz/fuzz_input.h"

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

const coppice::SigningKey& CuratorsKey() {
  static const coppice::SigningKey key = [] {
    coppice::SigningKey::Seed seed{};
    seed.fill(7);
    return *coppice::SigningKey::FromSeed(seed);
  }();
  return key;
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
    const auto journal = coppice::Journal::Open(path).value();
    const coppice::Budget epsilon = *coppice::Budget::FromEpsilon(1);
    coppice::SeenManifest seen{
        .curator = "curator:1",
        .manifest = {
            .study = "s", .epsilon = epsilon, .mechanism = coppice::MechanismKind::kDirect}};
    seen.key = seen.root = CuratorsKey().public_key();
    seen.manifest.key = coppice::KeyIdOf(seen.key);
    Require(journal->Remember(seen).ok(), "no manifest");
    coppice::JournalEntry answer{.subject = "this device", .epsilon = epsilon, .report = {}};
    answer.report.study = "s";
    answer.report.payload = "payload";
    Require(journal->Append({answer}).ok(), "no answer");
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
  const auto proof = *CuratorsKey().Sign(coppice::kCuratorDomain, request.challenge());
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

// Opens a model, and predicts for a row whose texts are the model's own bytes.
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
  static constexpr Function kFunctions[] = {TakeOffer, OpenModel, ParseKey, TakeProof,
                                            TakeDelivery};
  kFunctions[data[0] % std::size(kFunctions)](data + 1, size - 1);
  return 0;
}
