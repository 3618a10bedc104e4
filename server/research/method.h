// The methods that the papers compare with, as references: each takes the rows of one repetition
// and answers the test rows.
//
// They are only for comparisons on rows that the user may look at. No model of theirs is a release:
// most have a weaker guarantee or a less exact sampler than this project requires.

#ifndef COPPICE_SERVER_RESEARCH_METHOD_H_
#define COPPICE_SERVER_RESEARCH_METHOD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"
#include "common/table/table.h"
#include "server/lab/rows.h"

namespace coppice::research {

// The guarantee of a method whose paper claims one that this project cannot state.
inline constexpr char kAsPublished[] = "as published; no guarantee is stated for it here";

struct MethodInfo {
  std::string name;        // "phist"
  std::string summary;     // one line
  std::string source;      // the paper
  std::string protects;    // "a row", "a label", "nothing", or what its authors say
  std::string neighbours;  // which inputs the guarantee covers; empty if there is none
  std::string guarantee;   // "epsilon-LDP", "(epsilon, delta)-LDP", "epsilon-DP", "none", or
                           // kAsPublished
  std::string sampler;     // how exact the noise is
  std::string setting;     // what is tuned, such as "depth"; empty if nothing is
  double default_setting = 0;
  std::vector<double> paper_settings{};
  bool whole_settings = true;
  std::string reason{};  // why no guarantee is stated, if it is kAsPublished

  bool is_private() const { return protects != "nothing"; }
};

// probabilities[row * classes + k] for the test rows.
struct Answers {
  uint32_t classes = 0;
  std::vector<double> probabilities;

  Answers(uint32_t of_classes, size_t rows)
      : classes(of_classes), probabilities(rows * of_classes) {}
  absl::Span<double> of(size_t row) {
    return absl::MakeSpan(probabilities).subspan(row * classes, classes);
  }
  absl::Span<const double> of(size_t row) const {
    return absl::MakeConstSpan(probabilities).subspan(row * classes, classes);
  }
};

// The inputs of one fit, apart from its rows.
struct FitOptions {
  std::optional<Budget> epsilon;  // set for methods that protect something
  double setting = 0;
};

// Guarantee  what info() says, for everything that depends on private rows before the test rows are
//            answered.
// Errors     InvalidArgument for rows, classes or a setting that the method cannot use; the errors
//            of the PrivateRandom.
// Threads    immutable; Fit() may run on several threads, each with its own random sources.
class Method {
 public:
  virtual ~Method() = default;

  virtual const MethodInfo& info() const = 0;

  // Whether a setting of the paper's grid can run on rows of `schema`.
  virtual bool Fits(const Schema&, double /*setting*/) const { return true; }

  virtual StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options,
                                PublicRandom& public_random, PrivateRandom& noise) const = 0;
};

// Errors     InvalidArgument if a row has no label.
Status CheckLabelled(const Table& rows);

// All methods, in the order of the papers.
absl::Span<const Method* const> AllMethods();
// NotFound lists the names of the methods.
StatusOr<const Method*> FindMethod(std::string_view name);

// classification_trees.cc
const Method& CtW();
const Method& CtQ();
// private_histogram.cc
const Method& Phist();
// private_glm.cc
const Method& Pglm();
// private_gradients.cc
const Method& PsgdL();
const Method& PsgdN();
const Method& PsgdLaplace();
// random_trees.cc
const Method& Ssrdt();
// output_perturbation.cc
const Method& Top();
// smooth_trees.cc
const Method& Srt();
// objective_perturbation.cc
const Method& DpLr();
// bagged_teachers.cc
const Method& DpBag();
// our_trainer.cc
const Method& Auto();

}  // namespace coppice::research

#endif  // COPPICE_SERVER_RESEARCH_METHOD_H_
