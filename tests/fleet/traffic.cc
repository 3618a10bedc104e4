#include "tests/fleet/traffic.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/openssl_random.h"
#include "coppice/v1/study.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/support/collector.h"

namespace coppice::fleet_faults {
namespace {

constexpr absl::Duration kDeadline = absl::Milliseconds(1500);
constexpr uint32_t kTicketsAtATime = 20;
constexpr int kDeviceThreads = 3;
constexpr size_t kSentTogether = 200;
constexpr size_t kClientsDoor = 0;  // Curators::connection()

// Tries once: the test itself sends the same bytes elsewhere after a failure.
RetryOptions OneTry() {
  return {.deadline = kDeadline, .give_up_after = absl::ZeroDuration(), .diagnose = {}};
}

void Sleep(uint64_t milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

std::shared_ptr<grpc::Channel> ConnectAtOnce(const std::string& server) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
}

bool SaysTryAgain(const Status& status) {
  return IsUnavailable(status) || IsDeadlineExceeded(status) || IsAborted(status) ||
         IsResourceExhausted(status) || IsCancelled(status);
}

testing::Outcome Coppice(const ConnectOptions& connection, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), testing::BinaryPath("coppice"));
  for (const std::string& word :
       {std::string("--server"), connection.server, std::string("--insecure"),
        std::string("--json"), std::string("--timeout"), std::string("5")}) {
    arguments.push_back(word);
  }
  return testing::RunProgram(arguments);
}

}  // namespace

Traffic::Traffic(const Curators& curators, Witness& witness, TrafficOptions options)
    : curators_(curators), witness_(witness), options_(std::move(options)), jobs_(witness) {
  for (size_t i = 0; i < curators_.doors(); ++i) {
    channels_.push_back(ConnectAtOnce(curators_.connection(i).server));
    doors_.push_back(std::make_unique<Door>(curators_.connection(i)));
  }
  jobs_.Connect(channels_);
}

void Traffic::Door::Open() {
  collector_ = std::make_shared<Collector>(*Collector::Create(connection_, OneTry()));
  opened_ = absl::Now();
}

std::shared_ptr<Collector> Traffic::Door::Get() {
  const std::lock_guard lock(mutex_);
  return collector_;
}

void Traffic::Door::OpenAnew() {
  const std::lock_guard lock(mutex_);
  if (absl::Now() - opened_ > absl::Milliseconds(300)) Open();
}

Status Traffic::SetUp(absl::Duration patience, const std::function<void()>& meanwhile) {
  const absl::Time until = absl::Now() + patience;
  const std::string schema = options_.rows + "/schema.json";
  std::vector<std::vector<std::string>> commands = {
      {"study", "create", "--study", options_.study, "--public", options_.rows + "/public.csv",
       "--schema", schema, "--epsilon", "1", "--mechanism", "laplace_joint", "--depth", "4"}};
  if (options_.busy) {
    commands.push_back({"dataset", "create", "--dataset", Jobs::kDataset, "--data",
                        options_.rows + "/private.csv", "--schema", schema, "--epsilon-total",
                        StrCat(Jobs::kCap)});
  }
  for (const auto& command : commands) {
    for (bool again = false;; again = true) {
      const testing::Outcome made = Coppice(curators_.connection(kClientsDoor), command);
      // A try whose answer got lost may have made it.
      if (made.exit_code == 0 || (again && made.err.find(" already") != std::string::npos)) break;
      if (absl::Now() > until) return UnavailableError(StrCat("set up: ", made.err));
      meanwhile();
      Sleep(50);
    }
  }
  StatusOr<FetchedOffer> offer = DoorTo(kClientsDoor).Get()->FetchForest(options_.study, 1);
  while (!offer.ok() && absl::Now() < until) {
    meanwhile();
    Sleep(50);
    offer = DoorTo(kClientsDoor).Get()->FetchForest(options_.study, 1);
  }
  if (!offer.ok()) return offer.status();
  offer_ = *std::move(offer);
  privatizer_ = *Privatizer::Create(offer_->terms, offer_->fingerprint, offer_->trees);
  return OkStatus();
}

