// The module of client/js: functions over coppice_device.h with arguments that JavaScript can give,
// which are numbers and addresses in this module's memory. They decide nothing; src/core.ts calls
// them, and puts what it calls back into the module's imports.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "client/device/c/coppice_device.h"

#define EXPORT(name) extern "C" __attribute__((export_name(#name)))

// What the module calls in JavaScript. A module has one device, so nothing says whose it is.
extern "C" {
__attribute__((import_module("coppice"), import_name("clock"))) int64_t coppice_js_clock();
__attribute__((import_module("coppice"), import_name("write"))) void coppice_js_write(
    int32_t replaces, const uint8_t* bytes, size_t size);
__attribute__((import_module("coppice"), import_name("review"))) int32_t coppice_js_review(
    const coppice_terms* terms);
__attribute__((import_module("coppice"), import_name("read_row"))) void coppice_js_read_row(
    const coppice_terms* terms, coppice_row* row);
__attribute__((import_module("coppice"), import_name("answer"))) void coppice_js_answer(
    const char* study, uint64_t epsilon_nanos, int32_t delivered, const uint8_t* payload,
    size_t payload_size, int32_t sealed, const uint8_t* curator_key);
}

namespace {

coppice_error last_error;

// Options that are being put together, and the texts that they refer to.
struct Settings {
  coppice_device_options options{};
  std::deque<std::string> texts;  // stay where they are
  std::vector<const char*> shows, join_ids;
  std::vector<coppice_own_column> columns;
  std::deque<std::vector<const char*>> values;  // of each column
  uint8_t curator_key[32], relay_key[32];

  const char* Keep(std::string_view text) { return texts.emplace_back(text).c_str(); }
};

struct NumberOption {
  std::string_view name;
  void (*set)(coppice_device_options& options, uint64_t value);
};

#define NUMBER(member)                                                                             \
  {                                                                                                \
#member, [](coppice_device_options & options,                                                  \
                uint64_t value) { options.member = static_cast<decltype(options.member)>(value); } \
  }
constexpr NumberOption kNumbers[] = {NUMBER(max_epsilon_nanos),
                                     NUMBER(max_total_epsilon_nanos),
                                     NUMBER(max_waiting),
                                     NUMBER(max_journal_bytes),
                                     NUMBER(min_reports),
                                     NUMBER(require_pin),
                                     NUMBER(min_batch),
                                     NUMBER(max_offer_bytes),
                                     NUMBER(max_send_delay_seconds),
                                     NUMBER(max_epsilon_direct_nanos)};
#undef NUMBER

void SetError(int32_t code, const char* text) {
  last_error.code = code;
  size_t at = 0;
  for (; text[at] != '\0' && at + 1 < COPPICE_ERROR_TEXT_BYTES; ++at)
    last_error.text[at] = text[at];
  last_error.text[at] = '\0';
}

}  // namespace

// ---- Memory and errors

EXPORT(take_memory) void* TakeMemory(size_t bytes) { return std::malloc(bytes); }
EXPORT(give_memory) void GiveMemory(void* memory) { std::free(memory); }
// What the last function that returned a code said, with a zero byte at its end.
EXPORT(error_text) const char* ErrorText() { return last_error.text; }
EXPORT(error_code) int32_t ErrorCode() { return last_error.code; }
EXPORT(version) const char* Version() { return coppice_device_version(); }

// ---- A device

EXPORT(settings_new) Settings* NewSettings() {
  auto* const settings = new Settings;
  coppice_device_options_init(&settings->options);
  return settings;
}
EXPORT(settings_free) void FreeSettings(Settings* settings) { delete settings; }

// Sets a number by the name of its member.
EXPORT(settings_number)
int32_t SetNumber(Settings* settings, const char* name, uint64_t value) {
  for (const NumberOption& option : kNumbers) {
    if (option.name != name) continue;
    option.set(settings->options, value);
    return COPPICE_OK;
  }
  SetError(COPPICE_INVALID_ARGUMENT, "no option has this name");
  return COPPICE_INVALID_ARGUMENT;
}

// Sets a text by the name of its member; of lists it adds one.
EXPORT(settings_text)
int32_t SetText(Settings* settings, const char* member, const char* text) {
  const std::string_view name = member;
  if (name == "subject") {
    settings->options.subject = settings->Keep(text);
  } else if (name == "shows") {
    settings->shows.push_back(settings->Keep(text));
  } else if (name == "join_ids") {
    settings->join_ids.push_back(settings->Keep(text));
  } else if (name == "curator_key") {
    settings->options.curator_key = settings->curator_key;
    return coppice_key_parse(text, settings->curator_key, &last_error);
  } else if (name == "relay_key") {
    settings->options.relay_key = settings->relay_key;
    return coppice_key_parse(text, settings->relay_key, &last_error);
  } else {
    SetError(COPPICE_INVALID_ARGUMENT, "no option has this name");
    return COPPICE_INVALID_ARGUMENT;
  }
  return COPPICE_OK;
}

