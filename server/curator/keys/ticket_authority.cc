#include "server/curator/keys/ticket_authority.h"

#include <endian.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/keys/store_keys.h"

namespace coppice::curator {
namespace {

// Each prefix separates its use of the curator's key from every other use.
constexpr std::string_view kTicketPrefix = "coppice.v1.ticket";
constexpr std::string_view kSubmissionTokenPrefix = "coppice.v1.submission_token";

using AesKey = std::array<uint8_t, 32>;
constexpr size_t kBlock = 16;  // bytes of an AES block
static_assert(kTicketIdBytes == kBlock && kTicketMacBytes == kBlock &&
              sizeof(TicketSerial) == kBlock);

// Set in runs of tokens, clear in runs of tickets.
constexpr uint64_t kTokenRun = uint64_t{1} << 63;

Status FillRandom(absl::Span<uint8_t> out) {
  // Only 1 is success; 0 and -1 are not.
  if (RAND_priv_bytes(out.data(), static_cast<int>(out.size())) == 1) return OkStatus();
  return UnavailableError("the system random source failed");
}

enum class Direction : int { kDecrypt = 0, kEncrypt = 1 };

// AES-256 in one direction, block by block. Keeps the last key, since setting the same key again
// takes longer than a report's block.
class BlockCipher {
 public:
  explicit BlockCipher(Direction direction) : direction_(direction) {}

  Status Transform(const AesKey& key, absl::Span<uint8_t> blocks) {
    int size = 0;
    const bool done = Use(key) &&
                      EVP_CipherUpdate(context_.get(), blocks.data(), &size, blocks.data(),
                                       static_cast<int>(blocks.size())) == 1 &&
                      static_cast<size_t>(size) == blocks.size();
    if (!done) key_.reset();
    return done ? OkStatus() : InternalError("OpenSSL cannot compute AES-256");
  }

 private:
  bool Use(const AesKey& key) {
    if (key_ == key) return true;
    static const EVP_CIPHER* const kCipher = EVP_CIPHER_fetch(nullptr, "AES-256-ECB", nullptr);
    key_.reset();
    if (kCipher == nullptr || context_ == nullptr ||
        EVP_CipherInit_ex(context_.get(), kCipher, nullptr, key.data(), nullptr,
                          static_cast<int>(direction_)) != 1 ||
        EVP_CIPHER_CTX_set_padding(context_.get(), 0) != 1) {
      return false;
    }
    key_ = key;
    return true;
  }

