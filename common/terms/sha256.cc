#include "common/terms/sha256.h"

#include <string_view>

namespace coppice {

Sha256Stream::Sha256Stream() : good_(hash_.Begin()) {}

void Sha256Stream::Add(std::string_view bytes) { good_ = good_ && hash_.Add(bytes); }

Sha256Digest Sha256Stream::Finish() {
  Sha256Digest digest{};
  return good_ && hash_.Finish(digest.data()) ? digest : Sha256Digest{};
}

Sha256Digest Sha256(std::initializer_list<std::string_view> parts) {
  Sha256Stream stream;
  for (const std::string_view part : parts) stream.Add(part);
  return stream.Finish();
}

}  // namespace coppice
