// Looks at every offer of a run as one who forgets none: its manifest, and the tickets of tokens.
//
// Held       the manifest is signed by the key that should sign now, is about the terms beside it,
//            says what the study's owner asked for, and takes back nothing that an offer of this
//            study ever said; under the same key it is the same bytes. The same token has the same
//            ticket of a study, always.

#ifndef COPPICE_TESTS_FAULTS_OFFER_WATCH_H_
#define COPPICE_TESTS_FAULTS_OFFER_WATCH_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "common/study/manifest.h"
#include "server/curator/studies/studies.h"

namespace coppice::testing {

class OfferWatch {
 public:
  // Empty, or what is wrong. `asked` is what the study was made from.
  std::string FindWrong(const curator::Studies::Offer& offer, const curator::StudySpec& asked,
                        const PublicKey& signer);
  // Likewise of the ticket that the token of `device` was given.
  std::string FindWrong(const curator::Studies::Offer& offer, const std::string& study,
                        uint32_t device);

 private:
  std::string CheckPromises(const Manifest& manifest, const curator::StudySpec& asked);

  std::map<std::string, Manifest> last_;                             // by study
  std::map<std::pair<std::string, PublicKey>, std::string> bytes_;   // of manifests
  std::map<std::pair<std::string, uint32_t>, std::string> tickets_;  // by study and device
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_OFFER_WATCH_H_
