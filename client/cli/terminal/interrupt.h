// Handles Ctrl-C: either as a question between two batches, where a second one ends the process as
// usual, or with a last message.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_INTERRUPT_H_
#define COPPICE_CLIENT_CLI_TERMINAL_INTERRUPT_H_

#include <string_view>

namespace coppice::cli {

// From here on the first SIGINT or SIGTERM is only noted.
void CatchInterrupts();
bool Interrupted();

// While one of these exists, SIGINT and SIGTERM end the process as usual, but `text` is written to
// stderr first. At most one may exist at a time.
class LastWord {
 public:
  explicit LastWord(std::string_view text);
  ~LastWord();
  LastWord(const LastWord&) = delete;
  LastWord& operator=(const LastWord&) = delete;
};

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_INTERRUPT_H_
