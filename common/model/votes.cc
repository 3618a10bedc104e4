#include "common/model/votes.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/model/render_label.h"
#include "common/schema/number.h"

namespace coppice {
namespace {

using render_internal::TreeView;
using render_internal::WithUnit;

constexpr double kMaxVotes = 1e9;

Status NotAVote(size_t tree) {
  return InvalidArgumentError(StrCat("tree ", tree,
                                     " is no vote on a question about one feature: only models of "
                                     "lazybb with learner=one_rule can be shown as votes"));
}

// The votes of a leaf, and the class they are for; unset if the leaf holds none.
struct LeafVotes {
  uint32_t about = 0;
  int64_t votes = 0;
};
std::optional<LeafVotes> VotesOfLeaf(const std::vector<double>& scores) {
  LeafVotes leaf{.about = 1};
  if (scores.size() == 2) {
    if (scores[0] != -scores[1]) return std::nullopt;
  } else {
    leaf.about = static_cast<uint32_t>(
        std::find_if(scores.begin(), scores.end(), [](double x) { return x != 0; }) -
        scores.begin());
    if (leaf.about == scores.size()) return std::nullopt;
    if (std::count(scores.begin(), scores.end(), 0.0) + 1 != std::ssize(scores))
      return std::nullopt;
  }
  const double votes = scores[leaf.about];
  if (std::abs(votes) > kMaxVotes || votes != std::floor(votes)) return std::nullopt;
  leaf.votes = static_cast<int64_t>(votes);
  return leaf;
}

// Recognizes "low <= x < high": x is tested against low, then against high, of the same feature.
std::optional<std::string> Interval(const TreeView& view) {
  const absl::Span<const Node> nodes = view.tree().nodes();
  if (nodes.size() != 5) return std::nullopt;
  const Node& low = nodes[0];
  const Node& high = nodes[low.right];
  for (const Node* node : {&low, &high}) {
    if (node->kind != SplitKind::kNumeric || node->missing_left) return std::nullopt;
  }
  if (low.feature != high.feature) return std::nullopt;
  const Feature& feature = view.model.tree_schema().features()[low.feature];
  const Cut from = view.cuts.Of(low.feature, low.threshold);
  const Cut to = view.cuts.Of(high.feature, high.threshold);
  return StrCat(ReadableNumber(from.number),
                from.inclusive ? " < " : " <= ", Printable(feature.name),
                to.inclusive ? " <= " : " < ", WithUnit(ReadableNumber(to.number), feature.unit));
}

// Recognizes "x >= cut" in a tree that asks whether x is below the cut or missing.
std::optional<std::string> AtLeast(const TreeView& view) {
  const Node& root = view.tree().nodes()[0];
  if (root.kind != SplitKind::kNumeric) return std::nullopt;
  const Feature& feature = view.model.tree_schema().features()[root.feature];
  const Cut cut = view.cuts.Of(root.feature, root.threshold);
  return StrCat(Printable(feature.name),
                cut.inclusive ? " > " : " >= ", WithUnit(ReadableNumber(cut.number), feature.unit));
}

// What a tree asks, and its votes if the answer is yes and if it is no.
struct TreeQuestion {
  std::string question;
  LeafVotes if_true, if_false;
};
std::optional<TreeQuestion> WhatTreeAsks(const TreeView& view) {
  std::vector<LeafVotes> leaves;
  for (uint32_t leaf = 0; leaf < view.tree().num_leaves(); ++leaf) {
    const std::optional<LeafVotes> votes = VotesOfLeaf(view.prediction(leaf).probabilities);
    if (!votes || (leaf > 0 && votes->about != leaves[0].about)) return std::nullopt;
    leaves.push_back(*votes);
  }
  if (leaves.size() == 1) return TreeQuestion{"", leaves[0], {leaves[0].about, -leaves[0].votes}};
  if (leaves.size() == 2 && view.tree().nodes()[0].missing_left) {  // true on the right
    const std::optional<std::string> from = AtLeast(view);
    if (from) return TreeQuestion{*from, leaves[1], leaves[0]};
  }
  if (leaves.size() == 2)
    return TreeQuestion{render_internal::Question(view, 0), leaves[0], leaves[1]};
  const std::optional<std::string> interval = Interval(view);
  if (!interval || leaves[0].votes != leaves[2].votes) return std::nullopt;
  return TreeQuestion{*interval, leaves[1], leaves[0]};
}

std::string Heading(const Model& model) {
  const std::vector<std::string>& classes = model.schema().classes();
  const std::string rounds =
      StrCat(model.forest().size(), " votes on ", Printable(model.schema().label()),
             ". Each question adds "
             "its votes where it is true, and takes them away where "
             "it is not;\n");
  if (classes.size() > 2) return StrCat(rounds, "the class with the most has it.\n");
  return StrCat(rounds, "above zero it is ", Printable(classes[1]), ", else ",
                Printable(classes[0]), ".\n");
}

}  // namespace

StatusOr<std::vector<Vote>> VotesOf(const Model& model) {
  if (model.leaf_kind() != LeafKind::kScores || model.schema().target()) return NotAVote(0);
  const ReadableCuts cuts(model);
  std::map<std::pair<uint32_t, std::string>, int64_t> sums;
  for (size_t tree = 0; tree < model.forest().size(); ++tree) {
    const std::optional<TreeQuestion> asked =
        WhatTreeAsks({.model = model, .number = tree, .cuts = cuts});
    if (!asked) return NotAVote(tree);
    if (asked->if_true.votes == asked->if_false.votes) {  // the answer does not matter
      sums[{asked->if_true.about, ""}] += asked->if_true.votes;
    } else if (asked->if_true.votes == -asked->if_false.votes) {
      sums[{asked->if_true.about, asked->question}] += asked->if_true.votes;
    } else {
      return NotAVote(tree);
    }
  }
  std::vector<Vote> votes;
  for (const auto& [key, sum] : sums) {
    if (sum != 0) votes.push_back({.question = key.second, .about = key.first, .votes = sum});
  }
  std::stable_sort(votes.begin(), votes.end(), [](const Vote& a, const Vote& b) {
    return std::pair(a.about, -std::abs(a.votes)) < std::pair(b.about, -std::abs(b.votes));
  });
  return votes;
}

StatusOr<std::string> RenderVotes(const Model& model) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<Vote> votes, VotesOf(model));
  std::string out = Heading(model);
  const std::string privacy = render_internal::PrivacyLine(model);
  if (!privacy.empty()) StrAppend(&out, privacy, "\n");
  const std::vector<std::string>& classes = model.schema().classes();
  for (size_t i = 0; i < votes.size(); ++i) {
    if (i == 0 || votes[i].about != votes[i - 1].about) {
      StrAppend(&out, "\nvotes for ", Printable(classes[votes[i].about]), "\n");
    }
    absl::StrAppendFormat(&out, "%+9d  %s\n", votes[i].votes,
                          votes[i].question.empty() ? "always" : votes[i].question);
  }
  return out;
}

}  // namespace coppice
