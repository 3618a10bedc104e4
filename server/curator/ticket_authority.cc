#include "server/curator/ticket_authority.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "server/curator/store_keys.h"

namespace coppice {
namespace {

using Key = std::array<uint8_t, 32>;

// Keeps this use of the curator's key apart from every other one.
constexpr absl::string_view kTicketPrefix = "coppice.v1.ticket";

static_assert(kTicketIdBytes == 16 && kTicketMacBytes == 16, "one block of AES");

absl::Status FillRandom(absl::Span<uint8_t> out) {
  // Only 1 is success; 0 and -1 are not.
  if (RAND_priv_bytes(out.data(), static_cast<int>(out.size())) == 1) return absl::OkStatus();
  return absl::UnavailableError("the system random source failed");
}

absl::StatusOr<Key> KeyOfTerms(const Key& key, const Fingerprint& fingerprint) {
  std::string message(kTicketPrefix);
  message.append(fingerprint.begin(), fingerprint.end());
  Key derived;
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), derived.data(),
           &size) == nullptr ||
      size != derived.size()) {
    return absl::InternalError("OpenSSL cannot compute HMAC-SHA-256");
  }
  return derived;
}

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

absl::StatusOr<std::vector<uint8_t>> TicketAuthority::MacsOf(const std::vector<uint8_t>& ids,
                                                             const Fingerprint& fingerprint) const {
  COPPICE_ASSIGN_OR_RETURN(Key key, KeyOfTerms(key_, fingerprint));
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(
      EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  std::vector<uint8_t> macs(ids.size());
  int size = 0;
  const bool done =
      context != nullptr &&
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_ecb(), nullptr, key.data(), nullptr) == 1 &&
      EVP_CIPHER_CTX_set_padding(context.get(), 0) == 1 &&
      EVP_EncryptUpdate(context.get(), macs.data(), &size, ids.data(),
                        static_cast<int>(ids.size())) == 1 &&
      static_cast<size_t>(size) == macs.size();
  OPENSSL_cleanse(key.data(), key.size());
  if (!done) return absl::InternalError("OpenSSL cannot compute AES-256");
  return macs;
}

absl::StatusOr<std::vector<Ticket>> TicketAuthority::Issue(const Fingerprint& fingerprint,
                                                           size_t count) const {
  std::vector<uint8_t> ids(count * kTicketIdBytes);
  COPPICE_RETURN_IF_ERROR(FillRandom(absl::MakeSpan(ids)));
  COPPICE_ASSIGN_OR_RETURN(const std::vector<uint8_t> macs, MacsOf(ids, fingerprint));
  std::vector<Ticket> tickets(count);
  for (size_t i = 0; i < count; ++i) {
    std::copy_n(&ids[i * kTicketIdBytes], kTicketIdBytes, tickets[i].id.begin());
    std::copy_n(&macs[i * kTicketMacBytes], kTicketMacBytes, tickets[i].mac.begin());
  }
  return tickets;
}

absl::StatusOr<std::vector<bool>> TicketAuthority::Recognize(absl::Span<const Ticket> tickets,
                                                             const Fingerprint& fingerprint) const {
  std::vector<uint8_t> ids;
  ids.reserve(tickets.size() * kTicketIdBytes);
  for (const Ticket& ticket : tickets) ids.insert(ids.end(), ticket.id.begin(), ticket.id.end());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<uint8_t> macs, MacsOf(ids, fingerprint));
  std::vector<bool> issued(tickets.size());
  for (size_t i = 0; i < tickets.size(); ++i) {
    issued[i] =
        CRYPTO_memcmp(&macs[i * kTicketMacBytes], tickets[i].mac.data(), kTicketMacBytes) == 0;
  }
  return issued;
}

}  // namespace coppice
