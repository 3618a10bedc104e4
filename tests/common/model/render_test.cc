#include "common/model/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "tests/common/model/trees.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using ::coppice::testing::Categorical;
using ::coppice::testing::CategorySplit;
using ::coppice::testing::IncomeNodes;
using ::coppice::testing::IncomeSchema;
using ::coppice::testing::Leaf;
using ::coppice::testing::Numeric;
using ::coppice::testing::NumericSplit;
using ::coppice::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

Model IncomeModel() {
  const double inf = std::numeric_limits<double>::infinity();
  Certificate certificate;
  certificate.mechanism = "laplace_split";
  certificate.epsilon_nanos = 500'000'000;
  certificate.releases = {
      {.what = "a report", .mechanism = "laplace_split", .epsilon_nanos = 500'000'000}};
  certificate.reports = 1000;
  certificate.public_rows = 50;
  return *Model::Create(
      IncomeSchema(), {*Tree::Create(IncomeNodes(), IncomeSchema())},
      {{Leaf({0.5, 0.5}, inf, 0, 1), Leaf({0.25, 0.75}, 0.04, 1, 3), Leaf({0.9, 0.1}, 0.02, 0, 5),
        Leaf({0.4, 0.6}, 0.031, 1, 6), Leaf({0.4, 0.6}, 0.031, 1, 6)}},
      std::move(certificate));
}

// One split, with any names.
Model NamedModel(const std::string& feature, const std::string& category) {
  const Schema schema = *Schema::Create({Numeric(feature, 0, 1)}, "y", {category, "b"});
  Tree tree = *Tree::Create({NumericSplit(0, 0.1, 1, 2), Node{}, Node{}}, schema);
  return *Model::Create(schema, {std::move(tree)}, {{Leaf({1, 0}, 0, 0, 1), Leaf({0, 1}, 0, 1, 2)}},
                        {});
}

std::string Rendered(const Model& model, RenderFormat format) { return *Render(model, 0, format); }

TEST(RenderTest, FormatsHaveNames) {
  EXPECT_EQ(*ParseRenderFormat("svg"), RenderFormat::kSvg);
  EXPECT_EQ(*ParseRenderFormat("dot"), RenderFormat::kDot);
  EXPECT_EQ(*ParseRenderFormat("text"), RenderFormat::kText);
  EXPECT_EQ(*ParseRenderFormat("votes"), RenderFormat::kVotes);
  EXPECT_THAT(ParseRenderFormat("png"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("text, dot, svg or votes")));
}

TEST(RenderTest, RefusesATreeThatTheModelDoesNotHave) {
  EXPECT_THAT(Render(IncomeModel(), 1, RenderFormat::kText),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("0 to 0")));
}

// A chain of 490 levels, and below it a full tree: a file of a few megabytes whose text would take
// hundreds of times as much.
Model DeepModel() {
  constexpr uint32_t kChain = 490;
  constexpr uint32_t kLeaves = 1u << 16;
  const Schema schema = *Schema::Create({Numeric("x", 0, 1)}, "y", {"a", "b"});
  std::vector<Node> nodes;
  for (uint32_t i = 0; i < kChain; ++i) {
    nodes.push_back(NumericSplit(0, 0.5, 2 * i + 1, 2 * i + 2));
    nodes.emplace_back();
  }
  const auto base = static_cast<uint32_t>(nodes.size());  // of the full tree, level by level
  for (uint32_t i = 0; i < kLeaves - 1; ++i) {
    nodes.push_back(NumericSplit(0, 0.5, base + 2 * i + 1, base + 2 * i + 2));
  }
  nodes.resize(nodes.size() + kLeaves);
  Tree tree = *Tree::Create(std::move(nodes), schema);
  std::vector<LeafPrediction> leaves;
  for (uint32_t leaf = 0; leaf < tree.num_leaves(); ++leaf) {
    leaves.push_back(Leaf({1, 0}, 0, 0, tree.leaf_node(leaf)));
  }
  return *Model::Create(schema, {std::move(tree)}, {std::move(leaves)}, {});
}