  const Direction direction_;
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context_{
      EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free};
  std::optional<AesKey> key_;
};

Status TransformBlocks(Direction direction, const AesKey& key, absl::Span<uint8_t> blocks) {
  thread_local BlockCipher encrypt(Direction::kEncrypt);
  thread_local BlockCipher decrypt(Direction::kDecrypt);
  return (direction == Direction::kEncrypt ? encrypt : decrypt).Transform(key, blocks);
}

// Big-endian, so that ids mean the same on every machine.
void WriteSerial(TicketSerial serial, uint8_t* block) {
  const std::array<uint64_t, 2> halves = {htobe64(absl::Uint128High64(serial)),
                                          htobe64(absl::Uint128Low64(serial))};
  std::memcpy(block, halves.data(), kBlock);
}

TicketSerial ReadSerial(const uint8_t* block) {
  std::array<uint64_t, 2> halves;
  std::memcpy(halves.data(), block, kBlock);
  return absl::MakeUint128(be64toh(halves[0]), be64toh(halves[1]));
}

// The ids of the tickets, concatenated.
std::vector<uint8_t> IdsOf(absl::Span<const Ticket> tickets) {
  std::vector<uint8_t> ids(tickets.size() * kBlock);
  for (size_t i = 0; i < tickets.size(); ++i) {
    std::copy_n(tickets[i].id.begin(), kBlock, &ids[i * kBlock]);
  }
  return ids;
}

// Parses tokens, which have the shape of tickets. InvalidArgument for a wrong length or a
// duplicate.
StatusOr<std::vector<Ticket>> ParseTokens(absl::Span<const std::string> tokens) {
  std::vector<Ticket> parsed;
  std::set<std::string> seen;
  for (const std::string& token : tokens) {
    const StatusOr<Ticket> ticket = Ticket::FromBytes(token);
    if (!ticket.ok() || !seen.insert(token).second) {
      return InvalidArgumentError(StrCat("submission_tokens: number ", parsed.size() + 1,
                                         ticket.ok() ? " came before: each is good for one ticket"
                                                     : " is none: they have 32 bytes"));
    }
    parsed.push_back(*ticket);
  }
  return parsed;
}

}  // namespace

std::optional<TicketAuthority::Keys> TicketAuthority::DerivedKeys::Find(
    const Fingerprint& fingerprint) const {
  const ReaderLock lock(mutex_);
  const auto found = keys_.find(fingerprint);
  return found == keys_.end() ? std::nullopt : std::optional<Keys>(found->second);
}

void TicketAuthority::DerivedKeys::Keep(const Fingerprint& fingerprint, const Keys& keys) {
  const WriterLock lock(mutex_);
  if (keys_.size() >= kMaxKeys) keys_.clear();
  keys_.insert_or_assign(fingerprint, keys);
}

StatusOr<TicketAuthority> TicketAuthority::Open(storage::Store& store) {
  std::array<uint8_t, sizeof(uint64_t)> run{};
  COPPICE_RETURN_IF_ERROR(FillRandom(absl::MakeSpan(run)));
  const uint64_t run_number = std::bit_cast<uint64_t>(run) & ~kTokenRun;
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> stored, store.Get(kTicketKeyKey));
  Key key;
  if (stored.has_value()) {
    if (stored->size() != key.size()) {
      return DataLossError("the ticket key in the store does not have 32 bytes");
    }
    std::copy(stored->begin(), stored->end(), key.begin());
    return TicketAuthority(key, run_number);
  }
  COPPICE_RETURN_IF_ERROR(FillRandom(absl::MakeSpan(key)));
  storage::StoreBatch batch;
  batch.Put(std::string(kTicketKeyKey), std::string(key.begin(), key.end()));
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  return TicketAuthority(key, run_number);
}

// The halves of HMAC-SHA-512 of prefix and terms.
StatusOr<TicketAuthority::Keys> TicketAuthority::Derive(std::string_view prefix,
                                                        absl::Span<const uint8_t> terms) const {
  std::string message(prefix);
  message.append(terms.begin(), terms.end());
  std::array<uint8_t, 2 * sizeof(Key)> derived{};
  unsigned size = 0;
  if (HMAC(EVP_sha512(), key_.data(), static_cast<int>(key_.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), derived.data(),
           &size) == nullptr ||
      size != derived.size()) {
    return InternalError("OpenSSL cannot compute HMAC-SHA-512");
  }
  return std::bit_cast<Keys>(derived);
}

StatusOr<TicketAuthority::Keys> TicketAuthority::TicketKeys(const Fingerprint& fingerprint) const {
  if (const std::optional<Keys> known = derived_->Find(fingerprint)) return *known;
  COPPICE_ASSIGN_OR_RETURN(const Keys keys, Derive(kTicketPrefix, fingerprint));
  derived_->Keep(fingerprint, keys);
  return keys;
}

StatusOr<TicketAuthority::Keys> TicketAuthority::TokenKeys() const {
  return Derive(kSubmissionTokenPrefix, {});
}

std::vector<TicketSerial> TicketAuthority::NextSerials(uint64_t run, size_t count) const {
  const uint64_t first = issued_->fetch_add(count, std::memory_order_relaxed);
  std::vector<TicketSerial> serials(count);
  for (size_t i = 0; i < count; ++i) serials[i] = absl::MakeUint128(run, first + i);
  return serials;
}

