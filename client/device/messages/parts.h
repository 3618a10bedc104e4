// Messages that are parts of several others.
//
// Each Read...() takes one field that is such a message, and merges it into what is there.

#ifndef COPPICE_CLIENT_DEVICE_MESSAGES_PARTS_H_
#define COPPICE_CLIENT_DEVICE_MESSAGES_PARTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/device/messages/message_reader.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/schema/schema.h"
#include "common/terms/key_chain.h"
#include "common/terms/manifest.h"
#include "common/terms/preorder.h"

namespace coppice {

// coppice.v1.Schema.
struct SchemaMessage {
  struct Number {  // NumericType
    double min = 0;
    double max = 0;
    std::string unit;
    bool integer = false;
  };
  struct Column {  // Feature; of `numeric` and `values` the one that was read last counts
    std::string name;
    std::optional<Number> numeric;
    std::optional<std::vector<std::string>> values;
    bool is_public = false;
    bool from_private_rows = false;
  };
  std::vector<Column> features;
  std::string label;
  std::vector<std::string> classes;
  std::optional<Number> target;
  bool answers_from_private_rows = false;
};
void ReadSchemaMessage(MessageReader& reader, SchemaMessage& message);
// InvalidArgument, naming the field.
StatusOr<Schema> MakeSchema(SchemaMessage message);

// coppice.v1.Tree: one field of it.
void ReadTreeField(MessageReader& field, PreorderTree& tree);

// coppice.v1.KeyEndorsement, unchecked, as views.
struct EndorsementMessage {
  std::string_view endorser_id;
  std::string_view key;
  int64_t not_before_unix_seconds = 0;
  std::string_view signature;
};
// Keeps at most kMaxEndorsements + 1, which MakeKeyChain() refuses.
void AddEndorsement(MessageReader& reader, std::vector<EndorsementMessage>& messages);
StatusOr<KeyChain> MakeKeyChain(const std::vector<EndorsementMessage>& messages);

// coppice.v1.SignedManifest, unchecked, as views.
struct SignedManifestMessage {
  std::string_view manifest;
  std::string_view signature;
  std::string_view key;
  std::vector<EndorsementMessage> endorsements;
};
void ReadSignedManifestMessage(MessageReader& reader,
                               std::optional<SignedManifestMessage>& message);
// InvalidArgument, naming the field. The manifest's bytes are not looked at.
StatusOr<SignedManifest> MakeSignedManifest(const SignedManifestMessage& message);

// InvalidArgument unless there are as many bytes as `to` takes.
template <typename Array>
Status CopyExactly(std::string_view field, std::string_view from, Array& to) {
  if (from.size() != to.size()) {
    return InvalidArgumentError(
        StrCat(field, ": must have ", to.size(), " bytes, has ", from.size()));
  }
  std::copy(from.begin(), from.end(), to.begin());
  return OkStatus();
}

template <typename Array>
std::string_view AsBytes(const Array& array) {
  return {reinterpret_cast<const char*>(array.data()), array.size()};
}

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_MESSAGES_PARTS_H_
