#include "client/device/relay/relayed_device.h"

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/clock.h"
#include "client/device/grpc/relay_client.h"
#include "client/device/policy.h"
#include "client/device/trust.h"
#include "client/python/core/bindings.h"
#include "client/python/core/device_row.h"
#include "client/python/core/journal.h"
#include "client/python/core/turn.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

// The time of sending. Ctrl-C ends a wait before its time, and whoever sends must ask for that.
class InterruptibleClock final : public SendClock {
 public:
  absl::Time WallTime() override { return SendClock::Real().WallTime(); }
  absl::Time TimeSinceBoot() override { return SendClock::Real().TimeSinceBoot(); }
  void SleepUntil(absl::Time since_boot) override {
    interrupted_ = CheckSignals();
    while (interrupted_.ok() && TimeSinceBoot() < since_boot) {
      absl::SleepFor(std::min(since_boot - TimeSinceBoot(), kLook));
      interrupted_ = CheckSignals();
    }
  }

  // Cancelled if the last wait ended before its time.
  const Status& interrupted() const { return interrupted_; }

 private:
  Status interrupted_;
};

// Sends nothing after a wait that Ctrl-C ended: the time would be the owner's, not the drawn one.
class InterruptibleRelay final : public RelayLink {
 public:
  InterruptibleRelay(RelayClient relay, const InterruptibleClock& clock)
      : relay_(std::move(relay)), clock_(clock) {}

  const std::string& address() const override { return relay_.address(); }
  StatusOr<DealOffer> GetRelayTerms(std::string_view study) const override {
    return relay_.GetRelayTerms(study);
  }
  StatusOr<std::string> TakeOffer(std::string_view study, const EpochId& epoch) const override {
    return relay_.TakeOffer(study, epoch);
  }
  StatusOr<SubmitOutcome> Submit(const JournalEntry& entry) const override {
    COPPICE_RETURN_IF_ERROR(clock_.interrupted());
    return relay_.Submit(entry);
  }

 private:
  const RelayClient relay_;
  const InterruptibleClock& clock_;
};

// A relayed device with all that it stands on, so that Python keeps one thing alive.
//
// Threads    safe to share: a call waits for the one before it, and Ctrl-C ends that wait too. A
//            call within another one of its thread raises CoppiceError.
class RelayedDeviceInPython {
 public:
  RelayedDeviceInPython(const ConnectOptions& relay, OfferPolicy offer_policy,
                        const RelayPolicy& relay_policy, std::string subject,
                        std::shared_ptr<Policy> policy, std::shared_ptr<JournalInPython> journal)
      : policy_(std::move(policy)),
        journal_(std::move(journal)),
        relay_policy_(relay_policy),
        answering_(journal_->TurnOf(subject)),
        trust_(std::move(offer_policy), journal_->journal()),
        relay_(ValueOrRaise(RelayClient::Create(relay, RetryOptions())), clock_),
        device_(std::move(subject), RelayedDeviceParts{.policy = *policy_,
                                                       .relay_policy = relay_policy_,
                                                       .journal = journal_->journal(),
                                                       .trust = trust_,
                                                       .relay = relay_,
                                                       .clock = clock_}) {}

  void Answer(const std::string& study, const py::object& read) {
    CheckMayRead(read);
    const auto answer = [&] {
      OpenSslRandom random;
      return device_.Answer(
          study, [&] { return ReadRow(read); }, random);
    };
    RaiseIfError(InMyTurn([&] { return InTurn(answering_, answer); }));
  }

  py::dict Deliver() {
    const Deliveries deliveries = ValueOrRaise(InMyTurn([&]() -> StatusOr<Deliveries> {
      OpenSslRandom random;
      return device_.Deliver(random);
    }));
    py::dict described;
    described["stored"] = deliveries.delivered;
    described["lost"] = deliveries.refused;
    return described;
  }

  void GiveUp(const std::string& study) {
    RaiseIfError(InMyTurn([&] { return device_.GiveUp(study); }));
  }

 private:
  template <typename Call>
  auto InMyTurn(const Call& call) -> decltype(call()) {
    const WithoutInterpreter without;
    return InTurn(turn_, call);
  }

  const std::shared_ptr<Policy> policy_;
  const std::shared_ptr<JournalInPython> journal_;
  const RelayPolicy relay_policy_;
  Turn& answering_;
  Trust trust_;
  InterruptibleClock clock_;
  const InterruptibleRelay relay_;
  RelayedDevice device_;
  Turn turn_;  // calls must not overlap
};

