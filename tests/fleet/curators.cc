#include "tests/fleet/curators.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/text.h"
#include "tests/support/eventually.h"
#include "tests/support/free_port.h"

namespace coppice::fleet_faults {
namespace {

constexpr int kLostLease = 75;
constexpr absl::Duration kRestart = absl::Milliseconds(100);
constexpr absl::Duration kExcuse = absl::Seconds(15);  // after the database is back

}  // namespace

Curators::Curators(const CuratorOptions& options) : options_(options) {
  std::vector<std::string> links;
  for (size_t i = 0; i < options_.curators; ++i) {
    auto slot = std::make_unique<Slot>();
    slot->listen_port = testing::FreePort();
    for (const std::string& node : options_.database) {
      slot->database.push_back(std::make_unique<Relay>(node));
    }
    slot->link = std::make_unique<Relay>(StrCat(slot->listen_port));
    links.push_back(StrCat("127.0.0.1:", slot->link->port()));
    slots_.push_back(std::move(slot));
  }
  if (options_.fleet) {
    balancer_ = std::make_unique<testing::Balancer>(options_.folder, links);
  }
}

Curators::~Curators() {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i]->process == nullptr) continue;
    slots_[i]->process->Signal(SIGKILL);
    slots_[i]->process->Wait();
    KeepLog(i);
  }
}

std::vector<std::string> Curators::CommandLine(size_t curator) const {
  const Slot& slot = *slots_[curator];
  std::vector<std::string> hosts, ports;
  for (const auto& relay : slot.database) {
    hosts.emplace_back("127.0.0.1");
    ports.push_back(StrCat(relay->port()));
  }
  std::vector<std::string> line = {"/usr/bin/env"};
  if (!options_.clock_library.empty()) {
    line.push_back("LD_PRELOAD=" + options_.clock_library);
    line.push_back("COPPICE_TEST_CLOCK=" + ClockFile(curator));
  }
  const std::vector<std::string> command = {
      testing::BinaryPath("coppiced"),
      "--store",
      StrCat("postgresql:///", options_.database_name, "?user=owner&host=", StrJoin(hosts, ","),
             "&port=", StrJoin(ports, ",")),
      "--listen",
      StrCat("127.0.0.1:", slot.listen_port),
      "--insecure",
      "--log-level",
      "info"};
  line.insert(line.end(), command.begin(), command.end());
  if (options_.fleet) {
    for (const std::string& word :
         {std::string("--fleet-address"), StrCat("127.0.0.1:", slot.listen_port),
          std::string("--lease-seconds"), StrCat(absl::ToInt64Seconds(options_.lease))}) {
      line.push_back(word);
    }
  }
  return line;
}

std::string Curators::ClockFile(size_t curator) const {
  return StrCat(options_.folder, "/clock", curator);
}

void Curators::StartLocked(size_t curator) {
  Slot& slot = *slots_[curator];
  std::filesystem::remove(ClockFile(curator) + ".frozen");
  std::ofstream(ClockFile(curator)) << absl::ToInt64Seconds(slot.skew);
  slot.process = std::make_unique<testing::Process>(CommandLine(curator));
  slot.pid = slot.process->pid();
  slot.killed = slot.draining = false;
  slot.start_at = absl::InfiniteFuture();
  ++slot.starts;
}

void Curators::StartAll() {
  const std::lock_guard lock(mutex_);
  stopping_ = false;
  for (size_t i = 0; i < slots_.size(); ++i) StartLocked(i);
}

void Curators::KeepLog(size_t curator) {
  Slot& slot = *slots_[curator];
  std::ofstream(StrCat(options_.folder, "/curator", curator, ".log"), std::ios::app)
      << "--- start " << slot.starts << ", process " << slot.pid << "\n"
      << slot.process->err();
  slot.process.reset();
  slot.pid = -1;
}

// Whether the curator ever served; a fault may keep it from that.
bool Curators::HasServed(const Slot& slot) const {
  return StrContains(slot.process->err(), options_.fleet ? "serving the fleet" : "serving ");
}

