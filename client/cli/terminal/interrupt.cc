#include "client/cli/terminal/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>

#include "common/base/printable.h"

namespace coppice::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void NoteInterrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

// A handler may neither allocate nor read what is being changed.
char last_word[1024];
volatile size_t last_word_size = 0;

extern "C" void SayLastWord(int signal) {
  const ssize_t written = write(STDERR_FILENO, last_word, last_word_size);
  static_cast<void>(written);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void CatchInterrupts() {
  std::signal(SIGINT, NoteInterrupt);
  std::signal(SIGTERM, NoteInterrupt);
}

bool Interrupted() { return interrupted != 0; }

LastWord::LastWord(std::string_view text) {
  const std::string line = Printable(text).substr(0, sizeof last_word - 2);
  last_word[0] = '\n';  // after the ^C that the terminal shows
  line.copy(last_word + 1, line.size());
  last_word[line.size() + 1] = '\n';
  last_word_size = line.size() + 2;
  std::signal(SIGINT, SayLastWord);
  std::signal(SIGTERM, SayLastWord);
}

LastWord::~LastWord() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace coppice::cli
