#include "common/wire/proto/manifest.h"

#include <algorithm>
#include <cstddef>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/manifest.h"
#include "common/wire/messages.h"

namespace coppice {

v1::KeyEndorsement ToProto(const KeyEndorsement& endorsement) {
  v1::KeyEndorsement proto;
  proto.ParseFromString(WriteFields(endorsement));  // it has no text, so it parses
  return proto;
}

StatusOr<KeyChain> ParseKeyChain(
    const google::protobuf::RepeatedPtrField<v1::KeyEndorsement>& protos) {
  if (static_cast<size_t>(protos.size()) > kMaxEndorsements) {
    return FieldError("endorsements",
                      StrCat("must be at most ", kMaxEndorsements, ", are ", protos.size()));
  }
  KeyChain chain;
  for (const v1::KeyEndorsement& proto : protos) {
    COPPICE_ASSIGN_OR_RETURN(chain.emplace_back(),
                             ReadFields<KeyEndorsement>(proto.SerializeAsString()));
  }
  return chain;
}

StatusOr<PublicKey> ParsePublicKeyBytes(std::string_view bytes) {
  PublicKey key{};
  if (bytes.size() != key.size()) {
    return FieldError("key", StrCat("must have ", key.size(), " bytes, has ", bytes.size()));
  }
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
}

v1::SignedManifest ToProto(const SignedManifest& manifest) {
  v1::SignedManifest proto;
  proto.ParseFromString(WriteSignedManifest(manifest));  // it has no text, so it parses
  return proto;
}

v1::SignedClosing ToProto(const SignedClosing& closing) {
  v1::SignedClosing proto;
  proto.ParseFromString(WriteSignedClosing(closing));  // it has no text, so it parses
  return proto;
}

StatusOr<SignedManifest> ParseSignedManifest(const v1::SignedManifest& proto) {
  return ReadSignedManifest(proto.SerializeAsString());
}

}  // namespace coppice
