#include "server/store/audit_log/open_sum.h"

#include <string_view>
#include <utility>

#include "server/store/audit_log/audit_record.h"

namespace coppice::audit {
namespace {

constexpr std::string_view kSaltDomain = "audit/salt";

void AddTo(Sha256Digest& sum, const Sha256Digest& term) {
  unsigned carry = 0;
  for (size_t i = sum.size(); i-- > 0;) {
    carry += unsigned{sum[i]} + term[i];
    sum[i] = static_cast<uint8_t>(carry);
    carry >>= 8;
  }
}

// Minus `term`, modulo 2^256.
Sha256Digest Negated(Sha256Digest term) {
  for (uint8_t& byte : term) byte = static_cast<uint8_t>(~byte);
  Sha256Digest one{};
  one.back() = 1;
  AddTo(term, one);
  return term;
}

}  // namespace

OpenSum::OpenSum(std::string salt) : salt_(std::move(salt)), sum_(Sha256({kSaltDomain, salt_})) {}

void OpenSum::Add(uint64_t number, std::string_view record) { AddTo(sum_, HashOf(number, record)); }

void OpenSum::Remove(uint64_t number, std::string_view record) {
  AddTo(sum_, Negated(HashOf(number, record)));
}

Sha256Digest OpenSum::HashOf(uint64_t number, std::string_view record) const {
  return Sha256({salt_, OpenKey(number), "\n", record});
}

}  // namespace coppice::audit
