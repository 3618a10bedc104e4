// The fixed-length form of an id in the store, for studies whose features are joined by ids.

#ifndef COPPICE_SERVER_CURATOR_KEYS_JOIN_ID_H_
#define COPPICE_SERVER_CURATOR_KEYS_JOIN_ID_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/terms/sha256.h"

namespace coppice::curator {

// The first 16 bytes of SHA-256("STUDY/" and the id). The length is fixed and each study has its
// own. It hides no guessable id; it keeps ids out of keys, which errors and checks print. Only the
// operator adds ids, so nobody else can search for two that collide.
using JoinId = std::array<uint8_t, 16>;

inline JoinId JoinIdOf(std::string_view study, std::string_view id) {
  const Sha256Digest digest = Sha256({study, "/", id});
  JoinId join_id;
  std::copy_n(digest.begin(), join_id.size(), join_id.begin());
  return join_id;
}

// Nothing unless `bytes` has the length of a JoinId.
inline std::optional<JoinId> JoinIdFromBytes(std::string_view bytes) {
  JoinId id;
  if (bytes.size() != id.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), id.begin());
  return id;
}

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_JOIN_ID_H_
