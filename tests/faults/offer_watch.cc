#include "tests/faults/offer_watch.h"

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/manifest.h"
#include "common/wire/proto/convert.h"
#include "common/wire/terms.h"

namespace coppice::testing {

std::string OfferWatch::CheckPromises(const Manifest& manifest, const curator::StudySpec& asked) {
  if (manifest.study != asked.id || manifest.epsilon != asked.epsilon ||
      manifest.expires_unix_seconds != asked.settings.expires_unix_seconds ||
      manifest.min_reports != asked.settings.min_reports) {
    return "a manifest says other things than its study was made with";
  }
  const auto [last, first_seen] = last_.try_emplace(asked.id, manifest);
  if (const Status looser = CheckNotWeakened(last->second, manifest); !looser.ok()) {
    return StrCat("a manifest loosens: ", looser.message());
  }
  last->second = manifest;
  return "";
}

std::string OfferWatch::FindWrong(const curator::Studies::Offer& offer,
                                  const curator::StudySpec& asked, const PublicKey& signer) {
  if (offer.manifest == nullptr) return "an offer without a manifest";
  const SignedManifest& said = *offer.manifest;
  if (said.key != signer) return "an offer is signed by another key than the one given last";
  if (!IsSignedBy(said.key, kManifestDomain, said.bytes, said.signature)) {
    return "the signature of a manifest does not check";
  }
  const StatusOr<Manifest> manifest = ReadManifest(said.bytes);
  const StatusOr<Terms> terms = ReadTerms(*offer.terms_bytes);
  if (!manifest.ok() || !terms.ok()) return "an offer does not parse";
  const Status fits = CheckManifestIsOf(*manifest, *terms, offer.fingerprint);
  if (!fits.ok()) return StrCat("a manifest is about others: ", fits.message());
  if (!manifest->direct.has_value()) return "a manifest has no key to seal reports for";
  const auto [bytes, first_seen] =
      bytes_.try_emplace({asked.id, signer, manifest->direct->key.key}, said.bytes);
  if (bytes->second != said.bytes) return "a manifest has other bytes under the same keys";
  return CheckPromises(*manifest, asked);
}

std::string OfferWatch::FindWrong(const curator::Studies::Offer& offer, const std::string& study,
                                  uint32_t device) {
  if (offer.tickets.size() != 1) return "an offer has another number of tickets than asked for";
  const std::string ticket = offer.tickets[0].ToBytes();
  const auto [known, first_seen] = tickets_.try_emplace({study, device}, ticket);
  if (known->second == ticket) return "";
  return StrCat("the token of device ", device, " has another ticket than before");
}

}  // namespace coppice::testing
