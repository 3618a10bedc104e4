#include "server/relay/epoch/deal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/relay/epoch/bytes.h"

namespace coppice::relay {
namespace {

constexpr std::string_view kDealMagic("coppice.v1.deal\0", 16);
constexpr std::string_view kPoolLabel("coppice.v1.deal_pool\0", 21);
constexpr std::string_view kMarkLabel("coppice.v1.deal_mark\0", 21);
constexpr std::string_view kOrderLabel("coppice.v1.deal_order\0", 22);
constexpr std::string_view kClaimLabel("coppice.v1.deal_claim\0", 22);
constexpr size_t kKeyBytes = 32;
// The key is in the first sector; two marks follow, which are written in turn.
constexpr size_t kDealFileBytes = 3 * kSectorBytes;
// A crash skips at most this many tickets, and one sync covers as many.
constexpr uint64_t kPlacesPerMark = 1000;

using KeyBytes = std::array<uint8_t, kKeyBytes>;

// The head of the file.
constexpr size_t kHeadBytes = kDealMagic.size() + kKeyBytes + 2 * kCheckBytes;

std::string PoolCheck(std::string_view pool) { return CheckOf({kPoolLabel, pool}); }

std::string MarkBytes(uint64_t sequence, uint64_t place) {
  const std::string numbers = StrCat(NumberBytes(sequence), NumberBytes(place));
  return StrCat(numbers, CheckOf({kMarkLabel, numbers}));
}

uint64_t MarkOffset(uint64_t sequence) { return kSectorBytes * (1 + sequence % 2); }

struct DealMark {
  uint64_t sequence = 0;
  uint64_t place = 0;
};

std::optional<DealMark> ParseMark(std::string_view sector) {
  const std::string_view numbers = Take(sector, 2 * kNumberBytes);
  if (Take(sector, kCheckBytes) != CheckOf({kMarkLabel, numbers})) return std::nullopt;
  return DealMark{.sequence = NumberIn(numbers), .place = NumberIn(numbers.substr(kNumberBytes))};
}

// The bytes of a key, wiped on destruction.
class WipedBytes {
 public:
  explicit WipedBytes(std::string bytes) : bytes_(std::move(bytes)) {}
  ~WipedBytes() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }
  WipedBytes(const WipedBytes&) = delete;
  WipedBytes& operator=(const WipedBytes&) = delete;

  std::string_view get() const { return bytes_; }

 private:
  std::string bytes_;
};

bool HmacSha256(std::string_view key, std::string_view message, KeyBytes& mac) {
  unsigned int bytes = 0;
  return HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
              reinterpret_cast<const unsigned char*>(message.data()), message.size(), mac.data(),
              &bytes) != nullptr &&
         bytes == mac.size();
}

Status OpenSslFailed() {
  return InternalError("OpenSSL lacks HMAC-SHA256 or AES-256; nothing is dealt");
}

struct CipherDelete {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

struct RankedSlot {
  uint64_t high = 0;
  uint64_t low = 0;
  uint32_t slot = 0;
};

// Ranks by AES-256 of the numbers 0, 1, ..., in groups. A block cipher never repeats a value.
bool RankSlots(const KeyBytes& key, std::vector<RankedSlot>& ranked) {
  constexpr size_t kBlockBytes = 16;
  constexpr size_t kBlocksAtOnce = 256;
  const std::unique_ptr<EVP_CIPHER_CTX, CipherDelete> context(EVP_CIPHER_CTX_new());
  if (context == nullptr ||
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_ecb(), nullptr, key.data(), nullptr) != 1 ||
      EVP_CIPHER_CTX_set_padding(context.get(), 0) != 1) {
    return false;
  }
  std::string plain, ranks;
  for (size_t first = 0; first < ranked.size(); first += kBlocksAtOnce) {
    const size_t count = std::min(kBlocksAtOnce, ranked.size() - first);
    plain.clear();
    for (size_t i = first; i < first + count; ++i) {
      plain.append(kBlockBytes - kNumberBytes, '\0').append(NumberBytes(i));
    }
    ranks.assign(plain.size(), '\0');
    int written = 0;
    if (EVP_EncryptUpdate(context.get(), reinterpret_cast<unsigned char*>(ranks.data()), &written,
                          reinterpret_cast<const unsigned char*>(plain.data()),
                          static_cast<int>(plain.size())) != 1 ||
        written != static_cast<int>(plain.size())) {
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      const std::string_view block = std::string_view(ranks).substr(i * kBlockBytes, kBlockBytes);
      ranked[first + i] = {.high = NumberIn(block),
                           .low = NumberIn(block.substr(kNumberBytes)),
                           .slot = static_cast<uint32_t>(first + i)};
    }
  }
  OPENSSL_cleanse(ranks.data(), ranks.size());
  return true;
}

}  // namespace

