// A process that is killed while it deals and stores, on a real disk.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <set>
#include <string>
#include <vector>

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

// Everything that a process said until it was killed, at whatever it does once it has said so many
// things.
std::vector<Said> RunAndKill(const std::string& folder, size_t things) {
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
  const auto listen = [&] { return read(ends[0], &said, sizeof(said)) == sizeof(said); };
  while (all.size() < things && listen()) all.push_back(said);
  kill(child, SIGKILL);
  while (listen()) all.push_back(said);
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
    for (const Said& said : RunAndKill(folder, 2 + random() % 200)) {
      if (said.stored) {
        stored.push_back(said.dealt);
      } else {
        EXPECT_TRUE(dealt.insert(said.dealt.ticket.ToBytes()).second) << "dealt twice";
      }
    }
  }
  EXPECT_GE(stored.size(), 12u);  // the second thing of each is that a report is stored
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
