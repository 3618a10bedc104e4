// dp_bag: teachers of several partitions label public rows by noisy votes, as published.
//
// The private rows are cut into kTeachers parts, several times, each time anew; a logistic
// regression is fitted to each part. A public row gets the class with more votes, counted per
// partition, after Laplace noise of scale 1 / lambda; a student learns from these labels.
//
// A row is in one part of each partition. If its teachers vote for class c in a share m_c of the
// partitions, its votes weigh max m_c, and the l-th moment of a vote costs 2 (lambda max m_c)^2
// l (l + 1). Votes go on until the dearest row has had epsilon, at delta = 10^-5.
//
// The cost is measured on the very rows that it is to protect: how many public rows get a label
// depends on them and is seen, and what a row that is not among them would have cost is not asked.
//
// Choices where the text is open: as the authors' program, teachers and student are logistic
// regressions, 250 teachers, lambda = 2 / 250, and moments up to 80; rows in one-hot bins; the
// default is ten partitions, for time, where it has a hundred.
//
// Source     Jordon, Yoon, van der Schaar 2019, "Differentially private bagging: improved utility
//            and cheaper privacy than subsample-and-aggregate".
// Guarantee  none is stated (docs/research/mechanisms.md#baselines).

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/research/features.h"
#include "server/research/method.h"
#include "server/research/one_hot.h"
#include "server/research/real_draws.h"
#include "server/trainers/core/ensemble.h"

namespace coppice::research {
namespace {

constexpr size_t kTeachers = 250;  // of a partition
constexpr double kVoteRate = 2.0 / kTeachers;
constexpr double kBagDelta = 1e-5;
constexpr int kMoments = 80;
constexpr double kMostPartitions = 1000;

// Which part of each partition a row is in: part_of[partition][row].
using Partitions = std::vector<std::vector<uint32_t>>;

Partitions DrawPartitions(size_t partitions, size_t rows, size_t parts, PublicRandom& random) {
  Partitions drawn(partitions, std::vector<uint32_t>(rows));
  for (std::vector<uint32_t>& part_of : drawn) {
    for (size_t row = 0; row < rows; ++row) part_of[row] = static_cast<uint32_t>(row % parts);
    for (size_t row = rows; row > 1; --row) {
      std::swap(part_of[row - 1], part_of[random.Below(row)]);
    }
  }
  return drawn;
}

// The penalty of scikit-learn's default, one half of the squared weights beside the summed loss,
// for rows of length 1.
double TeacherPenalty(const OneHotRows& rows, size_t number) {
  return rows.value() * rows.value() / static_cast<double>(std::max<size_t>(number, 1));
}

// Votes of all teachers on the rows that are asked: votes[partition][teacher][row] is 0 or 1.
using Votes = std::vector<std::vector<std::vector<uint8_t>>>;

StatusOr<Votes> VotesOfTeachers(const OneHotRows& rows, absl::Span<const uint32_t> labels,
                                const Partitions& partitions, size_t parts,
                                const OneHotRows& asked) {
  Votes votes(partitions.size());
  for (size_t p = 0; p < partitions.size(); ++p) {
    std::vector<std::vector<uint32_t>> of_part(parts);
    for (uint32_t row = 0; row < rows.size(); ++row) of_part[partitions[p][row]].push_back(row);
    for (const std::vector<uint32_t>& part : of_part) {
      COPPICE_ASSIGN_OR_RETURN(
          const std::vector<double> weights,
          FitLogistic(rows, labels, part, {.penalty = TeacherPenalty(rows, part.size())}));
      std::vector<uint8_t>& of_teacher = votes[p].emplace_back();
      for (size_t row = 0; row < asked.size(); ++row) {
        of_teacher.push_back(asked.Logit(weights, row) > 0 ? 1 : 0);
      }
    }
  }
  return votes;
}

// The cost of votes, as the authors add it up.
class BagAccount {
 public:
  BagAccount(const Partitions& partitions, const Votes& votes)
      : partitions_(partitions), votes_(votes), squares_(partitions[0].size()) {}

