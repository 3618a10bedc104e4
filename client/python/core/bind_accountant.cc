#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <string_view>

#include "client/python/core/accountant.h"
#include "client/python/core/bindings.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/privacy/budget.h"
#include "common/privacy/delta.h"
#include "common/terms/sha256.h"

namespace coppice::python {
namespace {

namespace py = pybind11;

constexpr double kBillion = 1e9;
constexpr double kQuintillion = 1e18;

std::unique_ptr<Accountant> Open(const std::string& path, double epsilon, const std::string& delta,
                                 const std::string& composition, const std::string& neighbours,
                                 bool may_create) {
  const ledger::BudgetCap cap{.epsilon_nanos = EpsilonOf(epsilon).nanos(),
                              .delta_atto = ValueOrRaise(ParseDelta(delta)),
                              .composition = ValueOrRaise(ledger::ParseComposition(composition)),
                              .neighbours = ValueOrRaise(ledger::ParseNeighbours(neighbours))};
  StatusOr<std::unique_ptr<Accountant>> accountant = UnknownError("");
  {
    const WithoutInterpreter without;
    accountant = Accountant::Open(path, cap, may_create, CancelCheck(CheckSignals));
  }
  return FileValueOrRaise(std::move(accountant));
}

const char* KindName(ledger::EntryKind kind) {
  switch (kind) {
    case ledger::EntryKind::kOpen:
      return "opened";
    case ledger::EntryKind::kReserve:
      return "reserved";
    case ledger::EntryKind::kSettle:
      return "settled";
    case ledger::EntryKind::kReturn:
      return "returned";
    case ledger::EntryKind::kWriteOff:
      return "written_off";
  }
  return "";
}

py::dict Describe(const ledger::LedgerEntry& entry) {
  py::list releases;
  for (const Release& release : entry.releases) {
    py::dict described;
    described["what"] = release.what;
    described["mechanism"] = release.mechanism;
    described["epsilon"] = static_cast<double>(release.epsilon_nanos) / kBillion;
    described["delta"] = static_cast<double>(release.delta_atto) / kQuintillion;
    described["times"] = release.times;
    releases.append(described);
  }
  py::dict described;
  described["kind"] = KindName(entry.kind);
  described["unix_seconds"] = entry.unix_seconds;
  described["fit"] = entry.job;
  described["epsilon"] = static_cast<double>(entry.cost.epsilon_nanos) / kBillion;
  described["delta"] = static_cast<double>(entry.cost.delta_atto) / kQuintillion;
  described["releases"] = releases;
  return described;
}

py::dict Account(Accountant& accountant) {
  StatusOr<ledger::Account> read = UnknownError("");
  {
    const WithoutInterpreter without;
    read = accountant.Get();
  }
  const ledger::Account account = FileValueOrRaise(std::move(read));
  py::list entries;
  for (const ledger::LedgerEntry& entry : account.entries) entries.append(Describe(entry));
  py::dict described;
  described["epsilon"] = static_cast<double>(account.cap.epsilon_nanos) / kBillion;
  described["delta"] = static_cast<double>(account.cap.delta_atto) / kQuintillion;
  described["composition"] = std::string(ledger::CompositionName(account.cap.composition));
  described["neighbours"] = std::string(NeighboursName(account.cap.neighbours));
  described["epsilon_spent"] = static_cast<double>(account.spent.epsilon_nanos) / kBillion;
  described["delta_spent"] = static_cast<double>(account.spent.delta_atto) / kQuintillion;
  described["epsilon_left"] = static_cast<double>(account.left.epsilon_nanos) / kBillion;
  described["delta_left"] = static_cast<double>(account.left.delta_atto) / kQuintillion;
  described["entries"] = entries;
  described["head"] = BytesToHexString(AsBytes(account.head));
  return described;
}

}  // namespace

void BindAccountant(py::module_& module) {
  py::class_<Accountant>(module, "Accountant", "A privacy budget, in memory or in a file.")
      .def(py::init(&Open), py::arg("path"), py::arg("epsilon"), py::arg("delta"),
           py::arg("composition"), py::arg("neighbours"), py::arg("may_create"))
      .def_property_readonly("path", &Accountant::path)
      .def("account", Account);
}

}  // namespace coppice::python
