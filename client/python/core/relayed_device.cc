#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "client/device/policy.h"
#include "client/python/core/bindings.h"
#include "client/python/core/device_row.h"
#include "client/python/core/journal.h"
#include "client/python/core/visiting_device.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

// A class of its own in Python: it asks for a relay's key, and takes no token.
class RelayedDevice final : public VisitingDevice {
 public:
  using VisitingDevice::VisitingDevice;
};

py::dict Deliver(RelayedDevice& device) {
  const Deliveries deliveries = device.Deliver();
  py::dict described;
  described["stored"] = deliveries.delivered();
  described["lost"] = deliveries.refused;
  return described;
}

RelayPolicy RelayPolicyOf(const std::filesystem::path& relay_key, int64_t min_batch,
                          int64_t max_offer_bytes, int64_t max_send_delay) {
  constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();
  return {
      .relay_key = ReadKey("relay_key", relay_key),
      .min_batch = InRange("min_batch", min_batch, kLeastMinBatch, kMaxEpochTickets),
      .max_offer_bytes = InRange("max_offer_bytes", max_offer_bytes, uint32_t{1}, kMaxOfferBytes),
      .max_send_delay_seconds = InRange("max_send_delay", max_send_delay, uint32_t{0}, kMost)};
}

std::unique_ptr<RelayedDevice> MakeRelayedDevice(
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
  return std::make_unique<RelayedDevice>(
      ValueOrRaise(GrpcCarrier::ToRelay(connect, RetryOptions())), std::move(offers), relay_policy,
      subject, std::move(policy), std::move(journal));
}

}  // namespace

void BindRelayedDevice(py::module_& module) {
  const RelayPolicy defaults;
  const auto type =
      py::class_<RelayedDevice>(module, "RelayedDevice", DocstringOf("RelayedDevice"))
          .def(py::init(&MakeRelayedDevice), py::arg("server"), py::arg("policy").none(false),
               py::arg("journal").none(false), py::kw_only(), py::arg("relay_key"),
               py::arg("curator_key"), py::arg("ca") = py::none(), py::arg("cert") = py::none(),
               py::arg("key") = py::none(), py::arg("token_file") = py::none(),
               py::arg("subject") = "this device", py::arg("min_batch") = defaults.min_batch,
               py::arg("max_offer_bytes") = defaults.max_offer_bytes,
               py::arg("max_send_delay") = defaults.max_send_delay_seconds,
               py::arg("min_reports") = 0, py::arg("insecure") = false,
               DocstringOf("RelayedDevice.__init__"))
          .def(
              "answer",
              [](RelayedDevice& device, const std::string& study, const py::object& read) {
                device.Answer(study, read, /*token=*/"");
              },
              py::arg("study"), py::arg("read"), DocstringOf("RelayedDevice.answer"))
          .def("deliver", Deliver, DocstringOf("RelayedDevice.deliver"))
          .def("give_up", &RelayedDevice::GiveUp, py::arg("study"),
               DocstringOf("RelayedDevice.give_up"));
  HideArguments(type, "answer", DocstringOf("RelayedDevice.answer"));
}

}  // namespace coppice::python