  // Returns epsilon if this row is asked, too.
  double Ask(size_t asked) {
    double most = 0;
    for (size_t row = 0; row < squares_.size(); ++row) {
      double ones = 0;
      for (size_t p = 0; p < partitions_.size(); ++p) ones += votes_[p][partitions_[p][row]][asked];
      const double share = ones / static_cast<double>(partitions_.size());
      const double weight = kVoteRate * std::max(share, 1 - share);
      squares_[row] += weight * weight;
      most = std::max(most, squares_[row]);
    }
    double epsilon = std::numeric_limits<double>::infinity();
    for (double l = 1; l <= kMoments; ++l) {
      epsilon = std::min(epsilon, (2 * most * l * (l + 1) - std::log(kBagDelta)) / l);
    }
    return epsilon;
  }

 private:
  const Partitions& partitions_;
  const Votes& votes_;
  std::vector<double> squares_;  // per row: the sum of (lambda m)^2
};

// Noisy labels of the first public rows, as many as epsilon allows.
StatusOr<std::vector<uint32_t>> LabelByVotes(const Partitions& partitions, const Votes& votes,
                                             size_t most, double epsilon, PrivateRandom& noise) {
  BagAccount account(partitions, votes);
  std::vector<uint32_t> labels;
  while (labels.size() < most && account.Ask(labels.size()) <= epsilon) {
    double lead = 0;  // votes for class 1 over those for class 0, per partition
    for (const auto& of_partition : votes) {
      for (const auto& of_teacher : of_partition) {
        lead += (of_teacher[labels.size()] == 1 ? 1 : -1) / static_cast<double>(votes.size());
      }
    }
    COPPICE_ASSIGN_OR_RETURN(const double above, DrawLaplace(1 / kVoteRate, noise));
    COPPICE_ASSIGN_OR_RETURN(const double below, DrawLaplace(1 / kVoteRate, noise));
    labels.push_back(lead + above - below > 0 ? 1 : 0);
  }
  return labels;
}

class BaggedTeachers final : public Method {
 public:
  const MethodInfo& info() const override {
    static const MethodInfo kInfo = {
        .name = "dp_bag",
        .summary = "teachers of several partitions label the public rows by noisy votes",
        .source = "Jordon, Yoon, van der Schaar 2019",
        .protects = "a row, its authors say",
        .neighbours = "one row more or less, its authors say",
        .guarantee = kAsPublished,
        .sampler = "floating point; delta = 10^-5",
        .setting = "partitions",
        .default_setting = 10,
        .paper_settings = {1, 10, 100},
        .reason =
            "the cost is measured on the rows that it is to protect: how many labels are given "
            "depends on them, and rows that are not there are not asked for theirs"};
    return kInfo;
  }

  StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options,
                        PublicRandom& public_random, PrivateRandom& noise) const override {
    const Table& table = *rows.private_rows;
    COPPICE_RETURN_IF_ERROR(CheckTwoClasses(table.schema()));
    COPPICE_RETURN_IF_ERROR(CheckLabelled(table));
    if (options.setting < 1 || options.setting > kMostPartitions) {
      return InvalidArgumentError("dp_bag takes 1 to 1000 partitions");
    }
    COPPICE_ASSIGN_OR_RETURN(const OneHotRows points, OneHotRows::Create(table));
    COPPICE_ASSIGN_OR_RETURN(const OneHotRows asked, OneHotRows::Create(*rows.public_rows));
    const size_t parts = std::min(kTeachers, points.size());
    const Partitions partitions =
        DrawPartitions(static_cast<size_t>(options.setting), points.size(), parts, public_random);
    COPPICE_ASSIGN_OR_RETURN(const Votes votes,
                             VotesOfTeachers(points, table.labels(), partitions, parts, asked));
    COPPICE_ASSIGN_OR_RETURN(
        const std::vector<uint32_t> labels,
        LabelByVotes(partitions, votes, asked.size(), options.epsilon->epsilon(), noise));
    COPPICE_ASSIGN_OR_RETURN(const std::vector<double> weights,
                             FitLogistic(asked, labels, trainers::AllRows(labels.size()),
                                         {.penalty = TeacherPenalty(asked, labels.size())}));
    return AnswerByLogit(*rows.test_rows, weights);
  }
};

}  // namespace

const Method& DpBag() {
  static const BaggedTeachers kMethod;
  return kMethod;
}

}  // namespace coppice::research
