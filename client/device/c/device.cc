// coppice_device.h: the device.

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/device/c/coppice_device.h"
#include "client/device/c/device_handle.h"
#include "client/device/c/handles.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

using coppice::CopyIn;
using coppice::CopyOut;
using coppice::Guarded;

namespace coppice {
namespace {

constexpr uint64_t kNanos = 1'000'000'000;
// As programs know the struct that were built before there were relays.
constexpr size_t kFirstDeviceOptionsBytes = offsetof(coppice_device_options, relay_key);

// 0 stands for no limit.
std::optional<uint64_t> Limit(uint64_t number) {
  return number == 0 ? std::nullopt : std::make_optional(number);
}

StatusOr<Policy> ReadPolicy(const coppice_device_options& options) {
  StatusOr<Budget> max_epsilon = Budget::FromNanos(options.max_epsilon_nanos);
  if (!max_epsilon.ok()) {
    return InvalidArgumentError("max_epsilon_nanos must be set, from 1 to 10^18");
  }
  Policy policy{.max_epsilon = *max_epsilon,
                .max_waiting = Limit(options.max_waiting),
                .max_journal_bytes = Limit(options.max_journal_bytes)};
  if (options.max_total_epsilon_nanos != 0) {
    StatusOr<Budget> total = Budget::FromNanos(options.max_total_epsilon_nanos);
    if (!total.ok()) return InvalidArgumentError("max_total_epsilon_nanos is above 10^18");
    policy.max_total_epsilon = *total;
  }
  if (options.max_epsilon_direct_nanos != 0) {
    StatusOr<Budget> direct = Budget::FromNanos(options.max_epsilon_direct_nanos);
    if (!direct.ok()) return InvalidArgumentError("max_epsilon_direct_nanos is above 10^18");
    policy.max_epsilon_direct = *direct;
  }
  COPPICE_ASSIGN_OR_RETURN(policy.allowed_in_clear,
                           ReadNames("shows", options.shows, options.num_shows));
  COPPICE_ASSIGN_OR_RETURN(policy.join_ids,
                           ReadNames("join_ids", options.join_ids, options.num_join_ids));
  COPPICE_RETURN_IF_ERROR(policy.CheckLists());
  if (options.num_own_columns > 0) {
    COPPICE_ASSIGN_OR_RETURN(policy.own_schema,
                             ReadOwnSchema(options.own_columns, options.num_own_columns));
  }
  return policy;
}

StatusOr<RelayPolicy> ReadRelayPolicy(const coppice_device_options& options) {
  RelayPolicy policy{.min_batch = options.min_batch,
                     .max_offer_bytes = options.max_offer_bytes,
                     .max_send_delay_seconds = options.max_send_delay_seconds};
  // A response takes fewer than COPPICE_MAX_RESPONSE_BYTES then, and 32 bits are enough for the
  // memory that reading it takes.
  if (policy.max_offer_bytes > kMaxOfferBytes) {
    return InvalidArgumentError("max_offer_bytes is above 16 MiB");
  }
  if (options.relay_key == nullptr) return policy;
  std::copy_n(options.relay_key, policy.relay_key.size(), policy.relay_key.begin());
  if (options.curator_key != nullptr &&
      std::equal(policy.relay_key.begin(), policy.relay_key.end(), options.curator_key)) {
    return InvalidArgumentError(
        "relay_key is the curator's; a relay is another party, with a key of its own");
  }
  return policy;
}

StatusOr<OfferPolicy> ReadOfferPolicy(const coppice_device_options& options) {
  OfferPolicy policy{.demand_pin = options.require_pin != 0,
                     .min_reports = options.min_reports,
                     .max_offer_bytes = options.max_offer_bytes};
  if (options.curator_key != nullptr) {
    policy.curator_key.emplace();
    std::copy_n(options.curator_key, policy.curator_key->size(), policy.curator_key->begin());
  } else if (policy.demand_pin) {
    return InvalidArgumentError(
        "curator_key must be set, or require_pin be 0 to trust the first key that is seen");
  }
  return policy;
}

std::function<int64_t()> ReadClock(const coppice_device_options& options) {
  if (options.clock == nullptr) {
    return [] { return static_cast<int64_t>(std::time(nullptr)); };
  }
  return [clock = options.clock, context = options.clock_context] { return clock(context); };
}

// A journal that the caller keeps.
class KeptJournal final : public JournalStorage {
 public:
  explicit KeptJournal(const coppice_journal_keeper& keeper) : keeper_(keeper) {}

