// coppice model verify: does a model's certificate add up, and did the curator sign it?

#ifndef COPPICE_CLIENT_CLI_MODELS_VERIFY_H_
#define COPPICE_CLIENT_CLI_MODELS_VERIFY_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/output.h"
#include "common/study/signature.h"
#include "common/tree/certificate_text.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {

struct Verdict {
  Json json;              // the claim, every release, what they cost in all, and who signed it
  CertificateText words;  // what that means; empty if the model is to be refused
  absl::Status status;    // FailedPrecondition if the model is to be refused
};

// Adds the releases up anew, and checks all else that makes a model valid. A signature must check;
// with a `curator_key` there must be one, by that key or one that it leads to: else whoever changed
// a model could take its signature away.
Verdict VerifyModel(const v1::Model& model,
                    const std::optional<PublicKey>& curator_key = std::nullopt);

// Titles, and below each its sentences, a line each.
std::string ToText(const CertificateText& words);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_MODELS_VERIFY_H_