// Adds one of the device's own columns; settings_value() adds to the last one.
EXPORT(settings_column)
void AddColumn(Settings* settings, const char* name, int32_t kind, double min, double max,
               int32_t is_whole, const char* unit) {
  settings->columns.push_back({.name = settings->Keep(name),
                               .kind = kind,
                               .min = min,
                               .max = max,
                               .is_whole = is_whole,
                               .unit = unit == nullptr ? nullptr : settings->Keep(unit),
                               .values = nullptr,
                               .num_values = 0});
  settings->values.emplace_back();
}
EXPORT(settings_value) void AddValue(Settings* settings, const char* value) {
  settings->values.back().push_back(settings->Keep(value));
}

// Opens a device over the `size` bytes that its journal has so far.
EXPORT(device_open)
coppice_device* OpenDevice(Settings* settings, const uint8_t* bytes, size_t size) {
  for (size_t i = 0; i < settings->columns.size(); ++i) {
    settings->columns[i].values = settings->values[i].data();
    settings->columns[i].num_values = settings->values[i].size();
  }
  coppice_device_options& options = settings->options;
  options.shows = settings->shows.data();
  options.num_shows = settings->shows.size();
  options.join_ids = settings->join_ids.data();
  options.num_join_ids = settings->join_ids.size();
  options.own_columns = settings->columns.data();
  options.num_own_columns = settings->columns.size();
  options.clock = [](void*) { return coppice_js_clock(); };
  const coppice_journal_keeper keeper{
      .struct_size = sizeof(keeper),
      .bytes = bytes,
      .size = size,
      .write =
          [](void*, int32_t replaces, const uint8_t* written, size_t written_size) {
            coppice_js_write(replaces, written, written_size);
            return int32_t{COPPICE_OK};
          },
      .context = nullptr};
  options.keeper = &keeper;
  coppice_device* device = nullptr;
  coppice_device_open(&options, &device, &last_error);
  return device;
}
EXPORT(device_close) void CloseDevice(coppice_device* device) { coppice_device_close(device); }

EXPORT(device_opt_out) int32_t OptOut(coppice_device* device, int32_t opted_out) {
  return coppice_device_opt_out(device, opted_out, &last_error);
}
EXPORT(device_give_up) int32_t GiveUp(coppice_device* device, const char* study) {
  return coppice_device_give_up(device, study, &last_error);
}

// Six numbers: answers, waiting, spent, left (all ones: no limit), journal_bytes, opted_out.
EXPORT(device_state) int32_t State(coppice_device* device, uint64_t* numbers) {
  coppice_device_state state{};
  state.struct_size = sizeof(state);
  const int32_t code = coppice_device_get_state(device, &state, &last_error);
  if (code != COPPICE_OK) return code;
  const uint64_t shown[] = {state.answers,
                            state.waiting,
                            state.spent_epsilon_nanos,
                            state.left_epsilon_nanos,
                            state.journal_bytes,
                            static_cast<uint64_t>(state.opted_out)};
  for (size_t i = 0; i < std::size(shown); ++i) numbers[i] = shown[i];
  return code;
}

// Calls `answer` for each.
EXPORT(device_history) int32_t History(coppice_device* device) {
  return coppice_device_history(
      device,
      [](void*, const coppice_answer* answer) {
        coppice_js_answer(answer->study, answer->epsilon_nanos, answer->delivered, answer->payload,
                          answer->payload_size, answer->sealed, answer->curator_key);
      },
      nullptr, &last_error);
}

// ---- A visit. `curator`, `relay`, `study` and `token` may be null.

EXPORT(visit_open)
coppice_visit* OpenVisit(coppice_device* device, const char* curator, const char* relay,
                         const char* study, const uint8_t* token) {
  coppice_visit_options options;
  coppice_visit_options_init(&options);
  options.curator = curator;
  options.relay = relay;
  options.study = study;
  options.submission_token = token;
  options.review = [](void*, const coppice_terms* terms) { return coppice_js_review(terms); };
  options.read_row = [](void*, const coppice_terms* terms, coppice_row* row) {
    coppice_js_read_row(terms, row);
  };
  options.context = nullptr;
  coppice_visit* visit = nullptr;
  coppice_visit_open(device, &options, &visit, &last_error);
  return visit;
}
EXPORT(visit_close) void CloseVisit(coppice_visit* visit) { coppice_visit_close(visit); }

namespace {
coppice_call call;
}
// What to carry: call_method() and so on tell of it until the next call of this one.
EXPORT(visit_next) int32_t Next(coppice_visit* visit) {
  call = {};
  call.struct_size = sizeof(call);
  return coppice_visit_next(visit, &call, &last_error);
}
EXPORT(call_method) const char* CallMethod() { return call.method; }  // null: the visit is over
EXPORT(call_request) const uint8_t* CallRequest() { return call.request; }
EXPORT(call_request_size) size_t CallRequestSize() { return call.request_size; }
EXPORT(call_wait) double CallWait() { return static_cast<double>(call.wait_milliseconds); }
EXPORT(call_takes_ticket) int32_t CallTakesTicket() { return call.takes_ticket; }

