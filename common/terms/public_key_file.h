// Reads a public key that a person names.

#ifndef COPPICE_COMMON_TERMS_PUBLIC_KEY_FILE_H_
#define COPPICE_COMMON_TERMS_PUBLIC_KEY_FILE_H_

#include <string>

#include "common/base/status.h"
#include "common/terms/signature.h"

namespace coppice {

// Parses "ed25519:...", as programs print it, or reads the file of that name, which holds a key as
// ParsePublicKey() takes it. InvalidArgument, naming it.
StatusOr<PublicKey> ReadPublicKey(const std::string& pin_or_file);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_PUBLIC_KEY_FILE_H_
