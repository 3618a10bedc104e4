// SHA-256 of byte strings, one after another.
//
// OpenSSL's default provider does not fail at this. If it is configured away, the digest is all
// zeros: then no ticket and no channel of that process works either, so nothing depends on it. In
// WebAssembly nothing can fail.

#ifndef COPPICE_COMMON_TERMS_SHA256_H_
#define COPPICE_COMMON_TERMS_SHA256_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "common/crypto/crypto.h"

namespace coppice {

using Sha256Digest = std::array<uint8_t, 32>;

// Hashes bytes that come in pieces, in the order of the calls of Add().
//
// Threads    not thread-safe.
class Sha256Stream {
 public:
  Sha256Stream();

  void Add(std::string_view bytes);
  // Call once, at the end.
  Sha256Digest Finish();

 private:
  crypto::Sha256Hash hash_;
  bool good_;
};

Sha256Digest Sha256(std::initializer_list<std::string_view> parts);

}  // namespace coppice

#endif  // COPPICE_COMMON_TERMS_SHA256_H_
