// Looks at every offer of a run and remembers all of them: the manifest, and the tickets of tokens.
//
// The manifest must be signed by the key that should sign now, be about the terms beside it, and
// say what the study's owner asked for. It takes back nothing that an offer of this study ever
// said, and under the same key it has the same bytes. The same token always has the same ticket of
// a study.

#ifndef COPPICE_TESTS_FAULTS_OFFER_WATCH_H_
#define COPPICE_TESTS_FAULTS_OFFER_WATCH_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "common/terms/manifest.h"
#include "server/curator/studies/studies.h"

namespace coppice::testing {

class OfferWatch {
 public:
  // Returns what is wrong, or an empty string. `asked` is what the study was made from.
  std::string FindWrong(const curator::Studies::Offer& offer, const curator::StudySpec& asked,
                        const PublicKey& signer);
  // Does the same for the ticket that the token of `device` was given.
  std::string FindWrong(const curator::Studies::Offer& offer, const std::string& study,
                        uint32_t device);

 private:
  std::string CheckPromises(const Manifest& manifest, const curator::StudySpec& asked);

  std::map<std::string, Manifest> last_;  // by study
  // By study, the key that signs, and the one that reports are sealed for, which time replaces.
  std::map<std::tuple<std::string, PublicKey, std::array<uint8_t, 32>>, std::string> bytes_;
  std::map<std::pair<std::string, uint32_t>, std::string> tickets_;  // by study and device
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_OFFER_WATCH_H_
