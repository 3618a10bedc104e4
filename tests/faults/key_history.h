// The keys that have signed, or are to sign, a curator's manifests, and who must follow them.
//
// Numbers    a key is named by its place: 0 is the one that the curator made for itself, and each
//            later one was given to it by the operator, endorsed by the one before or not.
// Operator   gives the flags of the last key at every start, as the documentation says. If the
//            store knows an older one (it was restored, or never saw the last ones) they are
//            refused, and then the flags of each key in turn bring it up.

#ifndef COPPICE_TESTS_FAULTS_KEY_HISTORY_H_
#define COPPICE_TESTS_FAULTS_KEY_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/study/signature.h"
#include "server/curator/keys/manifest_authority.h"

namespace coppice::testing {

// Of a small number: whoever knows it can sign.
SigningKey KeyOfNumber(uint8_t number);
// One that no operator has.
SigningKey StrangersKey();

class KeyHistory {
 public:
  // With `breaks_chains` (a planted bug) the operator's rotations are not endorsed.
  explicit KeyHistory(bool breaks_chains) : breaks_chains_(breaks_chains) {}

  size_t size() const { return steps_.size(); }
  // Of key 0, which the operator does not choose.
  void LearnFirst(const PublicKey& key) { steps_[0].key = key; }
  void Rotate() { Add(/*endorsed=*/true); }
  void Break() { Add(/*endorsed=*/false); }

  const PublicKey& key(size_t number) const { return steps_[number].key; }
  // What the operator gives for key `number` to sign.
  curator::SigningKeys GivenFor(size_t number) const;
  // Whether endorsements lead from one key to the other, as many as a chain may have.
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

// What a gateway should trust: client/trust.h told once more, on numbers.
class Follower {
 public:
  void Pin(size_t key) { root_ = key; }
  // Whether it has a key to begin with: a pin, or the first that it saw.
  bool HasRoot() const { return root_.has_value(); }
  // Whether it is to accept an offer signed by key `signer`. The curator's endorsements say no more
  // than from when on they count.
  bool Accepts(const KeyHistory& keys, size_t signer, const KeyChain& endorsements,
               int64_t now) const;
  void Accepted(size_t signer);

 private:
  std::optional<size_t> root_;
  std::map<size_t, size_t> last_;  // that each root led to
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_KEY_HISTORY_H_
