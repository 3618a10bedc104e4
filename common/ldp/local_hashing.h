// `local_hashing`: a public hash of the cell to a few symbols, drawn by the ticket out of a finite
// family, and randomized response on its value. As little noise as optimized_unary, in one byte.
//
// The family is ours, so that hashing needs no seed, adding up no work, and estimating no loop over
// pairs: the symbols are the field GF(g), g prime; a cell is the vector of its t digits in base g;
// a column is a vector a other than 0; the hash is the inner product <a, cell>. Two different
// cells collide in exactly (g^(t-1) - 1) / (g^t - 1) of the columns.
//
// Guarantee  symbol_response.h, with g symbols. g is the prime of least noise whose sums fit:
//            g^(t+1) <= max(32 cells, 4096).
// Payload    the symbol <a, cell>; column c is the vector of the digits of c + 1, low ones first,
//            as a cell's are.
// Variance() is exact but for the covariance of two cells, which depends on whether the row lies on
//            the line through them; what is stated holds for rows that are spread evenly over the
//            other vectors.
// Source     Bassily and Smith 2015; Wang, Blocki, Li, Jha 2017 (OLH);
//            docs/mechanisms.md#local_hashing.

#ifndef COPPICE_COMMON_LDP_LOCAL_HASHING_H_
#define COPPICE_COMMON_LDP_LOCAL_HASHING_H_

#include <memory>

#include "common/ldp/symbol_response.h"

namespace coppice {

class LocalHashing final : public SymbolResponse {
 public:
  static absl::StatusOr<std::unique_ptr<LocalMechanism>> Create(const Budget& epsilon,
                                                                const Domain& domain);

  uint32_t digits() const { return family_.digits; }

  uint32_t SymbolOf(uint32_t column, size_t cell) const override;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;

 private:
  struct Family {
    uint64_t prime = 0;
    uint32_t digits = 0;
    uint64_t vectors = 0;  // prime^digits, at least the number of cells
  };
  static Family WithPrime(uint64_t prime, uint64_t cells);
  static Family Choose(const Budget& epsilon, uint64_t cells);

  LocalHashing(const Budget& epsilon, const Domain& domain, const Family& family);

  Family family_;
  double collide_;  // share of the columns in which two cells collide
  double miss_;     // P(the report is the hash of a cell that the row is not in)
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_LOCAL_HASHING_H_
