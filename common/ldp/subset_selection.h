// `subset_selection`: a set of exactly w of the (leaf, label) pairs; the true one is in it with
// probability P / 2^32, the others are uniform. It has the least noise of all mechanisms that
// estimate every count; `direct` is its case w = 1.
//
// A payload is the w cells in increasing order, each in as many bits as D - 1 has, if that makes
// fewer than D bits; otherwise D bits, w of them ones (bit_payload.h). D and w determine which. A
// device makes one draw per member of the set, not one per cell.

#ifndef COPPICE_COMMON_LDP_SUBSET_SELECTION_H_
#define COPPICE_COMMON_LDP_SUBSET_SELECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/ldp/payload/bit_payload.h"

namespace coppice {

// Guarantee  of D cells, w = D / (exp(epsilon) + 1) rounded, at least 1. A set with the row's cell
//            has probability p / C(D-1, w-1), any other (1-p) / C(D-1, w): the ratio is p (D-w) /
//            ((1-p) w), and P is the largest whole number with which that is at most e / 2^60 <=
//            exp(epsilon), e = ExpLowerBound(epsilon). So epsilon-LDP. Neighbours: any value of the
//            row for any other.
// Source     Ye and Barg 2018; Wang and others 2016 (k-subset); sampling by Floyd's algorithm
//            (Bentley and Floyd 1987); docs/research/mechanisms.md#subset_selection.
class SubsetSelection final : public LocalMechanism {
 public:
  size_t members() const { return members_; }  // w
  size_t cell_bits() const { return width_; }  // bits of a cell's number
  bool is_bitmap() const { return members_ * width_ >= sum_size(); }

  size_t payload_bytes() const override {
    return BitPayloadBytes(is_bitmap() ? sum_size() : members_ * width_);
  }
  // A set is drawn as bits.
  size_t room_bytes() const override {
    return payload_bytes() + (is_bitmap() ? 0 : BitPayloadBytes(sum_size()));
  }
  size_t sum_size() const override { return domain().cells(); }
  Status Check(std::string_view payload) const override;
  void AddAll(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) const override;
  Status RandomizeInto(LeafLabel value, PrivateRandom& random,
                       absl::Span<int64_t> sums) const override;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;
  double TwoSidedMass() const override;
  StatusOr<double> LogOutputProbability(LeafLabel value, uint32_t column,
                                        std::string_view payload) const override;

 private:
  friend StatusOr<std::unique_ptr<LocalMechanism>> MakeSubsetSelection(const Budget& epsilon,
                                                                       const Domain& domain);
  SubsetSelection(const Budget& epsilon, const Domain& domain, size_t members, uint64_t truth_rate);
  Status Write(LeafLabel value, uint32_t column, PrivateRandom& random,
               std::string& payload) const override;
  // Calls insert(cell) for members of a randomized set until it is complete; insert() returns
  // whether the cell is new to the set.
  template <typename Insert>
  Status DrawMembers(size_t cell, PrivateRandom& random, Insert insert) const;
  bool Contains(std::string_view payload, size_t cell) const;

  size_t members_;
  size_t width_;         // bits of a cell's number
  uint64_t truth_rate_;  // over 2^32
  double p_, q_;         // probability that the true cell is a member, and any other
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_SUBSET_SELECTION_H_
