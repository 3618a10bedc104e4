// A result file that is there whole or not at all.

#ifndef COPPICE_CLIENT_CLI_TERMINAL_WRITE_FILE_H_
#define COPPICE_CLIENT_CLI_TERMINAL_WRITE_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace coppice::cli {

// Writes beside `path`, syncs, and gives the file its name in one step. AlreadyExists if there is
// one and not `replace`; Unavailable if the file system says no.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view bytes, bool replace);

// The same, readable and writable by its owner alone, at every moment.
absl::Status WriteSecretAtomically(const std::string& path, absl::string_view bytes, bool replace);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_TERMINAL_WRITE_FILE_H_