void Traffic::Start(uint64_t seed) {
  const auto run = [&](auto what) {
    threads_.emplace_back([what, own = seed * 100 + threads_.size()] { what(own); });
  };
  for (int i = 0; i < (options_.busy ? kDeviceThreads : 1); ++i) {
    run([this](uint64_t own) { RunDevices(own); });
  }
  run([this](uint64_t own) { RunReader(own, /*of_sums=*/true); });
  run([this](uint64_t own) { RunReader(own, /*of_sums=*/false); });
  if (!options_.busy) {
    return run([this](uint64_t own) { RunReader(own, /*of_sums=*/false); });
  }
  run([this](uint64_t own) { RunResender(own); });
  for (int i = 0; i < options_.racing_jobs; ++i) {
    run([this](uint64_t own) { jobs_.Run(own, stopping_); });
  }
}

void Traffic::Stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

PrivateReport Traffic::Randomize(const Ticket& ticket, size_t device) {
  OpenSslRandom random;
  const double x = static_cast<double>(device % 100) / 100;
  return *privatizer_->Privatize({{x, 1 - x}, static_cast<uint32_t>(device % 2)}, ticket, random);
}

StatusOr<std::vector<Ticket>> Traffic::FetchTickets(uint32_t tickets, size_t& through) {
  for (;; ++through) {
    auto fetched = DoorTo(through).Get()->FetchTickets(options_.study, tickets);
    if (fetched.ok() || stopping_) return fetched;
    DoorTo(through).OpenAnew();
    if (!SaysTryAgain(fetched.status())) {
      witness_.Blame(StrCat("tickets are refused for good: ", fetched.status().ToString()));
      return fetched;
    }
    Sleep(30);
  }
}

Status Traffic::Send(size_t device, size_t through) {
  PrivateReport report;
  {
    const std::lock_guard lock(mutex_);
    report = reports_[device];
  }
  const Witness::Call call = witness_.BeginSend(device);
  const auto results = DoorTo(through).Get()->Deliver({&report, 1});
  if (results.ok()) {
    witness_.EndSend(call, (*results)[0]);
    return OkStatus();
  }
  witness_.FailSend(call);
  DoorTo(through).OpenAnew();
  if (!SaysTryAgain(results.status())) {
    witness_.Blame(
        StrCat("a device met an error that says not to try again: ", results.status().ToString()));
  }
  return results.status();
}

void Traffic::RunDevices(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Ticket> tickets;
  size_t through = random();
  while (!stopping_) {
    if (tickets.empty()) {
      auto fetched = FetchTickets(kTicketsAtATime, through);
      if (!fetched.ok()) return;
      tickets = *std::move(fetched);
    }
    const size_t device = witness_.AddDevice();
    {
      const std::lock_guard lock(mutex_);
      reports_.resize(std::max(reports_.size(), device + 1));
      reports_[device] = Randomize(tickets.back(), device);
    }
    tickets.pop_back();
    through = random();
    while (!stopping_ && !Send(device, through).ok()) {
      ++through;
      if (options_.bug == Bug::kFreshAnswer) {
        const auto fresh = FetchTickets(1, through);
        if (!fresh.ok()) return;
        const std::lock_guard lock(mutex_);
        reports_[device] = Randomize(fresh->front(), device);
      }
      Sleep(20);
    }
    if (options_.bug != Bug::kFreshAnswer && random() % 8 == 0)
      Send(device, ++through).IgnoreError();
    Sleep(options_.busy ? 2 + random() % 15 : 500 + random() % 1500);
  }
}

// Delivers copies of reports, which the network kept, at any time.
void Traffic::RunResender(uint64_t seed) {
  std::mt19937_64 random(seed + 7);
  while (!stopping_) {
    Sleep(20 + random() % 40);
    size_t device = 0;
    {
      const std::lock_guard lock(mutex_);
      if (reports_.empty()) continue;
      // Takes mostly one of the newest.
      const size_t back = random() % 4 == 0 ? random() % reports_.size() : random() % 5;
      device = reports_.size() - 1 - std::min(back, reports_.size() - 1);
      if (reports_[device].study.empty()) continue;
    }
    Send(device, random()).IgnoreError();
  }
}