StatusOr<std::vector<Ticket>> TicketAuthority::Sign(absl::Span<const TicketSerial> serials,
                                                    const Keys& keys) {
  std::vector<Ticket> tickets(serials.size());
  std::vector<uint8_t> blocks(serials.size() * kBlock);
  for (size_t i = 0; i < serials.size(); ++i) WriteSerial(serials[i], &blocks[i * kBlock]);
  COPPICE_RETURN_IF_ERROR(TransformBlocks(Direction::kEncrypt, keys.id, absl::MakeSpan(blocks)));
  for (size_t i = 0; i < tickets.size(); ++i) {
    std::copy_n(&blocks[i * kBlock], kBlock, tickets[i].id.begin());
  }
  COPPICE_RETURN_IF_ERROR(TransformBlocks(Direction::kEncrypt, keys.mac, absl::MakeSpan(blocks)));
  for (size_t i = 0; i < tickets.size(); ++i) {
    std::copy_n(&blocks[i * kBlock], kBlock, tickets[i].mac.begin());
  }
  return tickets;
}

StatusOr<std::vector<std::optional<TicketSerial>>> TicketAuthority::Verify(
    absl::Span<const Ticket> tickets, const Keys& keys) {
  std::vector<uint8_t> macs = IdsOf(tickets);
  std::vector<uint8_t> serials = macs;
  COPPICE_RETURN_IF_ERROR(TransformBlocks(Direction::kEncrypt, keys.mac, absl::MakeSpan(macs)));
  COPPICE_RETURN_IF_ERROR(TransformBlocks(Direction::kDecrypt, keys.id, absl::MakeSpan(serials)));
  std::vector<std::optional<TicketSerial>> good(tickets.size());
  for (size_t i = 0; i < tickets.size(); ++i) {
    if (CRYPTO_memcmp(&macs[i * kBlock], tickets[i].mac.data(), kBlock) != 0) continue;
    good[i] = ReadSerial(&serials[i * kBlock]);
  }
  return good;
}

StatusOr<std::vector<Ticket>> TicketAuthority::Issue(const Fingerprint& fingerprint,
                                                     size_t count) const {
  COPPICE_ASSIGN_OR_RETURN(const Keys keys, TicketKeys(fingerprint));
  return Sign(NextSerials(run_, count), keys);
}

StatusOr<std::vector<std::string>> TicketAuthority::IssueTokens(size_t count) const {
  COPPICE_ASSIGN_OR_RETURN(const Keys keys, TokenKeys());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Ticket> made,
                           Sign(NextSerials(run_ | kTokenRun, count), keys));
  std::vector<std::string> tokens;
  tokens.reserve(count);
  for (const Ticket& token : made) tokens.push_back(token.ToBytes());
  return tokens;
}

StatusOr<std::vector<Ticket>> TicketAuthority::IssueFor(
    const Fingerprint& fingerprint, absl::Span<const std::string> tokens) const {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Ticket> parsed, ParseTokens(tokens));
  COPPICE_ASSIGN_OR_RETURN(const Keys token_keys, TokenKeys());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::optional<TicketSerial>> issued,
                           Verify(parsed, token_keys));
  std::vector<TicketSerial> serials;
  serials.reserve(issued.size());
  for (const std::optional<TicketSerial>& serial : issued) {
    if (!serial.has_value()) {
      return PermissionDeniedError(
          StrCat("submission_tokens: number ", serials.size() + 1,
                 " was not issued here; ask whoever runs the study for one"));
    }
    serials.push_back(*serial);
  }
  COPPICE_ASSIGN_OR_RETURN(const Keys keys, TicketKeys(fingerprint));
  return Sign(serials, keys);
}

StatusOr<std::vector<std::optional<TicketSerial>>> TicketAuthority::Recognize(
    absl::Span<const Ticket> tickets, const Fingerprint& fingerprint) const {
  COPPICE_ASSIGN_OR_RETURN(const Keys keys, TicketKeys(fingerprint));
  return Verify(tickets, keys);
}

}  // namespace coppice::curator
