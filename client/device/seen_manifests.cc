#include "client/device/seen_manifests.h"

#include <algorithm>

namespace coppice {
namespace {

template <typename Predicate>
const SeenManifest* LastSeen(const std::vector<SeenManifest>& seen, Predicate predicate) {
  const auto found = std::find_if(seen.rbegin(), seen.rend(), predicate);
  return found == seen.rend() ? nullptr : &*found;
}

}  // namespace

std::optional<SeenManifest> SeenManifests::OfStudy(std::string_view study) const {
  const SeenManifest* seen =
      LastSeen(seen_, [&](const SeenManifest& one) { return one.manifest.study == study; });
  return seen == nullptr ? std::nullopt : std::make_optional(*seen);
}

std::optional<PublicKey> SeenManifests::RootOf(std::string_view curator) const {
  const SeenManifest* seen =
      LastSeen(seen_, [&](const SeenManifest& one) { return one.curator == curator; });
  return seen == nullptr ? std::nullopt : std::make_optional(seen->root);
}

std::optional<PublicKey> SeenManifests::LastKeyOf(const PublicKey& root) const {
  const SeenManifest* seen =
      LastSeen(seen_, [&](const SeenManifest& one) { return one.root == root; });
  return seen == nullptr ? std::nullopt : std::make_optional(seen->key);
}

bool SeenManifests::Knows(const SeenManifest& seen) const {
  std::optional<SeenManifest> last = OfStudy(seen.manifest.study);
  if (!last.has_value()) return false;
  last->curator = seen.curator;
  return *last == seen && RootOf(seen.curator) == seen.root && LastKeyOf(seen.root) == seen.key;
}

}  // namespace coppice