StatusOr<uint64_t> Traffic::ReadCount(size_t through, bool of_sums, bool patient) {
  const size_t door = through % channels_.size();
  const auto stub = v1::StudyService::NewStub(channels_[door]);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(kDeadline));
  context.set_wait_for_ready(patient);
  const std::string name = StrCat("studies/", options_.study);
  const uint64_t at_least = witness_.BeginRead();
  uint64_t found = 0;
  grpc::Status status;
  if (of_sums) {
    // GetCounts waits for its turn between two groups of reports.
    v1::GetCountsRequest request;
    request.set_name(name);
    request.set_node(0);
    v1::GetCountsResponse response;
    status = stub->GetCounts(&context, request, &response);
    if (StrContains(status.error_message(), "has 0 accepted reports")) {
      status = grpc::Status::OK;
    }
    found = response.reports();
  } else {
    v1::GetStudyRequest request;
    request.set_name(name);
    v1::GetStudyResponse response;
    status = stub->GetStudy(&context, request, &response);
    for (const v1::ReportCount& count : response.study().counts()) {
      if (count.outcome() == v1::REPORT_OUTCOME_ACCEPTED) found = count.reports();
    }
  }
  if (!status.ok()) {
    if (!IsTransient(status)) {
      witness_.Blame(StrCat("a reader met error ", status.error_code(),
                            ", which says not to try again: ", status.error_message()));
    }
    return UnavailableError(status.error_message());
  }
  witness_.EndRead(at_least, found, StrCat("door ", door));
  return found;
}

void Traffic::RunReader(uint64_t seed, bool of_sums) {
  std::mt19937_64 random(seed + 13);
  while (!stopping_) {
    ReadCount(random(), of_sums).status().IgnoreError();
    Sleep(5 + random() % 20);
  }
}

Status Traffic::SendAll(absl::Duration patience, const std::function<void()>& meanwhile) {
  const absl::Time until = absl::Now() + patience;
  size_t through = 0;
  for (size_t at = 0; at < reports_.size(); at += kSentTogether) {
    const auto together = absl::MakeConstSpan(reports_).subspan(at, kSentTogether);
    for (;; ++through) {
      std::vector<Witness::Call> calls;
      for (size_t i = 0; i < together.size(); ++i) calls.push_back(witness_.BeginSend(at + i));
      const auto results = DoorTo(through).Get()->Deliver(together);
      for (size_t i = 0; i < together.size(); ++i) {
        results.ok() ? witness_.EndSend(calls[i], (*results)[i]) : witness_.FailSend(calls[i]);
      }
      if (results.ok()) break;
      if (absl::Now() > until) return results.status();
      DoorTo(through).OpenAnew();
      meanwhile();
      Sleep(50);
    }
  }
  return OkStatus();
}

Status Traffic::ReadAll(absl::Duration patience, const std::function<void()>& meanwhile) {
  const absl::Time until = absl::Now() + patience;
  for (;;) {
    // Waits until the channel is ready: calls that fail at once do not make it reconnect.
    const StatusOr<uint64_t> count = ReadCount(kClientsDoor, /*of_sums=*/true, /*patient=*/true);
    if (count.ok() && *count != reports_.size()) {
      witness_.Blame(StrCat("at the end the fleet counts ", *count, " reports of ", reports_.size(),
                            " devices"));
    }
    if (count.ok()) return OkStatus();
    if (absl::Now() > until) return count.status();
    meanwhile();
    Sleep(50);
  }
}

std::string Traffic::CompareWith(const testing::Books& books) const {
  const auto mechanisms = *MakeMechanisms(offer_->terms, {offer_->trees.at(0)});
  std::vector<int64_t> sums(mechanisms[0]->sum_size());
  for (const PrivateReport& report : reports_) {
    if (!mechanisms[0]->Add(report.payload, /*column=*/0, absl::MakeSpan(sums)).ok()) {
      return "a payload does not add up";
    }
  }
  std::vector<std::string> spent = books.spent;
  std::sort(spent.begin(), spent.end());
  const bool all_differ = std::adjacent_find(spent.begin(), spent.end()) == spent.end();
  const size_t devices = reports_.size();
  if (books.accepted == devices && books.reports == devices && spent.size() == devices &&
      all_differ && books.sums == sums) {
    return "";
  }
  return StrCat("the books have ", books.accepted, " accepted, ", books.reports,
                " in the sums and ", spent.size(), all_differ ? "" : " not all different",
                " spent tickets of ", devices, " devices; the sums are ",
                books.sums == sums ? "right" : "wrong");
}

}  // namespace coppice::fleet_faults
