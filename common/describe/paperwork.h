// What others ask of a deployment, answered from a model's certificate: an entry of the public
// registry of deployments, and the questions of a review.
//
// Nothing here promises more than the certificate does, whose sentences it uses. What no
// certificate can know is left to a person, and named.
//
// Threads    plain functions and values.
// Source     OpenDP, deployments-registry-data, the schema of 15 July 2026; Near, Darais, Lefkovitz
//            and Howarth, Guidelines for Evaluating Differential Privacy Guarantees, NIST SP
//            800-226 (2025).

#ifndef COPPICE_COMMON_DESCRIBE_PAPERWORK_H_
#define COPPICE_COMMON_DESCRIBE_PAPERWORK_H_

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/model/certificate.h"

namespace coppice::v1 {
class Model;
}  // namespace coppice::v1

namespace coppice {

// A question that NIST SP 800-226 asks of a claim of differential privacy.
struct ReviewAnswer {
  std::string question;
  std::string answer;  // from the certificate; empty if it knows nothing of this
  std::string to_say;  // what only a person can say; empty: nothing
};
std::vector<ReviewAnswer> AnswerReview(const Certificate& certificate);

// The same as JSON, for pages and scripts.
nlohmann::ordered_json DescribeReview(const std::vector<ReviewAnswer>& answers);

// The registry's entry of a model, in YAML. What a person has to say is marked "TO SAY:", and
// listed in a comment at the top. `today` ("2030-01-31") stands for the day of publication if the
// model has no date of its own. InvalidArgument if the certificate does not add up;
// FailedPrecondition if it promises no privacy.
StatusOr<std::string> RegistryEntry(const v1::Model& model, const std::string& today);

}  // namespace coppice

#endif  // COPPICE_COMMON_DESCRIBE_PAPERWORK_H_
