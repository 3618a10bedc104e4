#include "client/device/seen_manifests.h"

#include <algorithm>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/base/status.h"

namespace coppice {
namespace {

class MemoryOnly final : public ManifestMemory {
 public:
  std::optional<SeenManifest> OfStudy(std::string_view study) const override {
    absl::MutexLock lock(&mutex_);
    return seen_.OfStudy(study);
  }
  std::optional<PublicKey> RootOf(std::string_view curator) const override {
    absl::MutexLock lock(&mutex_);
    return seen_.RootOf(curator);
  }
  std::optional<PublicKey> LastKeyOf(const PublicKey& root) const override {
    absl::MutexLock lock(&mutex_);
    return seen_.LastKeyOf(root);
  }
  Status Remember(const SeenManifest& seen) override {
    absl::MutexLock lock(&mutex_);
    seen_.Add(seen);
    return OkStatus();
  }

 private:
  mutable absl::Mutex mutex_;
  SeenManifests seen_ ABSL_GUARDED_BY(mutex_);
};

template <typename Predicate>
const SeenManifest* Last(const std::vector<SeenManifest>& seen, Predicate predicate) {
  const auto found = std::find_if(seen.rbegin(), seen.rend(), predicate);
  return found == seen.rend() ? nullptr : &*found;
}

}  // namespace

std::unique_ptr<ManifestMemory> ManifestMemory::InMemory() {
  return std::make_unique<MemoryOnly>();
}

bool ManifestMemory::Knows(const SeenManifest& seen) const {
  std::optional<SeenManifest> last = OfStudy(seen.manifest.study);
  if (!last.has_value()) return false;
  last->curator = seen.curator;
  return *last == seen && RootOf(seen.curator) == seen.root && LastKeyOf(seen.root) == seen.key;
}

std::optional<SeenManifest> SeenManifests::OfStudy(std::string_view study) const {
  const SeenManifest* seen =
      Last(seen_, [&](const SeenManifest& one) { return one.manifest.study == study; });
  return seen == nullptr ? std::nullopt : std::make_optional(*seen);
}

std::optional<PublicKey> SeenManifests::RootOf(std::string_view curator) const {
  const SeenManifest* seen =
      Last(seen_, [&](const SeenManifest& one) { return one.curator == curator; });
  return seen == nullptr ? std::nullopt : std::make_optional(seen->root);
}

std::optional<PublicKey> SeenManifests::LastKeyOf(const PublicKey& root) const {
  const SeenManifest* seen = Last(seen_, [&](const SeenManifest& one) { return one.root == root; });
  return seen == nullptr ? std::nullopt : std::make_optional(seen->key);
}

}  // namespace coppice
