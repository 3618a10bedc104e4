#include "server/curator/ticket_authority.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/base/status_macros.h"
#include "server/curator/store_keys.h"

namespace coppice {
namespace {

using Key = std::array<uint8_t, 32>;
using Mac = std::array<uint8_t, kTicketMacBytes>;

absl::Status FillRandom(absl::Span<uint8_t> out) {
  // Only 1 is success; 0 and -1 are not.
  if (RAND_priv_bytes(out.data(), static_cast<int>(out.size())) == 1) return absl::OkStatus();
  return absl::UnavailableError("the system random source failed");
}

// HMAC-SHA-256 under one key at a time. Making a context costs several times what a MAC does, so
// each thread keeps its own.
class KeyedMac {
 public:
  static KeyedMac& OfThisThread() {
    thread_local KeyedMac mac;
    return mac;
  }

  absl::StatusOr<Mac> Of(const Key& key, const Fingerprint& fingerprint,
                         const std::array<uint8_t, kTicketIdBytes>& id) {
    std::array<uint8_t, 32> full;
    size_t size = 0;
    if (!Start(key) ||
        EVP_MAC_update(context_.get(), fingerprint.data(), fingerprint.size()) != 1 ||
        EVP_MAC_update(context_.get(), id.data(), id.size()) != 1 ||
        EVP_MAC_final(context_.get(), full.data(), &size, full.size()) != 1) {
      key_.reset();
      return absl::InternalError("OpenSSL cannot compute HMAC-SHA-256");
    }
    Mac mac;
    std::copy_n(full.begin(), mac.size(), mac.begin());
    return mac;
  }

 private:
  KeyedMac() {
    const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac(
        EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_HMAC, nullptr), &EVP_MAC_free);
    if (mac != nullptr) context_.reset(EVP_MAC_CTX_new(mac.get()));
  }

  // Without a key OpenSSL starts over with the one it has, at half the cost.
  bool Start(const Key& key) {
    if (context_ == nullptr) return false;
    if (key_ == key) return EVP_MAC_init(context_.get(), nullptr, 0, nullptr) == 1;
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                 OSSL_PARAM_construct_end()};
    key_ = key;
    return EVP_MAC_init(context_.get(), key.data(), key.size(), params) == 1;
  }

  std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context_{nullptr, &EVP_MAC_CTX_free};
  std::optional<Key> key_;
};

}  // namespace

absl::StatusOr<TicketAuthority> TicketAuthority::Open(Store& store) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> stored, store.Get(kTicketKeyKey));
  Key key;
  if (stored.has_value()) {
    if (stored->size() != key.size()) {
      return absl::DataLossError("the ticket key in the store does not have 32 bytes");
    }
    std::copy(stored->begin(), stored->end(), key.begin());
    return TicketAuthority(key);
  }
  COPPICE_RETURN_IF_ERROR(FillRandom(absl::MakeSpan(key)));
  StoreBatch batch;
  batch.Put(std::string(kTicketKeyKey), std::string(key.begin(), key.end()));
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  return TicketAuthority(key);
}

absl::StatusOr<Ticket> TicketAuthority::Issue(const Fingerprint& fingerprint) const {
  Ticket ticket;
  COPPICE_RETURN_IF_ERROR(FillRandom(absl::MakeSpan(ticket.id)));
  COPPICE_ASSIGN_OR_RETURN(ticket.mac, KeyedMac::OfThisThread().Of(key_, fingerprint, ticket.id));
  return ticket;
}

absl::Status TicketAuthority::Verify(const Ticket& ticket, const Fingerprint& fingerprint) const {
  COPPICE_ASSIGN_OR_RETURN(const Mac mac,
                           KeyedMac::OfThisThread().Of(key_, fingerprint, ticket.id));
  if (CRYPTO_memcmp(mac.data(), ticket.mac.data(), mac.size()) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "this curator did not issue the ticket for these terms: fetch a new offer");
}

}  // namespace coppice