struct Dealer::Key : KeyBytes {
  Key() : KeyBytes{} {}
  ~Key() { OPENSSL_cleanse(data(), size()); }
};

Dealer::Dealer(std::unique_ptr<DiskFile> file, std::unique_ptr<Key> claims,
               std::vector<uint32_t> order)
    : file_(std::move(file)), claims_(std::move(claims)), order_(std::move(order)) {}

Status MakeDealFile(const std::string& path, Disk& disk, std::string_view pool) {
  std::string key(kKeyBytes, '\0');
  // Only 1 is success; 0 and -1 are not.
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(key.data()), kKeyBytes) != 1) {
    return UnavailableError("the system's random source failed; no deal was made");
  }
  const WipedBytes wiped(std::move(key));
  const std::string bound = PoolCheck(pool);
  const WipedBytes head(
      StrCat(kDealMagic, wiped.get(), bound, CheckOf({kDealMagic, wiped.get(), bound})));
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<DiskFile> file, disk.CreateFile(path));
  COPPICE_RETURN_IF_ERROR(file->Allocate(kDealFileBytes));
  COPPICE_RETURN_IF_ERROR(file->Write(0, head.get()));
  for (const uint64_t sequence : {0, 1}) {
    COPPICE_RETURN_IF_ERROR(file->Write(MarkOffset(sequence), MarkBytes(sequence, 0)));
  }
  return file->Sync();
}

Status EraseDealFile(const std::string& path, Disk& disk) {
  StatusOr<std::unique_ptr<DiskFile>> file = disk.OpenFile(path);
  if (IsNotFound(file.status())) return OkStatus();
  COPPICE_RETURN_IF_ERROR(file.status());
  COPPICE_RETURN_IF_ERROR((*file)->Write(0, std::string(kDealFileBytes, '\0')));
  COPPICE_RETURN_IF_ERROR((*file)->Sync());
  return disk.RemoveFile(path);
}

StatusOr<std::vector<uint32_t>> Dealer::OrderOf(const Key& key, uint64_t slots) {
  std::vector<RankedSlot> ranked(slots);
  if (!RankSlots(key, ranked)) return OpenSslFailed();
  std::sort(ranked.begin(), ranked.end(), [](const RankedSlot& a, const RankedSlot& b) {
    return a.high != b.high ? a.high < b.high : a.low < b.low;
  });
  std::vector<uint32_t> order(slots);
  for (size_t i = 0; i < order.size(); ++i) order[i] = ranked[i].slot;
  OPENSSL_cleanse(ranked.data(), ranked.size() * sizeof(RankedSlot));
  return order;
}