  StatusOr<std::string> ReadAll() override {
    if (keeper_.size > 0) {
      return std::string(reinterpret_cast<const char*>(keeper_.bytes), keeper_.size);
    }
    std::string bytes = Journal::NewBytes();
    COPPICE_RETURN_IF_ERROR(Keep(/*replaces=*/true, bytes));
    return bytes;
  }
  Status Write(const JournalWrite& write) override {
    return Keep(write.kind == JournalWrite::Kind::kReplace, write.bytes);
  }
  Status Truncate(uint64_t size) override {
    return Keep(/*replaces=*/true, std::string_view(reinterpret_cast<const char*>(keeper_.bytes),
                                                    static_cast<size_t>(size)));
  }

 private:
  Status Keep(bool replaces, std::string_view bytes) {
    const int32_t code =
        keeper_.write(keeper_.context, replaces ? 1 : 0,
                      reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (code == COPPICE_OK) return OkStatus();
    const bool is_code = code > 0 && code <= 16;
    return Status(is_code ? static_cast<StatusCode>(code) : StatusCode::kUnavailable,
                  "the journal's keeper could not keep what was written");
  }

  coppice_journal_keeper keeper_;  // its bytes are there only while the journal is opened
};

StatusOr<std::unique_ptr<JournalStore>> OpenJournal(const coppice_device_options& options) {
  if (options.keeper != nullptr) {
    coppice_journal_keeper keeper{};
    if (!CopyIn(options.keeper, keeper) || keeper.write == nullptr ||
        (keeper.bytes == nullptr && keeper.size > 0)) {
      return Missing("the keeper, its write or its bytes");
    }
    return JournalStore::OpenOn(std::make_unique<KeptJournal>(keeper), "the journal");
  }
#ifdef __wasm__
  return InvalidArgumentError("there are no files here: set keeper");
#else
  return JournalStore::Open(options.journal_path);
#endif
}

Status CheckJournal(const coppice_device_options& options) {
  const bool has_path = options.journal_path != nullptr && *options.journal_path != '\0';
  if (options.keeper == nullptr) return has_path ? OkStatus() : Missing("journal_path");
  return !has_path
             ? OkStatus()
             : InvalidArgumentError("a journal has a file or a keeper; leave one of them NULL");
}

// Where there is no room to write the journal anew now, the next visit does.
void ForgetFinal(coppice_device& device) {
  (void)device.journal->Change([&](Journal& journal) { return journal.Forget(device.clock()); });
}

StatusOr<std::unique_ptr<coppice_device>> OpenDevice(const coppice_device_options& options) {
  COPPICE_RETURN_IF_ERROR(CheckJournal(options));
  if (options.subject == nullptr) return Missing("subject");
  COPPICE_ASSIGN_OR_RETURN(Policy policy, ReadPolicy(options));
  auto device = std::make_unique<coppice_device>(std::move(policy));
  device->subject = options.subject;
  COPPICE_ASSIGN_OR_RETURN(device->relay.policy, ReadRelayPolicy(options));
  COPPICE_ASSIGN_OR_RETURN(device->offers, ReadOfferPolicy(options));
  device->knows_relay = options.relay_key != nullptr;
  device->max_total_nanos = Limit(options.max_total_epsilon_nanos);
  device->clock = ReadClock(options);
  // OpenSSL's generator takes its memory at the first draw: here, where there is no row yet.
  COPPICE_RETURN_IF_ERROR(device->random.UniformBelow(2).status());
  COPPICE_ASSIGN_OR_RETURN(device->journal, OpenJournal(options));
  ForgetFinal(*device);
  return device;
}

StatusOr<coppice_device_state> StateOf(const coppice_device& device) {
  COPPICE_ASSIGN_OR_RETURN(const JournalStore::Held journal, device.journal->Hold());
  coppice_device_state state{};
  for (const JournalEntry& entry : journal->Entries()) {
    state.answers += entry.subject == device.subject ? 1 : 0;
  }
  state.waiting = journal->CountUndelivered();
  const std::optional<Budget> spent = journal->Spent(device.subject);
  state.spent_epsilon_nanos = spent.has_value() ? spent->nanos() : 0;
  state.left_epsilon_nanos = UINT64_MAX;
  if (device.max_total_nanos.has_value()) {
    state.left_epsilon_nanos =
        *device.max_total_nanos - std::min(*device.max_total_nanos, state.spent_epsilon_nanos);
  }
  state.journal_bytes = journal->SizeBytes();
  state.opted_out = journal->OptedOut() ? 1 : 0;
  return state;
}

StatusOr<std::vector<JournalEntry>> EntriesOf(const coppice_device& device) {
  COPPICE_ASSIGN_OR_RETURN(const JournalStore::Held journal, device.journal->Hold());
  std::vector<JournalEntry> entries = journal->Entries();
  std::erase_if(entries,
                [&](const JournalEntry& entry) { return entry.subject != device.subject; });
  return entries;
}

coppice_answer AnswerOf(const JournalEntry& entry) {
  const std::string& sent =
      entry.sealed.has_value() ? entry.sealed->ciphertext : entry.report.payload;
  coppice_answer answer{.struct_size = sizeof(coppice_answer),
                        .study = entry.report.study.c_str(),
                        .epsilon_nanos = entry.epsilon.nanos(),
                        .delivered = entry.delivered ? 1 : 0,
                        .forgotten = entry.delivered ? 1 : 0,
                        .payload = nullptr,
                        .payload_size = sent.size(),
                        .sealed = entry.sealed.has_value() ? 1 : 0,
                        .curator_key = entry.curator.has_value() ? entry.curator->data() : nullptr};
  if (!entry.delivered) answer.payload = reinterpret_cast<const uint8_t*>(sent.data());
  return answer;
}

}  // namespace
}  // namespace coppice

// WebAssembly has no clock that goes on while the machine sleeps. A wait is longer there by that.
#ifdef __wasm__
constexpr clockid_t kSinceBoot = CLOCK_MONOTONIC;
#else
constexpr clockid_t kSinceBoot = CLOCK_BOOTTIME;
#endif

coppice::DeviceTime coppice_device::Now() const {
  timespec since_boot{};
  clock_gettime(kSinceBoot, &since_boot);
  return {.unix_seconds = clock(),
          .milliseconds_since_boot =
              int64_t{since_boot.tv_sec} * 1000 + since_boot.tv_nsec / 1'000'000};
}

using namespace coppice;  // NOLINT: below is C, which has no prefixes

const char* coppice_device_version(void) { return COPPICE_VERSION; }

void coppice_device_options_init_sized(coppice_device_options* options, size_t size) {
  coppice_device_options defaults{};
  defaults.subject = "this device";
  defaults.max_epsilon_nanos = 4 * kNanos;
  defaults.max_total_epsilon_nanos = 8 * kNanos;
  defaults.max_waiting = 100;
  defaults.max_journal_bytes = 256 << 10;
  defaults.require_pin = 1;
  const RelayPolicy relay;
  defaults.min_batch = relay.min_batch;
  defaults.max_offer_bytes = relay.max_offer_bytes;
  defaults.max_send_delay_seconds = relay.max_send_delay_seconds;
  InitSized(defaults, options, size);
}

// The macro of its name would take its place.
void(coppice_device_options_init)(coppice_device_options* options) {
  coppice_device_options_init_sized(options, kFirstDeviceOptionsBytes);
}

int32_t coppice_key_parse(const char* text, uint8_t key[32], coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    if (text == nullptr || key == nullptr) return Missing("the text or the key");
    COPPICE_ASSIGN_OR_RETURN(const PublicKey parsed, ParsePublicKey(text));
    std::copy(parsed.begin(), parsed.end(), key);
    return OkStatus();
  });
}

