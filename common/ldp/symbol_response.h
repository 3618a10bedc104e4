// Base of the mechanisms that send a single symbol: randomized response on a public map from
// (column, cell) to one of `symbols` symbols. The symbol of the row's cell is kept with probability
// K / 2^62; otherwise the report is a uniform symbol out of all of them.
//
// A payload is the symbol, little-endian, in the fewest whole bytes that hold symbols - 1. The sums
// count how often each symbol was reported in each column, entry column * symbols + symbol. A
// report costs constant time, except for the map on the device.

#ifndef COPPICE_COMMON_LDP_SYMBOL_RESPONSE_H_
#define COPPICE_COMMON_LDP_SYMBOL_RESPONSE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"

namespace coppice {

// Guarantee  p = k + (1 - k) / symbols and q = (1 - k) / symbols for each other symbol, k = K
//            / 2^62: the worst ratio is 1 + symbols K / (2^62 - K), which K = KeepRate() of one
//            kept symbol holds to exp(epsilon). So epsilon-LDP in every column. Neighbours: any
//            value of the row for any other.
// Source     Kairouz, Oh, Viswanath 2014 (k-ary randomized response);
//            docs/research/mechanisms.md#symbol_response.
class SymbolResponse : public LocalMechanism {
 public:
  uint32_t columns() const final { return shape_.columns; }
  uint32_t symbols() const { return shape_.symbols; }
  // The symbol that a report of `cell` (leaf * classes + label) would have without noise.
  virtual uint32_t SymbolOf(uint32_t column, size_t cell) const = 0;

  size_t payload_bytes() const final { return bytes_; }
  size_t sum_size() const final { return size_t{shape_.columns} * shape_.symbols; }
  Status Check(std::string_view payload) const final;
  void AddAll(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) const final;
  Status RandomizeInto(LeafLabel value, PrivateRandom& random,
                       absl::Span<int64_t> sums) const final;
  // 1 / (exp(epsilon) + symbols - 1).
  double TwoSidedMass() const final;
  StatusOr<double> LogOutputProbability(LeafLabel value, uint32_t column,
                                        std::string_view payload) const final;

 protected:
  struct Shape {
    uint32_t columns = 1;
    uint32_t symbols = 2;
  };

  SymbolResponse(MechanismKind kind, const Budget& epsilon, const Domain& domain,
                 const Shape& shape);

  double p() const { return keep_ + q_; }  // P(the true symbol)
  double q() const { return q_; }          // P(any other one)
  double keep() const { return keep_; }    // p() - q()

 private:
  Status Write(LeafLabel value, uint32_t column, PrivateRandom& random,
               std::string& payload) const final;
  StatusOr<uint32_t> DrawSymbol(LeafLabel value, uint32_t column, PrivateRandom& random) const;

  Shape shape_;
  size_t bytes_;  // bytes of a payload
  uint64_t keep_rate_;
  double keep_, q_;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_SYMBOL_RESPONSE_H_
