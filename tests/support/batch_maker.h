// Makes a relay's batches without a relay: sealed, sorted and signed like real ones.

#ifndef COPPICE_TESTS_SUPPORT_BATCH_MAKER_H_
#define COPPICE_TESTS_SUPPORT_BATCH_MAKER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/encrypt/report_seal.h"
#include "common/terms/manifest.h"
#include "common/terms/merkle.h"
#include "common/terms/relay_promise.h"
#include "common/terms/signature.h"
#include "common/terms/ticket.h"
#include "common/wire/calls.h"

namespace coppice::testing {

struct SealedReport {
  std::string ticket;
  std::string encapsulated;
  std::string ciphertext;
};

// A batch that a test may still change; SignBatch() makes its header fit again.
struct SealedBatch {
  BatchHeader header;
  std::vector<SealedReport> reports;  // in the order of tickets
  std::string header_bytes{};
  std::string signature{};

  // Returns columns of the reports from `first` on.
  struct Columns {
    std::string tickets{};
    std::string encapsulated{};
    std::string ciphertexts{};
  };
  Columns Part(size_t first, size_t count) const {
    Columns columns;
    for (size_t i = first; i < std::min(first + count, reports.size()); ++i) {
      columns.tickets += reports[i].ticket;
      columns.encapsulated += reports[i].encapsulated;
      columns.ciphertexts += reports[i].ciphertext;
    }
    return columns;
  }
};

inline SigningKey RelayKey(uint8_t seed = 7) {
  SigningKey::Seed bytes{};
  bytes[0] = seed;
  return *SigningKey::FromSeed(bytes);
}

// Signs the header as it is.
inline void SignHeader(SealedBatch& batch, const SigningKey& key) {
  batch.header_bytes = WriteBatchHeader(batch.header);
  const Signature signature = *key.Sign(kBatchDomain, batch.header_bytes);
  batch.signature.assign(signature.begin(), signature.end());
}

// Sets the header's number and root from the reports, and signs it.
inline void SignBatch(SealedBatch& batch, const SigningKey& key) {
  MerkleRootStream root;
  for (const SealedReport& report : batch.reports) {
    root.Add({report.ticket, report.encapsulated, report.ciphertext});
  }
  batch.header.reports = batch.reports.size();
  batch.header.root = root.Root();
  batch.header.relay_key = KeyIdOf(key.public_key());
  SignHeader(batch, key);
}

// Seals a payload as a device does.
inline SealedReport SealFor(seal::ReportSealer& sealer, const std::string& ticket,
                            const std::string& payload) {
  const seal::SealedMessage message = *sealer.Seal(*Ticket::FromBytes(ticket), payload);
  return {.ticket = ticket,
          .encapsulated = {message.encapsulated.begin(), message.encapsulated.end()},
          .ciphertext = message.ciphertext};
}

inline seal::ReportSealer SealerOf(const Manifest& manifest) {
  return *seal::ReportSealer::Create({.aead = static_cast<seal::Aead>(manifest.sealing->suite),
                                      .fingerprint = manifest.fingerprint,
                                      .payload_bytes = manifest.sealing->payload_bytes},
                                     manifest.sealing->key);
}

// Makes a batch of these tickets and payloads, for the deal that `epoch` names.
inline SealedBatch MakeBatch(const Manifest& manifest, uint8_t epoch, const SigningKey& key,
                             const std::vector<std::pair<std::string, std::string>>& payloads) {
  SealedBatch batch;
  batch.header = {.study = manifest.study,
                  .fingerprint = manifest.fingerprint,
                  .sealing_key = seal::SealingKeyIdOf(
                      static_cast<seal::Aead>(manifest.sealing->suite), manifest.sealing->key),
                  .epoch = {epoch},
                  .min_batch = manifest.sealing->min_batch};
  seal::ReportSealer sealer = SealerOf(manifest);
  for (const auto& [ticket, payload] : payloads) {
    batch.reports.push_back(SealFor(sealer, ticket, payload));
  }
  std::sort(batch.reports.begin(), batch.reports.end(),
            [](const SealedReport& a, const SealedReport& b) { return a.ticket < b.ticket; });
  SignBatch(batch, key);
  return batch;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_BATCH_MAKER_H_
