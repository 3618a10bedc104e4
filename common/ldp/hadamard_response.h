// `hadamard_response`, for few bytes at any number of cells: the cells are dealt to B blocks, and a
// report names a block and the sign of the cell's entry in the ticket's column of a Hadamard matrix
// over the cells of a block. With one block it is the one-bit Hadamard mechanism.
//
// Guarantee  symbol_response.h, with 2 B symbols. B is the power of two with the least noise, about
//            (exp(epsilon) - 1) / 2, at least 1 and at most the number of cells rounded up to a
//            power of two; columns are as many as a block has cells, rounded up likewise.
// Payload    symbol 2 * block + (0 for +, 1 for -), block = cell % B.
// Variance() is exact with one block. With more, a row in a cell's own block adds more noise to its
//            estimate than a row in another one does, and what is stated holds for rows that are
//            spread evenly over the blocks.
// Source     Acharya, Sun, Zhang 2019; Chen, Kairouz, Ozgur 2020 (public column);
//            docs/mechanisms.md#hadamard_response.

#ifndef COPPICE_COMMON_LDP_HADAMARD_RESPONSE_H_
#define COPPICE_COMMON_LDP_HADAMARD_RESPONSE_H_

#include <memory>

#include "common/ldp/symbol_response.h"

namespace coppice {

class HadamardResponse final : public SymbolResponse {
 public:
  static absl::StatusOr<std::unique_ptr<LocalMechanism>> Create(const Budget& epsilon,
                                                                const Domain& domain);

  uint32_t blocks() const { return symbols() / 2; }

  uint32_t SymbolOf(uint32_t column, size_t cell) const override;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;

 private:
  HadamardResponse(const Budget& epsilon, const Domain& domain, uint32_t blocks);
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_HADAMARD_RESPONSE_H_
