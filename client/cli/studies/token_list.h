// A file of submission tokens: one a line, base64url without padding.

#ifndef COPPICE_CLIENT_CLI_STUDIES_TOKEN_LIST_H_
#define COPPICE_CLIENT_CLI_STUDIES_TOKEN_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace coppice::cli {

std::string WriteTokenList(absl::Span<const std::string> tokens);

// As bytes. InvalidArgument that names the line, and not what is in it, if one is no token.
absl::StatusOr<std::vector<std::string>> ReadTokenList(const std::string& path);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_STUDIES_TOKEN_LIST_H_
