// The curator's signature of a model: that it made the model, and that this is what the model cost.
//
// The signed bytes are kModelDomain and two hashes: of the certificate, so that it can be shown
// alone, and of the rest of the model except version, min_reader and the signature itself. Those
// two numbers say how a file is read, not what it says: a later curator writes its own into a model
// that an earlier one signed.
//
// A hash is SHA-256 of the message's canonical bytes (HashMessage()), which depend on its values
// alone and not on their serialization: a model may be sent as JSON, and rewritten by a later
// version.
//
// Guarantee  two models with the same signed bytes are the same to every reader, except for what is
//            left out above.
// Errors     InvalidArgument that names the field, as convert.h. CheckModelSignature() as stated.
// Threads    plain functions and values.

#ifndef COPPICE_COMMON_WIRE_PROTO_MODEL_SIGNATURE_H_
#define COPPICE_COMMON_WIRE_PROTO_MODEL_SIGNATURE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/terms/key_chain.h"
#include "common/terms/sha256.h"
#include "common/terms/signature.h"
#include "coppice/v1/model.pb.h"

namespace coppice {

struct ModelSignature {
  Signature signature{};
  PublicKey key{};  // the key that signed
  KeyChain endorsements{};

  friend bool operator==(const ModelSignature&, const ModelSignature&) = default;
};

// Signs what SignedModelBytes() returns for a model.
using ModelSigner = std::function<StatusOr<ModelSignature>(std::string_view bytes)>;

v1::ModelSignature ToProto(const ModelSignature& signature);
// Verifies nothing.
StatusOr<ModelSignature> ParseModelSignature(const v1::ModelSignature& proto);

// The canonical bytes of a message are its fields by increasing number, then the number 0. A field
// is its number, how many values follow, and the values. One that is not set is left out, as is a
// number or text with its default value, unless it has presence. Every number takes 8 bytes,
// big-endian: integers, enumerators and bools in two's complement, doubles by IEEE 754 (-0 as 0,
// and all NaNs alike). A text is its length and its bytes, a message its canonical bytes. So no two
// messages share bytes, and a field that a later version adds changes no earlier message's.
//
// Leaves out the fields of `message` itself whose numbers are in `without`. InvalidArgument if the
// message has a field that this version does not know.
StatusOr<Sha256Digest> HashMessage(const google::protobuf::Message& message,
                                   absl::Span<const int> without = {});

// The bytes that the curator signs for a model, without kModelDomain.
StatusOr<std::string> SignedModelBytes(const v1::Model& model);

// OK if the model's signature verifies, with a key that `trusted`, if given, is or leads to.
// NotFound: it has none. DataLoss: it was changed after it was signed, or the signature is wrong.
// FailedPrecondition: another key signed it. Unimplemented: a later version wrote the model, and
// this one does not know all signed fields.
Status CheckModelSignature(const v1::Model& model, const std::optional<PublicKey>& trusted,
                           int64_t now_unix_seconds);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_PROTO_MODEL_SIGNATURE_H_
