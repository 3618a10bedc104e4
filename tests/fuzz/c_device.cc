// Every function of the C interface that takes bytes: responses of a curator, models and rows for
// them, keys. The first byte says which. Nothing may crash, and nothing may be answered.

#include <filesystem>
#include <string>

#include "client/c/coppice_device.h"
#include "tests/fuzz/fuzz_input.h"

namespace {

using coppice::testing::Require;

// A device that trusts nobody yet, with an empty journal of its own.
coppice_device* TheDevice() {
  static coppice_device* const device = [] {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("fuzz_c_device_" + std::to_string(getpid())))
            .string();
    coppice_device_options options;
    coppice_device_options_init(&options);
    options.journal_path = path.c_str();
    options.require_pin = 0;
    coppice_device* opened = nullptr;
    Require(coppice_device_open(&options, &opened, nullptr) == COPPICE_OK, "no journal");
    std::filesystem::remove(path);  // it stays open
    return opened;
  }();
  return device;
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
  static constexpr Function kFunctions[] = {TakeOffer, OpenModel, ParseKey};
  kFunctions[data[0] % 3](data + 1, size - 1);
  return 0;
}
