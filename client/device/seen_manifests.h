// What a device remembers of the manifests that it accepted: the key of each curator, and what was
// promised of each study. All of it is public.

#ifndef COPPICE_CLIENT_DEVICE_SEEN_MANIFESTS_H_
#define COPPICE_CLIENT_DEVICE_SEEN_MANIFESTS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/terms/manifest.h"
#include "common/terms/sha256.h"

namespace coppice {

struct SeenManifest {
  std::string curator;  // where it came from, HOST:PORT
  std::string bytes;    // as they were signed
  Manifest manifest;    // what they say
  PublicKey key{};      // that signed them
  PublicKey root{};     // where trust in `key` began: a pin, or the first key that was seen

  Sha256Digest hash() const { return Sha256({bytes}); }

  friend bool operator==(const SeenManifest&, const SeenManifest&) = default;
};

// A list of manifests, which answers by the last that fits.
//
// Threads    not safe to share.
class SeenManifests {
 public:
  // The last manifest of a study; its `curator` is one of the addresses that it came from.
  std::optional<SeenManifest> OfStudy(std::string_view study) const;
  // The key that trust in a curator began with, and the last key that it led to.
  std::optional<PublicKey> RootOf(std::string_view curator) const;
  std::optional<PublicKey> LastKeyOf(const PublicKey& root) const;

  // True if adding this would change none of these answers. So a study that is offered at several
  // addresses is remembered once for each, not at every change between them.
  bool Knows(const SeenManifest& seen) const;

  void Add(SeenManifest seen) { seen_.push_back(std::move(seen)); }
  const std::vector<SeenManifest>& all() const { return seen_; }  // oldest first

 private:
  std::vector<SeenManifest> seen_;  // there are few
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_SEEN_MANIFESTS_H_