void Curators::NoteEnd(size_t curator, int exit_code) {
  Slot& slot = *slots_[curator];
  const auto complain = [&] {
    if (complaint_.empty()) {
      complaint_ = StrCat("curator ", curator, " ended with exit code ", exit_code, " (start ",
                          slot.starts, ")");
    }
  };
  // A new process does not catch SIGTERM yet.
  if (slot.killed && exit_code == 128 + SIGKILL) return;
  if (exit_code == kLostLease && options_.fleet) {
    ++tally_.lost_lease;
  } else if (slot.draining && (exit_code == 0 || exit_code == 128 + SIGTERM)) {
    ++tally_.drained;
  } else if (exit_code == 1 && (!HasServed(slot) || absl::Now() < excused_until_)) {
    ++tally_.failed_starts;
  } else {
    complain();
  }
}

void Curators::Supervise() {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = *slots_[i];
    if (slot.process != nullptr) {
      if (slot.process->Running()) continue;
      NoteEnd(i, slot.process->Wait());
      KeepLog(i);
      if (slot.start_at == absl::InfiniteFuture()) slot.start_at = absl::Now() + kRestart;
    }
    if (!stopping_ && absl::Now() >= slot.start_at) StartLocked(i);
  }
}

void Curators::Kill(size_t curator, absl::Duration down) {
  const std::lock_guard lock(mutex_);
  Slot& slot = *slots_[curator];
  slot.start_at = absl::Now() + down;
  if (slot.process == nullptr) return;
  slot.killed = true;
  slot.process->Signal(SIGKILL);
}

void Curators::Pause(size_t curator) {
  const std::lock_guard lock(mutex_);
  if (slots_[curator]->process != nullptr) slots_[curator]->process->Signal(SIGSTOP);
}

void Curators::Resume(size_t curator) {
  const std::lock_guard lock(mutex_);
  if (slots_[curator]->process != nullptr) slots_[curator]->process->Signal(SIGCONT);
}

void Curators::Drain(size_t curator) {
  const std::lock_guard lock(mutex_);
  Slot& slot = *slots_[curator];
  if (slot.process == nullptr) return;
  slot.draining = true;
  slot.process->Signal(SIGTERM);
}

void Curators::SetSkew(size_t curator, absl::Duration skew) {
  const std::lock_guard lock(mutex_);
  slots_[curator]->skew = skew;
}

void Curators::FreezeClock(size_t curator, bool frozen) {
  const std::string file = ClockFile(curator) + ".frozen";
  if (frozen) {
    std::ofstream stream(file);
  } else {
    std::filesystem::remove(file);
  }
}

std::optional<size_t> Curators::CuratorAt(const std::string& address) const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (EndsWith(address, StrCat(":", slots_[i]->listen_port))) return i;
  }
  return std::nullopt;
}

ConnectOptions Curators::connection(size_t door) const {
  if (balancer_ != nullptr && door == 0) return {.server = balancer_->server(), .insecure = true};
  const size_t curator = balancer_ == nullptr ? door : door - 1;
  return {.server = StrCat("127.0.0.1:", slots_[curator]->listen_port), .insecure = true};
}

bool Curators::StopAll() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  for (const auto& slot : slots_) {
    if (slot->process == nullptr) continue;
    slot->process->Signal(SIGCONT);
    slot->process->Signal(SIGTERM);
    slot->draining = true;
  }
  const absl::Time deadline = absl::Now() + absl::Minutes(3);
  bool all = true;
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = *slots_[i];
    if (slot.process == nullptr) continue;
    testing::Eventually([&] { return !slot.process->Running(); },
                        absl::ToChronoNanoseconds(deadline - absl::Now()));
    if (slot.process->Running()) {
      complaint_ = StrCat("curator ", i, " does not end three minutes after SIGTERM");
      slot.process->Signal(SIGKILL);
    } else {
      NoteEnd(i, slot.process->Wait());
    }
    all = all && slot.process->Wait() == 0;
    KeepLog(i);
  }
  return all;
}

std::string Curators::TakeComplaint() {
  const std::lock_guard lock(mutex_);
  return std::exchange(complaint_, "");
}

void Curators::ExcuseFailedStarts() {
  const std::lock_guard lock(mutex_);
  excused_until_ = absl::Now() + kExcuse;
}

ExitTally Curators::tally() const {
  const std::lock_guard lock(mutex_);
  return tally_;
}

}  // namespace coppice::fleet_faults
