// Turns a model that is a vote of simple questions into whole numbers of votes per question.
//
// Trees that ask the same question, or always answer the same, add up to one line. A question adds
// its votes to the class if it is true, and subtracts them if it is false.
//
// With two classes the second is voted on: a row belongs to it if the sum is above zero. With more,
// each class has its own sum, and the largest wins.
//
// Errors     InvalidArgument for a model whose trees are not such questions: leaves must hold
//            scores (LeafKind::kScores) that are whole votes about one class, and a tree must ask
//            about one feature, whether it is below or in a range, has a value, or is missing.
// Guarantee  the sums are the model's own scores: predictions follow from them, for values with no
//            more decimals than the questions' cuts (cuts.h).

#ifndef COPPICE_COMMON_MODEL_VOTES_H_
#define COPPICE_COMMON_MODEL_VOTES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/model/model.h"

namespace coppice {

struct Vote {
  std::string question;  // "age < 37.5 years"; empty: always
  uint32_t about = 0;    // the class
  int64_t votes = 0;     // not 0

  friend bool operator==(const Vote&, const Vote&) = default;
};

// Ordered by class, then by absolute number of votes, the most first.
StatusOr<std::vector<Vote>> VotesOf(const Model& model);

// The votes as a table.
StatusOr<std::string> RenderVotes(const Model& model);

}  // namespace coppice

#endif  // COPPICE_COMMON_MODEL_VOTES_H_
