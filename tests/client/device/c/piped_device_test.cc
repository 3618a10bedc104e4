// The sample device in C, which links the device library and nothing else and is served through a
// pipe: what it sends, what it writes down, and what it costs. COPPICE_PIPED_DEVICE is the program,
// with an emulator before it where it is built for another machine.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "client/device/journal_store.h"
#include "common/base/text.h"
#include "tests/client/device/c/scripted_relay.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace coppice {
namespace {

using ::coppice::testing::FakeKey;
using ::coppice::testing::ScriptedRelay;
using ::coppice::testing::ScriptedServices;
using ::coppice::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A child with pipes for its standard input and output, its standard error in a file.
class Child {
 public:
  Child(const std::vector<std::string>& command, const std::string& error_file) {
    int to_child[2];
    int from_child[2];
    if (pipe(to_child) != 0 || pipe(from_child) != 0) std::abort();
    child_ = fork();
    if (child_ == 0) {
      dup2(to_child[0], STDIN_FILENO);
      dup2(from_child[1], STDOUT_FILENO);
      dup2(open(error_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
      for (const int end : {to_child[0], to_child[1], from_child[0], from_child[1]}) close(end);
      std::vector<char*> arguments;
      for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(to_child[0]);
    close(from_child[1]);
    in_ = fdopen(from_child[0], "r");
    out_ = fdopen(to_child[1], "w");
  }
  ~Child() {
    fclose(in_);
    fclose(out_);
  }

  // The next call, "METHOD SIZE" and its bytes; false at the end.
  bool Next(std::string& method, std::string& request) {
    char name[128];
    size_t size = 0;
    if (fscanf(in_, "%127s %zu", name, &size) != 2 || fgetc(in_) != '\n') return false;
    method = name;
    request.resize(size);
    return fread(request.data(), 1, size, in_) == size;
  }
  void Answer(int32_t code, const std::string& response) {
    fprintf(out_, "%d %zu\n", code, response.size());
    fwrite(response.data(), 1, response.size(), out_);
    fflush(out_);
  }
  int Wait() {
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t child_ = -1;
  FILE* in_ = nullptr;
  FILE* out_ = nullptr;
};

class PipedDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* program = std::getenv("COPPICE_PIPED_DEVICE");
    ASSERT_NE(program, nullptr) << "COPPICE_PIPED_DEVICE is not set";
    RelayTerms deal = testing::PromisedTerms();  // the program's clock is the machine's
    deal.deal_until_unix_seconds = 3'900'000'000;
    deal.freeze_at_unix_seconds = 3'900'003'600;
    relay_.relay.offer =
        testing::SignDeal(deal, testing::Sign(FakeKey(), testing::SealedManifest()));
    const std::vector<std::string> words = StrSplit(std::string_view(program), ' ');
    command_ = words;
  }

  struct Ran {
    int exit_code;  // 0: it has answered, and nothing waits
    std::string text;
    // Of a line "NAME VALUE"; zero if there is none.
    int Number(const std::string& name) const {
      const size_t at = text.find(name + " ");
      return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + name.size());
    }
  };
  // Serves one run of the program.
  Ran Run() { return Run(curator_); }
  Ran RunAtRelay() {
    std::ofstream(Path("relay.key")) << ToPin(testing::RelayKey().public_key());
    setenv("RELAY_KEY", Path("relay.key").c_str(), 1);
    Ran ran = Run(relay_);
    unsetenv("RELAY_KEY");
    return ran;
  }
  template <typename Services>
  Ran Run(Services& services) {
    std::ofstream(Path("key")) << ToPin(FakeKey(1).public_key());
    std::vector<std::string> command = command_;
    for (const std::string& word :
         {Path("key"), std::string("pipe:1"), Path("key"), std::string("sample"), Path("journal"),
          std::string("x=3"), std::string("y=yes")}) {
      command.push_back(word);
    }
    Child child(command, Path("said"));
    std::string method;
    std::string request;
    while (child.Next(method, request)) {
      std::string response;
      const int32_t code = services.Serve(method, request, response);
      child.Answer(code, response);
    }
    const int exit_code = child.Wait();
    std::ifstream file(Path("said"));
    return {.exit_code = exit_code, .text = {std::istreambuf_iterator<char>(file), {}}};
  }
  // Whether a run takes at most so many bytes of stack, and 2 MB.
  void ExpectSmall(int most_stack, const std::function<Ran()>& run) {
    const Ran plain = run();
    EXPECT_EQ(plain.exit_code, 0) << plain.text;
    EXPECT_GT(plain.Number("dirty_kb"), 0);
    if (command_.size() == 1) {  // an emulator has memory of its own
      EXPECT_LE(plain.Number("dirty_kb"), 2048);
    }
    std::remove(Path("journal").c_str());
    setenv("PAINT", "1", 1);
    const Ran painted = run();
    unsetenv("PAINT");
    EXPECT_GT(painted.Number("stack_bytes"), 0);
    EXPECT_LE(painted.Number("stack_bytes"), most_stack);
    RecordProperty("dirty_kb", plain.Number("dirty_kb"));
    std::cout << "stack_bytes " << painted.Number("stack_bytes") << ", dirty_kb "
              << plain.Number("dirty_kb") << '\n';
  }
  std::string Path(const std::string& name) const { return dir_.path() + "/" + name; }

  TempDir dir_;
  std::vector<std::string> command_;
  ScriptedServices curator_;
  ScriptedRelay relay_;
};

TEST_F(PipedDeviceTest, AnswersOnceAndSendsTheSameBytesAgain) {
  curator_.reports.failures = 1;
  EXPECT_THAT(Run().text, HasSubstr("0 delivered, 1 waiting"));
  const Ran second = Run();
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_THAT(second.text, HasSubstr("1 delivered, 0 waiting, 0 refused; epsilon 2 spent"));
  EXPECT_THAT(curator_.calls, ElementsAre("GetOffer", "GetCuratorKeys", "SubmitReports",
                                          "GetCuratorKeys", "SubmitReports"));
  ASSERT_EQ(curator_.reports.requests.size(), 2u);
  EXPECT_EQ(curator_.reports.requests[0], curator_.reports.requests[1]);
}

// The journal is one format: what the program wrote is read here, and goes on there.
TEST_F(PipedDeviceTest, ItsJournalIsEverybodys) {
  curator_.reports.failures = 1;
  Run();
  PrivateReport kept;
  {
    ASSERT_OK_AND_ASSIGN(const auto store, JournalStore::Open(Path("journal")));
    const auto entry = store->journal().Find("this device", "sample");
    ASSERT_TRUE(entry.has_value());
    kept = entry->report;
    EXPECT_EQ(entry->epsilon, testing::FakeTerms().epsilon);
    EXPECT_EQ(entry->curator, FakeKey(1).public_key());
    ASSERT_OK(store->Change(
        [](Journal& journal) { return journal.MarkDelivered("sample", {"this device"}); }));
  }
  EXPECT_THAT(Run().text, HasSubstr("0 delivered, 0 waiting"));
  EXPECT_EQ(curator_.reports.requests.size(), 1u);
  v1::SealedReports sent;
  ASSERT_TRUE(sent.ParseFromString(curator_.reports.requests[0]));
  EXPECT_EQ(sent.reports(0).payload(), kept.payload);
  EXPECT_EQ(sent.reports(0).ticket(), kept.ticket.ToBytes());
}

TEST_F(PipedDeviceTest, AnswersThroughARelayAndSendsTheSameBytesAgain) {
  relay_.relay.failures = 1;
  EXPECT_THAT(RunAtRelay().text, HasSubstr("0 delivered, 1 waiting"));
  const Ran second = RunAtRelay();
  EXPECT_EQ(second.exit_code, 0);
  EXPECT_THAT(second.text, HasSubstr("1 delivered, 0 waiting"));
  EXPECT_THAT(relay_.calls, ElementsAre("GetRelayTerms", "TakeOffer", "SubmitSealedReport",
                                        "SubmitSealedReport"));
  EXPECT_EQ(relay_.requests[2], relay_.requests[3]);
}

// What docs/device.md promises of one report.
TEST_F(PipedDeviceTest, TakesLittleStackAndMemory) {
  ExpectSmall(16 << 10, [this] { return Run(); });
}
TEST_F(PipedDeviceTest, TakesLittleStackAndMemoryBehindARelay) {
  ExpectSmall(24 << 10, [this] { return RunAtRelay(); });
}

}  // namespace
}  // namespace coppice
