// coppice model verify: does a model's certificate add up?

#ifndef COPPICE_CLIENT_CLI_MODELS_VERIFY_H_
#define COPPICE_CLIENT_CLI_MODELS_VERIFY_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/output.h"
#include "common/tree/certificate_text.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {

// Twice what the curator sends of one, written out as JSON.
inline constexpr size_t kMaxModelFileBytes = size_t{512} << 20;

// The model in a file that `model export` wrote. InvalidArgument names the file.
absl::StatusOr<v1::Model> ReadModelFile(const std::string& path,
                                        size_t max_bytes = kMaxModelFileBytes);

struct Verdict {
  Json json;              // the claim, every release, and what they cost in all
  CertificateText words;  // what that means; empty if the model is to be refused
  absl::Status status;    // FailedPrecondition if the model is to be refused
};

// Adds the releases up anew, and checks all else that makes a model valid.
Verdict VerifyModel(const v1::Model& model);

// Titles, and below each its sentences, a line each.
std::string ToText(const CertificateText& words);

}  // namespace coppice::cli

#endif  // COPPICE_CLIENT_CLI_MODELS_VERIFY_H_
