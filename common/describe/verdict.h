// Judges a model: does its certificate add up, and did the curator sign it?

#ifndef COPPICE_COMMON_DESCRIBE_VERDICT_H_
#define COPPICE_COMMON_DESCRIBE_VERDICT_H_

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/model/certificate_text.h"
#include "common/terms/signature.h"
#include "coppice/v1/model.pb.h"

namespace coppice {

struct Verdict {
  // What `coppice model verify --json` prints: the claim, every release, their total cost, and who
  // signed it.
  nlohmann::ordered_json json;
  CertificateText words;  // what that means; empty if the model must be refused
  Status status;          // FailedPrecondition if the model must be refused
};

// Adds the releases up anew, computes the promises towards readers and towards a curator that does
// not collude with the relay anew (shuffled_promise.h), and checks all else that makes a model
// valid. A signature must check; with a `curator_key` there must be one, by that key or one that it
// leads to, because an attacker who changes a model could also take its signature away.
Verdict VerifyModel(const v1::Model& model,
                    const std::optional<PublicKey>& curator_key = std::nullopt);

// Adds to a verdict whether `digest`, which is RowsDigest() of somebody's rows, is that of the
// public rows which the certificate names. If not, the status of a sound model becomes
// FailedPrecondition; if it names none, InvalidArgument.
void AddPublicRows(const v1::Certificate& certificate, const std::string& digest, Verdict& verdict);

// Prints titles, each followed by its sentences, one per line.
std::string ToText(const CertificateText& words);

}  // namespace coppice

#endif  // COPPICE_COMMON_DESCRIBE_VERDICT_H_
