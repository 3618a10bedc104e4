#include "server/curator/ticket_authority.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "server/curator/store_keys.h"

namespace coppice {
namespace {

using Key = std::array<uint8_t, 32>;

// Each keeps its use of the curator's key apart from every other one.
constexpr absl::string_view kTicketPrefix = "coppice.v1.ticket";
constexpr absl::string_view kSubmissionTokenPrefix = "coppice.v1.submission_token";
constexpr absl::string_view kTokenTicketPrefix = "coppice.v1.token_ticket";

static_assert(kTicketIdBytes == 16 && kTicketMacBytes == 16, "one block of AES");

absl::Status FillRandom(absl::Span<uint8_t> out) {
  // Only 1 is success; 0 and -1 are not.
  if (RAND_priv_bytes(out.data(), static_cast<int>(out.size())) == 1) return absl::OkStatus();
  return absl::UnavailableError("the system random source failed");
}

absl::string_view ViewOf(absl::Span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// HMAC-SHA-256 of the parts, one after another.
absl::StatusOr<Key> Derive(const Key& key, std::initializer_list<absl::string_view> parts) {
  const std::string message = absl::StrJoin(parts, "");
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

// The MACs of ids that stand in a row, 16 bytes each.
absl::StatusOr<std::vector<uint8_t>> MacsOf(const std::vector<uint8_t>& ids, const Key& key) {
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
  if (!done) return absl::InternalError("OpenSSL cannot compute AES-256");
  return macs;
}

// Each id with its MAC.
absl::StatusOr<std::vector<Ticket>> Sign(const std::vector<uint8_t>& ids, const Key& key) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<uint8_t> macs, MacsOf(ids, key));
  std::vector<Ticket> signed_ids(ids.size() / kTicketIdBytes);
  for (size_t i = 0; i < signed_ids.size(); ++i) {
    std::copy_n(&ids[i * kTicketIdBytes], kTicketIdBytes, signed_ids[i].id.begin());
    std::copy_n(&macs[i * kTicketMacBytes], kTicketMacBytes, signed_ids[i].mac.begin());
  }
  return signed_ids;
}

absl::StatusOr<std::vector<Ticket>> SignRandom(size_t count, const Key& key) {
  std::vector<uint8_t> ids(count * kTicketIdBytes);
  COPPICE_RETURN_IF_ERROR(FillRandom(absl::MakeSpan(ids)));
  return Sign(ids, key);
}

// Which of them have the MAC that belongs to their id.
absl::StatusOr<std::vector<bool>> Verify(absl::Span<const Ticket> signed_ids, const Key& key) {
  std::vector<uint8_t> ids;
  ids.reserve(signed_ids.size() * kTicketIdBytes);
  for (const Ticket& ticket : signed_ids) ids.insert(ids.end(), ticket.id.begin(), ticket.id.end());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<uint8_t> macs, MacsOf(ids, key));
  std::vector<bool> good(signed_ids.size());
  for (size_t i = 0; i < signed_ids.size(); ++i) {
    good[i] =
        CRYPTO_memcmp(&macs[i * kTicketMacBytes], signed_ids[i].mac.data(), kTicketMacBytes) == 0;
  }
  return good;
}

// As the tickets that they are shaped like. InvalidArgument for another length, and for twins.
absl::StatusOr<std::vector<Ticket>> ParseTokens(absl::Span<const std::string> tokens) {
  std::vector<Ticket> parsed;
  std::set<std::string> seen;
  for (const std::string& token : tokens) {
    const absl::StatusOr<Ticket> ticket = Ticket::FromBytes(token);
    if (!ticket.ok() || !seen.insert(token).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("submission_tokens: number ", parsed.size() + 1,
                       ticket.ok() ? " came before: each is good for one ticket"
                                   : " is none: they have 32 bytes"));
    }
    parsed.push_back(*ticket);
  }
  return parsed;
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

absl::StatusOr<TicketAuthority::Key> TicketAuthority::TicketKey(
    const Fingerprint& fingerprint) const {
  return Derive(key_, {kTicketPrefix, ViewOf(fingerprint)});
}

absl::StatusOr<TicketAuthority::Key> TicketAuthority::TokenKey() const {
  return Derive(key_, {kSubmissionTokenPrefix});
}

absl::StatusOr<std::vector<Ticket>> TicketAuthority::Issue(const Fingerprint& fingerprint,
                                                           size_t count) const {
  COPPICE_ASSIGN_OR_RETURN(const Key key, TicketKey(fingerprint));
  return SignRandom(count, key);
}

absl::StatusOr<std::vector<std::string>> TicketAuthority::IssueTokens(size_t count) const {
  COPPICE_ASSIGN_OR_RETURN(const Key key, TokenKey());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Ticket> made, SignRandom(count, key));
  std::vector<std::string> tokens;
  tokens.reserve(count);
  for (const Ticket& token : made) tokens.push_back(token.ToBytes());
  return tokens;
}

absl::StatusOr<std::vector<Ticket>> TicketAuthority::IssueFor(
    const Fingerprint& fingerprint, absl::Span<const std::string> tokens) const {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Ticket> parsed, ParseTokens(tokens));
  COPPICE_ASSIGN_OR_RETURN(const Key token_key, TokenKey());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<bool> issued, Verify(parsed, token_key));
  std::vector<uint8_t> ids;
  ids.reserve(tokens.size() * kTicketIdBytes);
  for (size_t i = 0; i < parsed.size(); ++i) {
    if (!issued[i]) {
      return absl::PermissionDeniedError(
          absl::StrCat("submission_tokens: number ", i + 1,
                       " was not issued here; ask whoever runs the study for one"));
    }
    COPPICE_ASSIGN_OR_RETURN(const Key id, Derive(key_, {kTokenTicketPrefix, ViewOf(fingerprint),
                                                         ViewOf(parsed[i].id)}));
    ids.insert(ids.end(), id.begin(), id.begin() + kTicketIdBytes);
  }
  COPPICE_ASSIGN_OR_RETURN(const Key key, TicketKey(fingerprint));
  return Sign(ids, key);
}

absl::StatusOr<std::vector<bool>> TicketAuthority::Recognize(absl::Span<const Ticket> tickets,
                                                             const Fingerprint& fingerprint) const {
  COPPICE_ASSIGN_OR_RETURN(const Key key, TicketKey(fingerprint));
  return Verify(tickets, key);
}

}  // namespace coppice