int32_t coppice_device_open(const coppice_device_options* options, coppice_device** device,
                            coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    if (device == nullptr) return Missing("where to put the device");
    *device = nullptr;
    coppice_device_options read;
    coppice_device_options_init(&read);
    if (!CopyIn(options, read)) return Missing("options");
    COPPICE_ASSIGN_OR_RETURN(auto opened, OpenDevice(read));
    *device = opened.release();
    return OkStatus();
  });
}

void coppice_device_close(coppice_device* device) {
  if (device == nullptr || device->in_callback) return;
  delete device;
}

int32_t coppice_device_opt_out(coppice_device* device, int32_t opted_out, coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    if (device == nullptr) return Missing("the device");
    return device->journal->Change(
        [&](Journal& journal) { return journal.SetOptedOut(opted_out != 0); });
  });
}

int32_t coppice_device_get_state(coppice_device* device, coppice_device_state* state,
                                 coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    if (device == nullptr) return Missing("the device");
    COPPICE_ASSIGN_OR_RETURN(const coppice_device_state now, StateOf(*device));
    return CopyOut(now, state) ? OkStatus() : Missing("the state");
  });
}

int32_t coppice_device_history(coppice_device* device,
                               void (*answer)(void* context, const coppice_answer*), void* context,
                               coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    if (device == nullptr || answer == nullptr) return Missing("the device or the callback");
    COPPICE_ASSIGN_OR_RETURN(const std::vector<JournalEntry> entries, EntriesOf(*device));
    for (const JournalEntry& entry : entries) {
      const coppice_answer shown = AnswerOf(entry);
      answer(context, &shown);
    }
    return OkStatus();
  });
}

int32_t coppice_device_give_up(coppice_device* device, const char* study, coppice_error* error) {
  return Guarded(error, [&]() -> Status {
    if (device == nullptr || study == nullptr) return Missing("the device or the study");
    COPPICE_RETURN_IF_ERROR(device->journal->Change(
        [&](Journal& journal) { return journal.MarkDelivered(study, {device->subject}); }));
    ForgetFinal(*device);
    return OkStatus();
  });
}
