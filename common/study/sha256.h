// SHA-256 of a few byte strings, one after another.
//
// OpenSSL's default provider does not fail at this. Should it be configured away, the digest is all
// zeros: then no ticket and no channel of that process works either, so nothing rests on it.

#ifndef COPPICE_COMMON_STUDY_SHA256_H_
#define COPPICE_COMMON_STUDY_SHA256_H_

#include <array>
#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"

namespace coppice {

using Sha256Digest = std::array<uint8_t, 32>;
Sha256Digest Sha256(std::initializer_list<absl::string_view> parts);

}  // namespace coppice

#endif  // COPPICE_COMMON_STUDY_SHA256_H_
