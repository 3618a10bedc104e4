// A file of submission tokens: one per line, base64url without padding.

#ifndef COPPICE_CLIENT_CLI_STUDIES_TOKEN_LIST_H_
#define COPPICE_CLIENT_CLI_STUDIES_TOKEN_LIST_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"

namespace coppice::cli {

std::string WriteTokenList(absl::Span<const std::string> tokens);

// Returns bytes. InvalidArgument that names the line, but not its content, if one is no token.
StatusOr<std::vector<std::string>> ReadTokenList(const std::string& path);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_TOKEN_LIST_H_
