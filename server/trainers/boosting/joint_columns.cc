#include "server/trainers/boosting/joint_columns.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace coppice::trainers {
namespace {

// Columns of many bins first, each where there is room for it.
std::vector<JointColumn> PutTogether(const std::vector<FeatureBins>& bins) {
  std::vector<uint32_t> by_size(bins.size());
  std::iota(by_size.begin(), by_size.end(), 0);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](uint32_t a, uint32_t b) { return bins[a].size() > bins[b].size(); });
  std::vector<JointColumn> joint;
  for (const uint32_t column : by_size) {
    const size_t size = bins[column].size();
    const auto room = std::find_if(joint.begin(), joint.end(), [&](const JointColumn& other) {
      return other.bins * size <= kMaxJointBins;
    });
    JointColumn& into = room == joint.end() ? joint.emplace_back() : *room;
    into.members.push_back({.column = column, .bins = size, .stride = into.bins});
    into.bins *= size;
  }
  std::stable_sort(joint.begin(), joint.end(),
                   [](const JointColumn& a, const JointColumn& b) { return a.bins < b.bins; });
  return joint;
}

std::vector<uint16_t> Combine(const BinnedRows& rows,
                              absl::Span<const JointColumn::Member> members) {
  std::vector<uint16_t> combinations(rows.num_rows());
  for (const JointColumn::Member& member : members) {
    const uint16_t* const bins = rows.column(member.column).data();
    const auto stride = static_cast<uint16_t>(member.stride);
    for (size_t row = 0; row < combinations.size(); ++row) {
      combinations[row] = static_cast<uint16_t>(combinations[row] + bins[row] * stride);
    }
  }
  return combinations;
}

}  // namespace

void AddSumsOfMember(const JointColumn::Member& member, absl::Span<const int64_t> joint,
                     absl::Span<int64_t> sums) {
  for (size_t at = 0; at < joint.size();) {
    for (size_t bin = 0; bin < member.bins; ++bin) {
      for (size_t i = 0; i < member.stride; ++i) sums[bin] += joint[at++];
    }
  }
}

JointColumns::JointColumns(const BinnedRows& rows) : rows_(rows), joint_(PutTogether(rows.bins())) {
  for (JointColumn& joint : joint_) {
    if (joint.members.size() == 1) {
      joint.bin_of_row = rows.column(joint.members[0].column);
    } else {
      joint.bin_of_row = combinations_.emplace_back(Combine(rows, joint.members));
    }
  }
}

}  // namespace coppice::trainers
