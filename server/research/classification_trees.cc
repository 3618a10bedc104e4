// ct_w and ct_q: CART on all rows, which protects nothing, and on the public rows alone.
//
// The paper uses sklearn's trees with default settings. Here it is the lab's CART partition with
// the Gini index, which splits only where the index decreases; sklearn splits every impure node.
//
// Source     Ma, Yang 2024, section 7.2; Breiman and others 1984.

#include <algorithm>
#include <memory>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/table.h"
#include "server/curator/partition/find_leaves.h"
#include "server/curator/partition/partition.h"
#include "server/research/method.h"

namespace coppice::research {
namespace {

// Returns the rows of both tables, those of `first` before those of `second`.
Table Together(const Table& first, const Table& second) {
  Table all(first.shared_schema());
  all.Reserve(first.num_rows() + second.num_rows());
  for (const Table* rows : {&first, &second}) {
    for (size_t i = 0; i < rows->num_rows(); ++i) all.Append(rows->row(i), rows->label(i));
  }
  return all;
}

StatusOr<Answers> AnswerByTree(const Table& training, const Table& test, double depth) {
  COPPICE_RETURN_IF_ERROR(CheckLabelled(training));
  if (depth < 0 || depth > kMaxDepth) {
    return InvalidArgumentError(StrCat("the depth must be 0 to ", kMaxDepth));
  }
  curator::PartitionOptions options;
  options.rule = curator::SplitRule::kCart;
  options.max_depth = static_cast<uint32_t>(depth);
  COPPICE_ASSIGN_OR_RETURN(const Forest forest, curator::GrowPartition(training, options));
  const Tree& tree = forest[0];
  const uint32_t classes = training.schema().num_classes();
  std::vector<double> counts(size_t{tree.num_leaves()} * classes), sizes(tree.num_leaves());
  const std::vector<uint32_t> leaves = curator::FindLeaves(tree, training);
  for (size_t i = 0; i < leaves.size(); ++i) {
    counts[size_t{leaves[i]} * classes + training.label(i)] += 1;
    sizes[leaves[i]] += 1;
  }
  Answers answers(classes, test.num_rows());
  const std::vector<uint32_t> leaf_of = curator::FindLeaves(tree, test);
  for (size_t i = 0; i < leaf_of.size(); ++i) {
    for (uint32_t k = 0; k < classes; ++k) {
      answers.of(i)[k] = counts[size_t{leaf_of[i]} * classes + k] / sizes[leaf_of[i]];
    }
  }
  return answers;
}

class ClassificationTree final : public Method {
 public:
  ClassificationTree(MethodInfo info, bool sees_private)
      : info_(std::move(info)), sees_private_(sees_private) {}

  const MethodInfo& info() const override { return info_; }

  StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options, PublicRandom&,
                        PrivateRandom&) const override {
    if (!sees_private_) return AnswerByTree(*rows.public_rows, *rows.test_rows, options.setting);
    return AnswerByTree(Together(*rows.private_rows, *rows.public_rows), *rows.test_rows,
                        options.setting);
  }

 private:
  const MethodInfo info_;
  const bool sees_private_;
};

MethodInfo TreeInfo(std::string name, std::string summary, std::string guarantee) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .source = "Ma, Yang 2024; Breiman et al. 1984",
          .protects = "nothing",
          .neighbours = "",
          .guarantee = std::move(guarantee),
          .sampler = "no noise",
          .setting = "depth",
          .default_setting = 6,
          .paper_settings = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16}};
}

}  // namespace

const Method& CtW() {
  static const ClassificationTree kMethod(
      TreeInfo("ct_w", "CART on public and private rows, without privacy", "none"), true);
  return kMethod;
}

const Method& CtQ() {
  static const ClassificationTree kMethod(
      TreeInfo("ct_q", "CART on the public rows alone", "none needed: no private row is read"),
      false);
  return kMethod;
}

}  // namespace coppice::research
