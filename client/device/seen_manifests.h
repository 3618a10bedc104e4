// What a device remembers of the manifests that it accepted: the key of each curator, and what was
// promised of each study. All of it is public.

#ifndef COPPICE_CLIENT_DEVICE_SEEN_MANIFESTS_H_
#define COPPICE_CLIENT_DEVICE_SEEN_MANIFESTS_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/terms/manifest.h"
#include "common/terms/sha256.h"

namespace coppice {

struct SeenManifest {
  std::string curator;  // where it came from, HOST:PORT
  Manifest manifest;
  Sha256Digest hash{};  // of its bytes
  PublicKey key{};      // that signed it
  PublicKey root{};     // where trust in `key` began: a pin, or the first key that was seen

  friend bool operator==(const SeenManifest&, const SeenManifest&) = default;
};

// Keeps manifests. Journal keeps them on disk; InMemory() until the process ends.
//
// Errors     Remember(): those of Journal::Append(). After an error nothing is remembered.
// Threads    safe to share.
class ManifestMemory {
 public:
  static std::unique_ptr<ManifestMemory> InMemory();
  virtual ~ManifestMemory() = default;

  // The last manifest of a study; `curator` is one of the addresses that it came from.
  virtual std::optional<SeenManifest> OfStudy(std::string_view study) const = 0;
  // The key that trust in a curator began with, and the last key that it led to.
  virtual std::optional<PublicKey> RootOf(std::string_view curator) const = 0;
  virtual std::optional<PublicKey> LastKeyOf(const PublicKey& root) const = 0;

  // True if remembering this would change none of these answers. So a study that is offered at
  // several addresses is remembered once for each, not at every change between them.
  bool Knows(const SeenManifest& seen) const;

  virtual Status Remember(const SeenManifest& seen) = 0;
};

// The plain list behind both. Not safe to share.
class SeenManifests {
 public:
  std::optional<SeenManifest> OfStudy(std::string_view study) const;
  std::optional<PublicKey> RootOf(std::string_view curator) const;
  std::optional<PublicKey> LastKeyOf(const PublicKey& root) const;
  void Add(const SeenManifest& seen) { seen_.push_back(seen); }

 private:
  std::vector<SeenManifest> seen_;  // oldest first; there are few
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_SEEN_MANIFESTS_H_