TEST(RenderTest, WhatWouldBeTooLargeIsRefusedEarly) {
  const Model deep = DeepModel();
  EXPECT_THAT(Render(deep, 0, RenderFormat::kText),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("64 MiB")));
  EXPECT_OK(Render(deep, 0, RenderFormat::kDot));
  const Model wordy = NamedModel(std::string(kMaxDrawingBytes + 1, 'n'), "a");
  for (const RenderFormat format : {RenderFormat::kText, RenderFormat::kDot, RenderFormat::kSvg}) {
    EXPECT_THAT(Render(wordy, 0, format), StatusIs(StatusCode::kOutOfRange, HasSubstr("64 MiB")));
  }
}

TEST(RenderTest, TextIsAnIndentedTree) {
  EXPECT_EQ(Rendered(IncomeModel(), RenderFormat::kText),
            "tree 0: income by 5 leaves, depth 4\n"
            "ε = 0.5 per report, laplace_split, 1000 reports, 50 public rows\n"
            "\n"
            "age is missing\n"
            "├─ yes ▸ low            0.50 ± ?\n"
            "└─ no  sex = Male or missing\n"
            "   ├─ yes ▸ high        0.75 ± 0.04\n"
            "   └─ no  age < 30\n"
            "      ├─ yes ▸ low      0.90 ± 0.02\n"
            "      └─ no  age < 55\n"
            "         ├─ yes ▸ high  0.60 ± 0.03  (pruned to depth 3)\n"
            "         └─ no  ▸ high  0.60 ± 0.03  (pruned to depth 3)\n");
}

TEST(RenderTest, UnitsStandBehindNumbers) {
  Feature age = Numeric("age", 0, 100);
  age.unit = "years";
  const Schema schema =
      *Schema::CreateRegression({age}, "wage", {.min = 0, .max = 10, .unit = "EUR"});
  const Model model = *Model::Create(
      schema, {*Tree::Create({NumericSplit(0, 30, 1, 2, true), Node{}, Node{}}, schema)},
      {{Leaf({.75, .25}, .1, 0, 1), Leaf({.5, .5}, .1, 1, 2)}}, {});
  EXPECT_EQ(Rendered(model, RenderFormat::kText),
            "tree 0: wage in EUR by 2 leaves, depth 1\n"
            "\n"
            "age < 30 years or missing\n"
            "├─ yes ▸ 2.5 EUR  ± 1\n"
            "└─ no  ▸ 5 EUR    ± 1\n");
  EXPECT_THAT(Rendered(model, RenderFormat::kDot), HasSubstr("\"2.5 EUR ± 1\""));
  EXPECT_THAT(Rendered(model, RenderFormat::kSvg), HasSubstr(">2.5 EUR<"));
}

// A chain asks for one category of odor per split; below one of them comes age.
TEST(RenderTest, AChainOfCategoriesIsOneQuestionWithManyAnswers) {
  const Schema schema = *Schema::Create(
      {Categorical("odor", {"a", "f", "n"}), Numeric("age", 0, 9)}, "y", {"u", "v"});
  const Model model =
      *Model::Create(schema,
                     {*Tree::Create({CategorySplit(0, 2, 1, 4), NumericSplit(1, 5, 2, 3), Node{},
                                     Node{}, CategorySplit(0, 1, 5, 6, true), Node{},
                                     CategorySplit(0, 3, 7, 8), Node{}, Node{}},
                                    schema)},
                     {{Leaf({1, 0}, .1, 0, 2), Leaf({1, 0}, .1, 0, 3), Leaf({0, 1}, .1, 1, 5),
                       Leaf({1, 0}, .1, 0, 7), Leaf({0, 1}, .1, 1, 8)}},
                     {});
  EXPECT_EQ(Rendered(model, RenderFormat::kText),
            "tree 0: y by 5 leaves, depth 3\n"
            "\n"
            "odor\n"
            "├─ = n: age < 5\n"
            "│  ├─ yes ▸ u                 1.00 ± 0.10\n"
            "│  └─ no  ▸ u                 1.00 ± 0.10\n"
            "├─ = f or missing: ▸ v        1.00 ± 0.10\n"
            "├─ is not in the schema: ▸ u  1.00 ± 0.10\n"
            "└─ else: ▸ v                  1.00 ± 0.10\n");
  EXPECT_THAT(Rendered(model, RenderFormat::kDot), HasSubstr("\"odor = f or missing\""));
}

