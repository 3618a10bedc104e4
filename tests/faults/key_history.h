// The keys that have signed a curator's manifests or will, and who must follow them.
//
// A key is named by its place: 0 is the one that the curator made for itself; the operator gave it
// each later one, endorsed by the one before or not.
// The operator gives the flags of the last key at every start, as the documentation says. If the
// store knows an older one (it was restored, or never saw the last ones) they are refused; then the
// operator tries the flags of each key in turn.

#ifndef COPPICE_TESTS_FAULTS_KEY_HISTORY_H_
#define COPPICE_TESTS_FAULTS_KEY_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/terms/signature.h"
#include "server/curator/keys/manifest_authority.h"

namespace coppice::testing {

// A key made from a small number: anybody who knows the number can sign.
SigningKey KeyOfNumber(uint8_t number);
// A key that no operator has.
SigningKey StrangersKey();

class KeyHistory {
 public:
  // With `breaks_chains` (a planted bug) the operator's rotations are not endorsed.
  explicit KeyHistory(bool breaks_chains) : breaks_chains_(breaks_chains) {}

  size_t size() const { return steps_.size(); }
  // Sets key 0, which the operator does not choose.
  void LearnFirst(const PublicKey& key) { steps_[0].key = key; }
  void Rotate() { Add(/*endorsed=*/true); }
  void Break() { Add(/*endorsed=*/false); }

  const PublicKey& key(size_t number) const { return steps_[number].key; }
  // The flags by which the operator lets key `number` sign.
  curator::SigningKeys GivenFor(size_t number) const;
  // Whether a chain of endorsements, not longer than allowed, leads from one key to the other.
  bool Leads(size_t from, size_t to) const;

 private:
  struct KeyStep {
    PublicKey key{};
    bool endorsed = false;
  };

  void Add(bool endorsed);

  const bool breaks_chains_;
  std::vector<KeyStep> steps_{1};
};

// What a gateway should trust: the rules of client/device/trust.h, restated on key numbers.
class Follower {
 public:
  void Pin(size_t key) { root_ = key; }
  // Whether it has a root: a pin, or the first key that it saw.
  bool HasRoot() const { return root_.has_value(); }
  // Whether it must accept an offer signed by key `signer`. Of the curator's endorsements only the
  // time from which they count is used.
  bool Accepts(const KeyHistory& keys, size_t signer, const KeyChain& endorsements,
               int64_t now) const;
  void Accepted(size_t signer);

 private:
  std::optional<size_t> root_;
  std::map<size_t, size_t> last_;  // by root, the last key that it led to
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_KEY_HISTORY_H_
