#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/device/policy.h"
#include "client/device/privatizer.h"
#include "client/python/core/bindings.h"
#include "client/python/core/device_row.h"
#include "client/python/core/journal.h"
#include "client/python/core/visiting_device.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/openssl_random.h"
#include "common/wire/proto/packed_forest.h"
#include "common/wire/terms.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

// ---- policy

std::optional<Budget> BudgetOf(const std::optional<double>& epsilon) {
  if (!epsilon.has_value()) return std::nullopt;
  return EpsilonOf(*epsilon);
}

Policy MakePolicy(double max_epsilon, const std::optional<double>& max_total_epsilon,
                  const std::optional<double>& max_epsilon_direct, bool opted_out,
                  const std::optional<uint64_t>& max_waiting, std::shared_ptr<Schema> own_schema,
                  std::vector<std::string> allowed_in_clear, std::vector<std::string> join_ids,
                  const std::vector<std::string>& shows) {
  allowed_in_clear.insert(allowed_in_clear.end(), shows.begin(), shows.end());
  Policy policy{.max_epsilon = EpsilonOf(max_epsilon),
                .max_epsilon_direct = BudgetOf(max_epsilon_direct),
                .max_total_epsilon = BudgetOf(max_total_epsilon),
                .opted_out = opted_out,
                .max_waiting = max_waiting,
                .own_schema = std::move(own_schema),
                .allowed_in_clear = std::move(allowed_in_clear),
                .join_ids = std::move(join_ids)};
  RaiseIfError(policy.CheckLists());
  return policy;
}

void BindPolicy(py::module_& module) {
  py::class_<Policy, std::shared_ptr<Policy>>(module, "Policy", DocstringOf("Policy"))
      .def(py::init(&MakePolicy), py::arg("max_epsilon"), py::kw_only(),
           py::arg("max_total_epsilon") = py::none(), py::arg("max_epsilon_direct") = py::none(),
           py::arg("opted_out") = false, py::arg("max_waiting") = py::none(),
           py::arg("own_schema") = nullptr, py::arg("allow_in_clear") = std::vector<std::string>(),
           py::arg("join_ids") = std::vector<std::string>(),
           py::arg("shows") = std::vector<std::string>(), DocstringOf("Policy.__init__"));
}

// ---- journal

py::dict Describe(const JournalEntry& entry) {
  py::dict described;
  described["subject"] = entry.subject;
  described["study"] = entry.report.study;
  described["epsilon"] = entry.epsilon.epsilon();
  described["payload_bytes"] =
      entry.sealed.has_value() ? entry.sealed->ciphertext.size() : entry.report.payload.size();
  described["delivered"] = entry.delivered;
  described["relayed"] = entry.sealed.has_value();
  return described;
}

// A copy: nobody waits for the journal with the interpreter in hand.
std::vector<JournalEntry> EntriesOf(const JournalInPython& journal) {
  return ValueOrRaise(journal.store().Hold())->Entries();
}

void BindJournal(py::module_& module) {
  py::class_<JournalInPython, std::shared_ptr<JournalInPython>>(module, "Journal",
                                                                DocstringOf("Journal"))
      .def(py::init([](const std::filesystem::path& path) {
             return std::make_shared<JournalInPython>(
                 ValueOrRaise(JournalStore::Open(path.native())));
           }),
           py::arg("path"), DocstringOf("Journal.__init__"))
      .def(
          "spent",
          [](const JournalInPython& journal, const std::string& subject) {
            const std::optional<Budget> spent =
                ValueOrRaise(journal.store().Hold())->Spent(subject);
            return spent.has_value() ? spent->epsilon() : 0.0;
          },
          py::arg("subject"), DocstringOf("Journal.spent"))
      .def(
          "entries",
          [](const JournalInPython& journal) {
            py::list entries;
            for (const JournalEntry& entry : EntriesOf(journal)) entries.append(Describe(entry));
            return entries;
          },
          DocstringOf("Journal.entries"));
}

// ---- privatizer

Privatizer MakePrivatizer(const std::string& terms_bytes, std::vector<std::string> trees) {
  Terms terms = ValueOrRaise(ReadTerms(terms_bytes));
  Forest forest = ValueOrRaise(OpenForest(terms, PackTrees(std::move(trees))));
  return ValueOrRaise(Privatizer::Create(std::move(terms), FingerprintOf(terms_bytes),
                                         AllTrees(std::move(forest))));
}

