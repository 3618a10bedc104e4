// ssrdt: random trees with noisy leaves label the rows that have no label; other random trees are
// then filled with these labels, which costs no further budget.
//
// The private rows are those with a label, the public rows those without; labels of public rows are
// not read. Features of both are public, so cuts are drawn between the smallest and the largest
// value. Choices where the text is open: 10 noisy trees see all rows, so each has a tenth of
// epsilon; then 100 trees; a cut separates one category from the rest; trees are complete.
//
// Source     Jagannathan, Monteleoni, Pillaipakkamnatt 2013, as Huang, Lei, Kaban 2022, section
//            6.3, describe it.
// Guarantee  epsilon-DP for the label of one row: it moves two counts of each tree by one. (For one
//            row more or less, as in the first paper, one count moves.)

#include <algorithm>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/samplers.h"
#include "server/research/method.h"

namespace coppice::research {
namespace {

constexpr size_t kNoisyTrees = 10;
constexpr size_t kPublicTrees = 100;
constexpr uint64_t kCountsMoved = 2;
constexpr double kMaxTreeDepth = 16;

// A complete binary tree: node n has the children 2n + 1 and 2n + 2.
class RandomTree {
 public:
  RandomTree(const Schema& schema, const std::vector<double>& least,
             const std::vector<double>& largest, uint32_t depth, PublicRandom& random)
      : cuts_((size_t{1} << depth) - 1) {
    for (Cut& cut : cuts_) {
      cut.feature = random.Below(schema.num_features());
      const Feature& feature = schema.features()[cut.feature];
      cut.is_category = feature.type == FeatureType::kCategorical;
      cut.value = cut.is_category ? static_cast<double>(random.Below(feature.values.size()))
                                  : least[cut.feature] +
                                        random.Unit() * (largest[cut.feature] - least[cut.feature]);
    }
  }

  size_t num_leaves() const { return cuts_.size() + 1; }
  // Missing values go left.
  size_t FindLeaf(const Table& rows, size_t row) const {
    size_t node = 0;
    while (node < cuts_.size()) {
      const Cut& cut = cuts_[node];
      const double value = rows.value(row, cut.feature);
      const bool right =
          !IsMissing(value) && (cut.is_category ? value != cut.value : value >= cut.value);
      node = 2 * node + (right ? 2 : 1);
    }
    return node - cuts_.size();
  }

 private:
  struct Cut {
    size_t feature = 0;
    bool is_category = false;
    double value = 0;
  };
  std::vector<Cut> cuts_;
};

// Trees with a count of each class in each leaf; an answer is the mean of the leaves' shares.
class RandomForest {
 public:
  RandomForest(const Table& features, const Table& more, size_t trees, uint32_t depth,
               PublicRandom& random)
      : classes_(features.schema().num_classes()) {
    const Schema& schema = features.schema();
    std::vector<double> least, largest;
    for (size_t f = 0; f < schema.num_features(); ++f) {
      double min = schema.features()[f].max, max = schema.features()[f].min;
      for (const Table* table : {&features, &more}) {
        for (const double value : table->column(f)) {
          if (IsMissing(value)) continue;
          min = std::min(min, value);
          max = std::max(max, value);
        }
      }
      least.push_back(min);
      largest.push_back(std::max(min, max));
    }
    for (size_t t = 0; t < trees; ++t) {
      trees_.emplace_back(schema, least, largest, depth, random);
      counts_.emplace_back(trees_[t].num_leaves() * classes_);
    }
  }

  void Fill(const Table& rows, absl::Span<const uint32_t> labels) {
    for (size_t t = 0; t < trees_.size(); ++t) {
      for (size_t i = 0; i < labels.size(); ++i) {
        ++counts_[t][trees_[t].FindLeaf(rows, i) * classes_ + labels[i]];
      }
    }
  }

  Status AddNoise(const Budget& epsilon, PrivateRandom& noise) {
    COPPICE_ASSIGN_OR_RETURN(const Budget of_tree, epsilon.Share(trees_.size()));
    for (std::vector<int64_t>& counts : counts_) {
      for (int64_t& count : counts) {
        COPPICE_ASSIGN_OR_RETURN(const int64_t drawn,
                                 DiscreteLaplace(of_tree, kCountsMoved, noise));
        count += drawn;
      }
    }
    return OkStatus();
  }

  Answers Answer(const Table& rows) const {
    Answers answers(classes_, rows.num_rows());
    std::vector<double> shares(classes_);
    for (size_t i = 0; i < rows.num_rows(); ++i) {
      for (size_t t = 0; t < trees_.size(); ++t) {
        ShareOf(t, trees_[t].FindLeaf(rows, i), absl::MakeSpan(shares));
        for (uint32_t k = 0; k < classes_; ++k) {
          answers.of(i)[k] += shares[k] / static_cast<double>(trees_.size());
        }
      }
    }
    return answers;
  }

 private:
  // All classes are equally probable in a leaf without a positive count.
  void ShareOf(size_t tree, size_t leaf, absl::Span<double> shares) const {
    double total = 0;
    for (uint32_t k = 0; k < classes_; ++k) {
      shares[k] = static_cast<double>(std::max<int64_t>(counts_[tree][leaf * classes_ + k], 0));
      total += shares[k];
    }
    for (double& share : shares) share = total > 0 ? share / total : 1.0 / classes_;
  }

  const uint32_t classes_;
  std::vector<RandomTree> trees_;
  std::vector<std::vector<int64_t>> counts_;
};

std::vector<uint32_t> MostProbable(const Answers& answers, size_t rows) {
  std::vector<uint32_t> labels(rows);
  for (size_t i = 0; i < rows; ++i) {
    const auto p = answers.of(i);
    labels[i] = static_cast<uint32_t>(std::max_element(p.begin(), p.end()) - p.begin());
  }
  return labels;
}

class SemiSupervisedTrees final : public Method {
 public:
  const MethodInfo& info() const override {
    static const MethodInfo kInfo = {
        .name = "ssrdt",
        .summary = "noisy random trees label the public rows, random trees are filled with these",
        .source = "Jagannathan, Monteleoni, Pillaipakkamnatt 2013",
        .protects = "a label",
        .neighbours = "the label of one row; all features are public",
        .guarantee = "epsilon-DP",
        .sampler = "exact: discrete Laplace",
        .setting = "depth",
        .default_setting = 4,
        .paper_settings = {2, 3, 4, 5, 6, 8}};
    return kInfo;
  }

  StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options,
                        PublicRandom& public_random, PrivateRandom& noise) const override {
    if (options.setting > kMaxTreeDepth) {
      return InvalidArgumentError("ssrdt takes a depth of 0 to 16");
    }
    const auto depth = static_cast<uint32_t>(options.setting);
    const Table& labelled = *rows.private_rows;
    COPPICE_RETURN_IF_ERROR(CheckLabelled(labelled));
    const Table& unlabelled = *rows.public_rows;
    RandomForest noisy(labelled, unlabelled, kNoisyTrees, depth, public_random);
    noisy.Fill(labelled, labelled.labels());
    COPPICE_RETURN_IF_ERROR(noisy.AddNoise(*options.epsilon, noise));
    RandomForest filled(labelled, unlabelled, kPublicTrees, depth, public_random);
    filled.Fill(unlabelled, MostProbable(noisy.Answer(unlabelled), unlabelled.num_rows()));
    return filled.Answer(*rows.test_rows);
  }
};

}  // namespace

const Method& Ssrdt() {
  static const SemiSupervisedTrees kMethod;
  return kMethod;
}

}  // namespace coppice::research
