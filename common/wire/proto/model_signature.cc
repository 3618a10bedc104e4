#include "common/wire/proto/model_signature.h"

#include <algorithm>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"

namespace coppice {
namespace {

std::string NameOf(const PublicKey& key) {
  const KeyId id = KeyIdOf(key);
  return BytesToHexString(AsBytes(id));
}

Status WasChanged() {
  return DataLossError(
      "its signature does not check: the model was changed after it was signed, or the signature "
      "is another model's; get the model from the curator anew");
}

Status IsBeyondThisVersion(const v1::Model& model) {
  return UnimplementedError(StrCat("its signature cannot be checked: the model is in format ",
                                   model.version(), " and this program knows format ",
                                   kModelVersion, ": upgrade Coppice"));
}

}  // namespace

v1::ModelSignature ToProto(const ModelSignature& signature) {
  v1::ModelSignature proto;
  proto.mutable_signature()->assign(signature.signature.begin(), signature.signature.end());
  proto.mutable_key()->assign(signature.key.begin(), signature.key.end());
  for (const KeyEndorsement& endorsement : signature.endorsements) {
    *proto.add_endorsements() = ToProto(endorsement);
  }
  return proto;
}

StatusOr<ModelSignature> ParseModelSignature(const v1::ModelSignature& proto) {
  ModelSignature signature;
  if (proto.signature().size() != signature.signature.size()) {
    return FieldError("signature.signature", StrCat("must have ", signature.signature.size(),
                                                    " bytes, has ", proto.signature().size()));
  }
  std::copy(proto.signature().begin(), proto.signature().end(), signature.signature.begin());
  const StatusOr<PublicKey> key = ParsePublicKeyBytes(proto.key());
  if (!key.ok()) return InField("signature", key.status());
  signature.key = *key;
  StatusOr<KeyChain> endorsements = ParseKeyChain(proto.endorsements());
  if (!endorsements.ok()) return InField("signature", endorsements.status());
  signature.endorsements = *std::move(endorsements);
  return signature;
}

StatusOr<std::string> SignedModelBytes(const v1::Model& model) {
  COPPICE_ASSIGN_OR_RETURN(const Sha256Digest certificate, HashMessage(model.certificate()));
  COPPICE_ASSIGN_OR_RETURN(
      const Sha256Digest content,
      HashMessage(model, {v1::Model::kCertificateFieldNumber, v1::Model::kVersionFieldNumber,
                          v1::Model::kMinReaderFieldNumber, v1::Model::kSignatureFieldNumber}));
  return StrCat(AsBytes(certificate), AsBytes(content));
}

Status CheckModelSignature(const v1::Model& model, const std::optional<PublicKey>& trusted,
                           int64_t now_unix_seconds) {
  if (!model.has_signature()) return NotFoundError("it is not signed");
  const StatusOr<ModelSignature> signature = ParseModelSignature(model.signature());
  if (!signature.ok()) return DataLossError(signature.status().message());
  const StatusOr<std::string> bytes = SignedModelBytes(model);
  if (!bytes.ok() || !IsSignedBy(signature->key, kModelDomain, *bytes, signature->signature)) {
    return model.version() > kModelVersion ? IsBeyondThisVersion(model) : WasChanged();
  }
  if (!trusted.has_value()) return OkStatus();
  const Status led =
      FollowChain(*trusted, signature->endorsements, signature->key, now_unix_seconds);
  if (led.ok()) return led;
  return FailedPreconditionError(StrCat(
      "it is signed by key ", NameOf(signature->key), ", to which the given key ", NameOf(*trusted),
      " does not lead: another curator made the model, or the curator changed its key since; if "
      "its owner says that the key is theirs, give that one"));
}

}  // namespace coppice