StatusOr<std::unique_ptr<Dealer>> Dealer::Open(const std::string& path, uint64_t slots, Disk& disk,
                                               std::string_view pool) {
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<DiskFile> file, disk.OpenFile(path));
  COPPICE_ASSIGN_OR_RETURN(std::string read, file->Read(0, kHeadBytes));
  const WipedBytes head(std::move(read));
  std::string_view rest = head.get();
  const std::string_view magic = Take(rest, kDealMagic.size());
  const std::string_view key = Take(rest, kKeyBytes);
  const std::string_view bound = Take(rest, kCheckBytes);
  if (magic != kDealMagic || rest != CheckOf({kDealMagic, key, bound})) {
    return DataLossError(StrCat(path, ": the key of the deal is damaged"));
  }
  if (bound != PoolCheck(pool)) {
    return DataLossError(
        StrCat(path,
               ": these files are copies of a deal, whose tickets may have been dealt by "
               "others. A deal is never restored: its reports are lost"));
  }
  Key order_key;
  auto claims = std::make_unique<Key>();
  if (!HmacSha256(key, kOrderLabel, order_key) || !HmacSha256(key, kClaimLabel, *claims)) {
    return OpenSslFailed();
  }
  COPPICE_ASSIGN_OR_RETURN(std::vector<uint32_t> order, OrderOf(order_key, slots));
  std::unique_ptr<Dealer> dealer(new Dealer(std::move(file), std::move(claims), std::move(order)));
  COPPICE_RETURN_IF_ERROR(dealer->ReadMarks(path));
  return dealer;
}

Status Dealer::ReadMarks(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(const std::string even, file_->Read(MarkOffset(0), kSectorBytes));
  COPPICE_ASSIGN_OR_RETURN(const std::string odd, file_->Read(MarkOffset(1), kSectorBytes));
  std::optional<DealMark> last = ParseMark(even);
  const std::optional<DealMark> other = ParseMark(odd);
  const bool both = last.has_value() && other.has_value();
  if (other.has_value() && (!last.has_value() || last->sequence < other->sequence)) last = other;
  if (!last.has_value() || last->place > order_.size()) {
    return DataLossError(
        StrCat(path, ": how far the tickets were dealt is damaged; none may be dealt twice"));
  }
  MutexLock lock(mutex_);
  sequence_ = last->sequence;
  next_ = marked_ = last->place;
  if (both) return OkStatus();
  // The other mark may have been the last, torn or decayed. It was at most this far ahead.
  next_ = std::min<uint64_t>(last->place + kPlacesPerMark, order_.size());
  return Mark(next_);
}

// Marks the exact place, so that a clean end skips no ticket.
Dealer::~Dealer() {
  {
    MutexLock lock(mutex_);
    if (failed_.ok() && next_ < marked_) Mark(next_).IgnoreError();
  }
  OPENSSL_cleanse(order_.data(), order_.size() * sizeof(uint32_t));
}

Status Dealer::Mark(uint64_t place) {
  const uint64_t sequence = sequence_ + 1;
  failed_ = file_->Write(MarkOffset(sequence), MarkBytes(sequence, place));
  if (failed_.ok()) failed_ = file_->Sync();
  COPPICE_RETURN_IF_ERROR(failed_);
  sequence_ = sequence;
  marked_ = place;
  return OkStatus();
}

StatusOr<uint32_t> Dealer::DealSlot() {
  MutexLock lock(mutex_);
  COPPICE_RETURN_IF_ERROR(failed_);
  if (next_ == order_.size()) return ResourceExhaustedError("every ticket is dealt");
  if (next_ == marked_) {
    COPPICE_RETURN_IF_ERROR(Mark(std::min<uint64_t>(marked_ + kPlacesPerMark, order_.size())));
  }
  return order_[next_++];
}

StatusOr<Claim> Dealer::ClaimOf(std::string_view ticket) const {
  Key mac;
  if (!HmacSha256(AsBytes(*claims_), ticket, mac)) return OpenSslFailed();
  Claim claim;
  std::copy_n(mac.begin(), claim.size(), claim.begin());
  return claim;
}

uint64_t Dealer::dealt() const {
  MutexLock lock(mutex_);
  return next_;
}

Status Dealer::health() const {
  MutexLock lock(mutex_);
  return failed_;
}

}  // namespace coppice::relay
