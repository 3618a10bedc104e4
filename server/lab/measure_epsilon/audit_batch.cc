#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <boost/math/distributions/chi_squared.hpp>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"
#include "server/lab/measure_epsilon/audit.h"

namespace coppice::lab {
namespace {

// Deals that the curator makes itself, to learn how likely each ticket is the victim's: this many
// tickets in all, which take some seconds, and at most this many deals per ticket.
constexpr uint64_t kLearntTickets = 10'000'000;
constexpr uint64_t kLearntDealsPerTicket = 1000;
// A uniform dealer is taken for another with about this probability.
constexpr double kFalseAlarm = 1e-6;
// Summaries are this much finer than one report's mean share of the likelihood ratio.
constexpr double kStepsPerShare = 8;

// The rows of a batch, as cells of the domain.
struct BatchRows {
  LeafLabel victim[2];
  LeafLabel others;
};

BatchRows RowsOf(const Domain& domain) {
  const LeafLabel last = {.leaf = domain.leaves - 1, .label = domain.classes - 1};
  // The others' row differs from both of the victim's if possible: an answer may suit neither.
  return {.victim = {{.leaf = 0, .label = 0}, last}, .others = {.leaf = 0, .label = 1}};
}

Status CheckDeal(const std::vector<uint32_t>& deal, uint32_t tickets) {
  std::vector<bool> dealt(tickets);
  for (const uint32_t ticket : deal) {
    if (ticket < tickets) dealt[ticket] = true;
  }
  const bool each_once =
      deal.size() == tickets && std::all_of(dealt.begin(), dealt.end(), [](bool d) { return d; });
  if (each_once) return OkStatus();
  return InvalidArgumentError("the dealer does not deal every ticket once");
}

// The probability that the victim's ticket is among those with this column and this answer.
using AnswerProbabilities = std::map<std::pair<uint32_t, std::string>, double>;

StatusOr<AnswerProbabilities> DrawBatch(const LocalMechanism& mechanism, const BatchRows& rows,
                                        const Dealer& dealer, const std::vector<double>& victims,
                                        uint32_t input, PrivateRandom& random) {
  const auto tickets = static_cast<uint32_t>(victims.size());
  COPPICE_ASSIGN_OR_RETURN(const std::vector<uint32_t> deal, dealer(tickets, random));
  AnswerProbabilities answers;
  for (uint32_t device = 0; device < tickets; ++device) {
    uint64_t column = 0;  // the ticket's
    if (mechanism.columns() > 1) {
      COPPICE_ASSIGN_OR_RETURN(column, random.UniformBelow(mechanism.columns()));
    }
    const LeafLabel row = device == 0 ? rows.victim[input] : rows.others;
    COPPICE_ASSIGN_OR_RETURN(std::string payload,
                             mechanism.Randomize(row, static_cast<uint32_t>(column), random));
    answers[{static_cast<uint32_t>(column), std::move(payload)}] += victims[deal[device]];
  }
  return answers;
}

// Returns the ratio of the first input to the second: the victim holds ticket i with its weight,
// and all others answer as the others' row does, whichever tickets they hold.
StatusOr<double> LogLikelihoodRatio(const LocalMechanism& mechanism, const BatchRows& rows,
                                    const AnswerProbabilities& answers) {
  double likelihood[2] = {0, 0};
  for (const auto& [answer, weight] : answers) {
    const auto& [column, payload] = answer;
    COPPICE_ASSIGN_OR_RETURN(const double others,
                             mechanism.LogOutputProbability(rows.others, column, payload));
    for (int input = 0; input < 2; ++input) {
      COPPICE_ASSIGN_OR_RETURN(const double victim,
                               mechanism.LogOutputProbability(rows.victim[input], column, payload));
      likelihood[input] += weight * std::exp(victim - others);
    }
  }
  return std::log(likelihood[0] / likelihood[1]);
}

}  // namespace

StatusOr<std::vector<uint32_t>> DealUniformly(uint32_t tickets, PrivateRandom& random) {
  std::vector<uint32_t> deal(tickets);
  std::iota(deal.begin(), deal.end(), 0);
  for (uint32_t left = tickets; left > 1; --left) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t chosen, random.UniformBelow(left));
    std::swap(deal[chosen], deal[left - 1]);
  }
  return deal;
}

StatusOr<std::vector<double>> LearnDeal(const Dealer& dealer, uint32_t tickets) {
  OpenSslRandom random;
  const uint64_t deals =
      std::max<uint64_t>(1, std::min(kLearntTickets / tickets, kLearntDealsPerTicket * tickets));
  std::vector<double> times(tickets);
  for (uint64_t i = 0; i < deals; ++i) {
    COPPICE_ASSIGN_OR_RETURN(const std::vector<uint32_t> deal, dealer(tickets, random));
    COPPICE_RETURN_IF_ERROR(CheckDeal(deal, tickets));
    ++times[deal[0]];
  }
  const double mean = static_cast<double>(deals) / tickets;
  const double chi_square = std::accumulate(
      times.begin(), times.end(), 0.0,
      [mean](double sum, double count) { return sum + (count - mean) * (count - mean) / mean; });
  // Each ticket is expected often enough, at least ten times, for this law.
  const boost::math::chi_squared law(tickets - 1);
  if (chi_square < boost::math::quantile(boost::math::complement(law, kFalseAlarm))) {
    return std::vector<double>(tickets, 1.0 / tickets);
  }
  for (double& time : times) time /= static_cast<double>(deals);
  return times;
}

StatusOr<AuditSubject> SubjectOfBatch(const LocalMechanism& mechanism, uint32_t reports,
                                      const Dealer& dealer) {
  if (reports < 2 || reports > kMaxAuditedReports) {
    return InvalidArgumentError(
        StrCat("reports: must be from 2 to ", kMaxAuditedReports, ", is ", reports));
  }
  COPPICE_ASSIGN_OR_RETURN(std::vector<double> victims, LearnDeal(dealer, reports));
  const double step = mechanism.epsilon().epsilon() / std::sqrt(reports) / kStepsPerShare;
  return AuditSubject{
      .name = std::string(MechanismName(mechanism.kind())),
      .inputs = 2,
      .run = [&mechanism, dealer, step, rows = RowsOf(mechanism.domain()),
              victims = std::move(victims)](uint32_t input,
                                            PrivateRandom& random) -> StatusOr<std::string> {
        COPPICE_ASSIGN_OR_RETURN(const AnswerProbabilities answers,
                                 DrawBatch(mechanism, rows, dealer, victims, input, random));
        COPPICE_ASSIGN_OR_RETURN(const double ratio, LogLikelihoodRatio(mechanism, rows, answers));
        return StrCat(std::lround(ratio / step));
      }};
}

}  // namespace coppice::lab