// ValueError that names the argument.
template <typename Number>
Number InRange(const char* argument, int64_t given, Number least, Number most) {
  if (given >= 0 && static_cast<uint64_t>(given) >= least && static_cast<uint64_t>(given) <= most) {
    return static_cast<Number>(given);
  }
  throw py::value_error(StrCat(argument, " must be from ", least, " to ", most, ", not ", given));
}

RelayPolicy RelayPolicyOf(const std::filesystem::path& relay_key, int64_t min_batch,
                          int64_t max_offer_bytes, int64_t max_send_delay) {
  constexpr uint32_t kMaxOfferBytes = 16 << 20;  // 64 times as much memory is set aside
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  return {
      .relay_key = ReadKey("relay_key", relay_key),
      .min_batch = InRange("min_batch", min_batch, kLeastMinBatch, kMaxEpochTickets),
      .max_offer_bytes = InRange("max_offer_bytes", max_offer_bytes, uint32_t{1}, kMaxOfferBytes),
      .max_send_delay_seconds = InRange("max_send_delay", max_send_delay, uint32_t{0}, kMost)};
}

std::unique_ptr<RelayedDeviceInPython> MakeRelayedDevice(
    const std::string& server, std::shared_ptr<Policy> policy,
    std::shared_ptr<JournalInPython> journal, const std::filesystem::path& relay_key,
    const std::filesystem::path& curator_key, const OptionalPath& ca, const OptionalPath& cert,
    const OptionalPath& key, const OptionalPath& token_file, const std::string& subject,
    int64_t min_batch, int64_t max_offer_bytes, int64_t max_send_delay, uint64_t min_reports,
    bool insecure) {
  const RelayPolicy relay_policy =
      RelayPolicyOf(relay_key, min_batch, max_offer_bytes, max_send_delay);
  OfferPolicy offers{.curator_key = ReadKey("curator_key", curator_key),
                     .demand_pin = true,
                     .min_reports = min_reports};
  if (*offers.curator_key == relay_policy.relay_key) {
    throw py::value_error(
        "relay_key is the curator's key: a relay that is the curator hides nothing from it; ask "
        "the relay's operator for the relay's own key");
  }
  ConnectOptions connect{.server = server,
                         .ca_file = FileOf(ca),
                         .cert_file = FileOf(cert),
                         .key_file = FileOf(key),
                         .token_file = FileOf(token_file),
                         .insecure = insecure};
  if (connect.ca_file.empty() && !insecure) {
    throw py::value_error(
        "ca is missing: whoever could show another certificate for the relay's address would read "
        "which ticket this device has; name the file of the authority that the relay's operator "
        "gave you");
  }
  return std::make_unique<RelayedDeviceInPython>(connect, std::move(offers), relay_policy, subject,
                                                 std::move(policy), std::move(journal));
}

}  // namespace

void BindRelayedDevice(py::module_& module) {
  const RelayPolicy defaults;
  const auto type =
      py::class_<RelayedDeviceInPython>(module, "RelayedDevice", DocstringOf("RelayedDevice"))
          .def(py::init(&MakeRelayedDevice), py::arg("server"), py::arg("policy").none(false),
               py::arg("journal").none(false), py::kw_only(), py::arg("relay_key"),
               py::arg("curator_key"), py::arg("ca") = py::none(), py::arg("cert") = py::none(),
               py::arg("key") = py::none(), py::arg("token_file") = py::none(),
               py::arg("subject") = "this device", py::arg("min_batch") = defaults.min_batch,
               py::arg("max_offer_bytes") = defaults.max_offer_bytes,
               py::arg("max_send_delay") = defaults.max_send_delay_seconds,
               py::arg("min_reports") = 0, py::arg("insecure") = false,
               DocstringOf("RelayedDevice.__init__"))
          .def("answer", &RelayedDeviceInPython::Answer, py::arg("study"), py::arg("read"),
               DocstringOf("RelayedDevice.answer"))
          .def("deliver", &RelayedDeviceInPython::Deliver, DocstringOf("RelayedDevice.deliver"))
          .def("give_up", &RelayedDeviceInPython::GiveUp, py::arg("study"),
               DocstringOf("RelayedDevice.give_up"));
  HideArguments(type, "answer", DocstringOf("RelayedDevice.answer"));
}

}  // namespace coppice::python
