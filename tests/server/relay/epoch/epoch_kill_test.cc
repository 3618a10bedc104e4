// A process that is killed while it deals and stores, on a real disk.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <set>
#include <thread>

#include "server/relay/epoch/epoch.h"
#include "tests/server/relay/epoch/sample_epoch.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice::testing {
namespace {

using relay::Dealt;
using relay::Epoch;
using relay::SubmitOutcome;

constexpr uint64_t kManyTickets = 30'000;

// What the process says before it goes on. A pipe writes so few bytes whole or not at all.
struct Said {
  Dealt dealt;
  bool stored = false;
};

[[noreturn]] void DealAndStore(const std::string& folder, int out) {
  const auto epoch = Epoch::Open(folder);
  if (!epoch.ok()) _exit(1);
  for (auto dealt = (*epoch)->Deal(kDealing); dealt.ok(); dealt = (*epoch)->Deal(kDealing)) {
    Said said{.dealt = *dealt};
    if (write(out, &said, sizeof(said)) != sizeof(said)) _exit(1);
    const auto outcome = SubmitTo(**epoch, ReportFor(*dealt));
    if (!outcome.ok() || *outcome != SubmitOutcome::kStored) _exit(1);
    said.stored = true;
    if (write(out, &said, sizeof(said)) != sizeof(said)) _exit(1);
  }
  _exit(0);
}

// Everything that a process said until it was killed, `after` its first words.
std::vector<Said> RunAndKill(const std::string& folder, std::chrono::milliseconds after) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    DealAndStore(folder, ends[1]);
  }
  close(ends[1]);
  std::vector<Said> all;
  Said said;
  if (read(ends[0], &said, sizeof(said)) == sizeof(said)) all.push_back(said);
  std::thread killer([&] {
    std::this_thread::sleep_for(after);
    kill(child, SIGKILL);
  });
  while (read(ends[0], &said, sizeof(said)) == sizeof(said)) all.push_back(said);
  killer.join();
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself, with " << WEXITSTATUS(status);
  return all;
}

TEST(EpochKillTest, NothingStoredIsLostAndNothingIsDealtTwice) {
  const TempDir dir;
  const std::string folder = dir.path() + "/epoch";
  ASSERT_OK(Epoch::Create(folder, MakeSpec(kManyTickets, 1)).status());
  std::mt19937 random(1);
  std::set<std::string> dealt;
  std::vector<Dealt> stored;
  for (int round = 0; round < 12; ++round) {
    const std::chrono::milliseconds after(random() % 100);
    for (const Said& said : RunAndKill(folder, after)) {
      if (said.stored) {
        stored.push_back(said.dealt);
      } else {
        EXPECT_TRUE(dealt.insert(said.dealt.ticket.ToBytes()).second) << "dealt twice";
      }
    }
  }
  EXPECT_GT(stored.size(), 12u);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Epoch> epoch, Epoch::Open(folder));
  EXPECT_GE(epoch->totals().stored, stored.size());
  for (const Dealt& one : stored) {
    ASSERT_EQ(*SubmitTo(*epoch, ReportFor(one, 1)), SubmitOutcome::kConflict);
    ASSERT_EQ(*SubmitTo(*epoch, ReportFor(one)), SubmitOutcome::kStored);
  }
  const relay::Frozen frozen = *epoch->Freeze(kOver);
  EXPECT_GE(frozen.reports, stored.size());
  EXPECT_LE(frozen.reports, dealt.size() + 12);  // killed before it could say so
}

}  // namespace
}  // namespace coppice::testing