// Two trees of one split each.
Model TwoTrees(LeafKind kind, bool regression, double high, size_t trees = 2) {
  const std::vector<Feature> features = {Numeric("x", 0, 1)};
  const Schema schema = regression
                            ? *Schema::CreateRegression(features, "y", {.min = 10, .max = 20})
                            : *Schema::Create(features, "y", {"a", "b"});
  const Tree tree = *Tree::Create({NumericSplit(0, 0.5, 1, 2), Node{}, Node{}}, schema);
  const std::vector<LeafPrediction> leaves = {Leaf({1 - high, high}, .02, 1, 1),
                                              Leaf({.75, .25}, .02, 0, 2)};
  return *Model::Create(schema, Forest(trees, tree), std::vector(trees, leaves), {}, kind);
}

TEST(RenderTest, TermsAreShownAsWhatTheyAdd) {
  const Model classes = TwoTrees(LeafKind::kAdditive, false, 1.03);
  EXPECT_EQ(*Render(classes, 1, RenderFormat::kText),
            "tree 1 of 0 to 1: y by 2 leaves, depth 1\n"
            "leaves add to the probability of the class that they name, which is 0.5 without any "
            "tree\n"
            "\n"
            "x < 0.5\n"
            "├─ yes ▸ b  +0.265\n"
            "└─ no  ▸ a  +0.125\n");
  for (const RenderFormat format : {RenderFormat::kDot, RenderFormat::kSvg}) {
    EXPECT_THAT(Rendered(classes, format), HasSubstr("leaves add to the probability"));
    EXPECT_THAT(Rendered(classes, format), HasSubstr("+0.265"));
    EXPECT_THAT(Rendered(classes, format), Not(HasSubstr("1.03")));
  }
  const std::string number =
      Rendered(TwoTrees(LeafKind::kAdditive, true, 1.03), RenderFormat::kText);
  EXPECT_THAT(number, HasSubstr("leaves add to the number, which is 15 without any tree\n"));
  EXPECT_THAT(number, HasSubstr("yes ▸ +2.65\n"));
  const std::string scores = Rendered(TwoTrees(LeafKind::kScores, true, 0.3), RenderFormat::kText);
  EXPECT_THAT(scores, HasSubstr("leaves add to the number, which is 10 without any tree\n"));
  EXPECT_THAT(scores, HasSubstr("yes ▸ +3\n"));
}

TEST(RenderTest, ASingleAdditiveTreeAnswersWithinBounds) {
  const std::string classes =
      Rendered(TwoTrees(LeafKind::kAdditive, false, 1.03, 1), RenderFormat::kText);
  EXPECT_THAT(classes, HasSubstr("yes ▸ b  1.00 ± 0.02\n"));
  EXPECT_THAT(classes, Not(HasSubstr("leaves add")));
  EXPECT_THAT(Rendered(TwoTrees(LeafKind::kAdditive, true, 1.03, 1), RenderFormat::kText),
              HasSubstr("yes ▸ 20    ± 0.2\n"));
}