py::dict Privatize(const Privatizer& privatizer, const py::object& row, const std::string& ticket) {
  CheckIsRow(row);
  OpenSslRandom random;
  const LabelledRow encoded = privatizer.terms().schema->EncodeTotally(TextOf(row));
  const PrivateReport report =
      ValueOrRaise(privatizer.Privatize(encoded, ValueOrRaise(Ticket::FromBytes(ticket)), random));
  py::dict described;
  described["study"] = report.study;
  described["ticket"] = py::bytes(report.ticket.ToBytes());
  described["payload"] = py::bytes(report.payload);
  described["public_values"] = py::bytes(report.public_values);
  return described;
}

void BindPrivatizer(py::module_& module) {
  const auto type =
      py::class_<Privatizer>(module, "Privatizer", DocstringOf("Privatizer"))
          .def(py::init(&MakePrivatizer), py::arg("terms"), py::arg("trees"),
               DocstringOf("Privatizer.__init__"))
          .def_property_readonly(
              "epsilon",
              [](const Privatizer& privatizer) { return privatizer.terms().epsilon.epsilon(); },
              DocstringOf("Privatizer.epsilon"))
          .def("privatize", Privatize, py::arg("row"), py::arg("ticket"),
               DocstringOf("Privatizer.privatize"));
  HideArguments(type, "privatize", DocstringOf("Privatizer.privatize"));
}

// ---- device

py::dict Deliver(VisitingDevice& device) {
  const Deliveries deliveries = device.Deliver();
  py::dict described;
  described["delivered"] = deliveries.delivered();
  described["of_other_curators"] = deliveries.of_other_curators;
  described["unknown"] = deliveries.unknown;
  described["refused"] = deliveries.refused;
  return described;
}

std::unique_ptr<VisitingDevice> MakeDevice(const std::string& server,
                                           std::shared_ptr<Policy> policy,
                                           std::shared_ptr<JournalInPython> journal,
                                           const std::string& subject, const OptionalPath& ca,
                                           const OptionalPath& curator_key, bool demand_pin,
                                           uint64_t min_reports, int64_t max_offer_bytes,
                                           bool insecure) {
  OfferPolicy offers{
      .demand_pin = demand_pin,
      .min_reports = min_reports,
      .max_offer_bytes = InRange("max_offer_bytes", max_offer_bytes, uint32_t{1}, kMaxOfferBytes)};
  if (!FileOf(curator_key).empty()) offers.curator_key = ReadKey("curator_key", *curator_key);
  const ConnectOptions connect{.server = server, .ca_file = FileOf(ca), .insecure = insecure};
  return std::make_unique<VisitingDevice>(
      ValueOrRaise(GrpcCarrier::ToCurator(connect, RetryOptions())), std::move(offers), subject,
      std::move(policy), std::move(journal));
}

void BindDeviceClass(py::module_& module) {
  const auto type =
      py::class_<VisitingDevice>(module, "Device", DocstringOf("Device"))
          .def(py::init(&MakeDevice), py::arg("server"), py::arg("policy").none(false),
               py::arg("journal").none(false), py::kw_only(), py::arg("subject") = "this device",
               py::arg("ca") = py::none(), py::arg("curator_key") = py::none(),
               py::arg("demand_pin") = false, py::arg("min_reports") = 0,
               py::arg("max_offer_bytes") = kUsualOfferBytes, py::arg("insecure") = false,
               DocstringOf("Device.__init__"))
          .def("answer", &VisitingDevice::Answer, py::arg("study"), py::arg("read"),
               py::arg("submission_token") = "", DocstringOf("Device.answer"))
          .def("deliver", Deliver, DocstringOf("Device.deliver"))
          .def("give_up", &VisitingDevice::GiveUp, py::arg("study"), DocstringOf("Device.give_up"));
  HideArguments(type, "answer", DocstringOf("Device.answer"));
}

}  // namespace

void BindDevice(py::module_& module) {
  BindPolicy(module);
  BindJournal(module);
  BindPrivatizer(module);
  BindDeviceClass(module);
}

}  // namespace coppice::python