EXPORT(visit_take)
int32_t Take(coppice_visit* visit, const uint8_t* response, size_t size) {
  return coppice_visit_take(visit, response, size, &last_error);
}
EXPORT(visit_fail) int32_t Fail(coppice_visit* visit, int32_t code) {
  return coppice_visit_fail(visit, code, &last_error);
}

namespace {
coppice_outcome outcome;
}
// Ten numbers: answered_now, delivered, refused, unknown, of_other_curators, clock_behind_seconds,
// stored, lost, of_others, and the code of the loss. Returns the code of the answer; texts below.
EXPORT(visit_outcome) int32_t Outcome(coppice_visit* visit, int64_t* numbers) {
  outcome = {};
  outcome.struct_size = sizeof(outcome);
  const int32_t code = coppice_visit_get_outcome(visit, &outcome);
  if (code != COPPICE_OK) return code;
  const int64_t shown[] = {outcome.answered_now,
                           static_cast<int64_t>(outcome.delivered),
                           static_cast<int64_t>(outcome.refused),
                           static_cast<int64_t>(outcome.unknown),
                           static_cast<int64_t>(outcome.of_other_curators),
                           outcome.clock_behind_seconds,
                           static_cast<int64_t>(outcome.stored),
                           static_cast<int64_t>(outcome.lost),
                           static_cast<int64_t>(outcome.of_others),
                           outcome.loss.code};
  for (size_t i = 0; i < std::size(shown); ++i) numbers[i] = shown[i];
  return outcome.answer.code;
}
EXPORT(outcome_answer) const char* OutcomeAnswer() { return outcome.answer.text; }
EXPORT(outcome_loss) const char* OutcomeLoss() { return outcome.loss.text; }

// ---- Terms, schemas and rows

EXPORT(terms_study) const char* TermsStudy(const coppice_terms* terms) {
  return coppice_terms_study(terms);
}
EXPORT(terms_epsilon) uint64_t TermsEpsilon(const coppice_terms* terms) {
  return coppice_terms_epsilon_nanos(terms);
}
EXPORT(terms_mechanism) const char* TermsMechanism(const coppice_terms* terms) {
  return coppice_terms_mechanism(terms);
}
EXPORT(terms_schema) const coppice_schema* TermsSchema(const coppice_terms* terms) {
  return coppice_terms_schema(terms);
}

EXPORT(schema_columns) uint32_t SchemaColumns(const coppice_schema* schema) {
  return coppice_schema_num_columns(schema);
}
namespace {
coppice_column column;
}
// Looks at one; the functions below tell of it.
EXPORT(schema_column) int32_t SchemaColumn(const coppice_schema* schema, uint32_t number) {
  return coppice_schema_column(schema, number, &column);
}
EXPORT(column_name) const char* ColumnName() { return column.name; }
EXPORT(column_kind) int32_t ColumnKind() { return column.kind; }
EXPORT(column_is_public) int32_t ColumnIsPublic() { return column.is_public; }
EXPORT(column_min) double ColumnMin() { return column.min; }
EXPORT(column_max) double ColumnMax() { return column.max; }
EXPORT(column_values) uint32_t ColumnValues() { return column.num_values; }
EXPORT(schema_value)
const char* SchemaValue(const coppice_schema* schema, uint32_t number, uint32_t value) {
  return coppice_schema_value(schema, number, value);
}

EXPORT(row_text)
void RowText(coppice_row* row, const char* name, const char* text, size_t size) {
  coppice_row_set_text(row, name, text, size);
}
EXPORT(row_number) void RowNumber(coppice_row* row, const char* name, double number) {
  coppice_row_set_number(row, name, number);
}
EXPORT(row_free) void FreeRow(coppice_row* row) { coppice_row_close(row); }

// ---- Models

EXPORT(model_open) coppice_model* OpenModel(const uint8_t* bytes, size_t size) {
  coppice_model* model = nullptr;
  coppice_model_open(bytes, size, &model, &last_error);
  return model;
}
EXPORT(model_close) void CloseModel(coppice_model* model) { coppice_model_close(model); }
EXPORT(model_schema) const coppice_schema* ModelSchema(const coppice_model* model) {
  return coppice_model_schema(model);
}
EXPORT(model_row) coppice_row* ModelRow(const coppice_model* model) {
  coppice_row* row = nullptr;
  coppice_model_new_row(model, &row, &last_error);
  return row;
}
// Five numbers: class, probability, number, low, high.
EXPORT(model_predict)
int32_t Predict(const coppice_model* model, const coppice_row* row, double* numbers) {
  coppice_prediction prediction{};
  prediction.struct_size = sizeof(prediction);
  const int32_t code = coppice_model_predict(model, row, &prediction, &last_error);
  if (code != COPPICE_OK) return code;
  const double shown[] = {static_cast<double>(prediction.class_number), prediction.probability,
                          prediction.number, prediction.low, prediction.high};
  for (size_t i = 0; i < std::size(shown); ++i) numbers[i] = shown[i];
  return code;
}