TEST(RenderTest, MissingIsNamedOnlyWhereItCanStillArrive) {
  const Schema schema = IncomeSchema();
  Tree tree = *Tree::Create({NumericSplit(0, 50, 1, 2, true), NumericSplit(0, 30, 3, 4, true),
                             NumericSplit(0, 70, 5, 6, true), Node{}, Node{}, Node{}, Node{}},
                            schema);
  std::vector<LeafPrediction> leaves;
  for (uint32_t l = 0; l < 4; ++l) leaves.push_back(Leaf({1, 0}, 0, 0, tree.leaf_node(l)));
  const Model model = *Model::Create(schema, {std::move(tree)}, {std::move(leaves)}, {});
  const std::string text = Rendered(model, RenderFormat::kText);
  EXPECT_THAT(text, HasSubstr("age < 50 or missing"));
  EXPECT_THAT(text, HasSubstr("age < 30 or missing"));
  EXPECT_THAT(text, HasSubstr("age < 70\n"));
}

TEST(RenderTest, ASingleLeafIsATreeToo) {
  const Model model =
      *Model::Create(IncomeSchema(), {Tree::SingleLeaf()}, {{Leaf({0.25, 0.75}, 0.1, 1, 0)}}, {});
  EXPECT_EQ(Rendered(model, RenderFormat::kText),
            "tree 0: income by 1 leaf, depth 0\n\n▸ high  0.75 ± 0.10\n");
  EXPECT_THAT(Rendered(model, RenderFormat::kSvg), HasSubstr("0.75 ± 0.10"));
  EXPECT_THAT(Rendered(model, RenderFormat::kDot), HasSubstr("n0 [label=\"high 0.75 ± 0.10\""));
}

TEST(RenderTest, DotHasANodeALineAndQuotesNames) {
  const std::string dot = Rendered(NamedModel("a\"b\\c", "d"), RenderFormat::kDot);
  EXPECT_THAT(dot, HasSubstr("n0 [label=\"a\\\"b\\\\c < 0.1\"]"));
  EXPECT_THAT(dot, HasSubstr("n0 -> n1 [label=\"yes\"]"));
  EXPECT_THAT(dot, HasSubstr("n0 -> n2 [label=\"no\"]"));
}

TEST(RenderTest, SvgEscapesNames) {
  const std::string svg = Rendered(NamedModel("<script>&'\"", "]]>"), RenderFormat::kSvg);
  EXPECT_THAT(svg, HasSubstr("&lt;script&gt;&amp;&#39;&quot; &lt; 0.1"));
  EXPECT_THAT(svg, HasSubstr("]]&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("<script>")));
}

TEST(RenderTest, ControlCharactersAndBrokenUtf8NeverGetThrough) {
  const std::string name =
      std::string("a\x1b[31m\nb\xff\xc0\x80\xed\xa0\x80\xc2\x9b") + '\0' + "é日😀";
  for (const RenderFormat format : {RenderFormat::kText, RenderFormat::kDot, RenderFormat::kSvg}) {
    const std::string out = Rendered(NamedModel(name, "a"), format);
    EXPECT_THAT(out, HasSubstr("a�[31m�b���"));
    EXPECT_THAT(out, HasSubstr("��é日😀"));
    for (const char* bad : {"\x1b", "\xff", "\xc0", "\xed\xa0", "\xc2\x9b"}) {
      EXPECT_THAT(out, Not(HasSubstr(bad)));
    }
  }
}

TEST(RenderTest, SvgCutsLongNamesButKeepsThemInTheHoverText) {
  const std::string name(200, 'n');
  const std::string svg = Rendered(NamedModel(name, "a"), RenderFormat::kSvg);
  EXPECT_THAT(svg, HasSubstr("<title>" + name + " &lt; 0.1</title>"));
  EXPECT_THAT(svg, HasSubstr(">" + std::string(43, 'n') + "…<"));
}

TEST(RenderTest, PrunedLeavesAreMarkedInEveryFormat) {
  EXPECT_THAT(Rendered(IncomeModel(), RenderFormat::kSvg), HasSubstr("stroke-dasharray"));
  EXPECT_THAT(Rendered(IncomeModel(), RenderFormat::kSvg), HasSubstr("pruned to depth 3"));
  EXPECT_THAT(Rendered(IncomeModel(), RenderFormat::kDot), HasSubstr("pruned to depth 3"));
}

}  // namespace
}  // namespace coppice
