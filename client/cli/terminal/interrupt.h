// Ctrl-C as a question between two batches. The second Ctrl-C ends the process as usual.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_INTERRUPT_H_
#define COPPICE_CLIENT_CLI_TERMINAL_INTERRUPT_H_

namespace coppice::cli {

// From here on the first SIGINT or SIGTERM is only noted.
void CatchInterrupts();
bool Interrupted();

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_INTERRUPT_H_
