#include "client/device/messages/parts.h"

#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

void ReadNumberField(MessageReader& field, SchemaMessage::Number& number) {
  if (field.field() == 1) field.Read(number.min);
  if (field.field() == 2) field.Read(number.max);
  if (field.field() == 3) field.ReadText(number.unit);
  if (field.field() == 4) field.Read(number.integer);
}

// A message of NumericType within `reader`, which makes a number where there was none. Messages
// that come twice are merged in place: to copy what came before would cost its square.
bool ReadNumber(MessageReader& reader, std::optional<SchemaMessage::Number>& number) {
  if (!reader.IsMessage()) return false;
  if (!number.has_value()) number = SchemaMessage::Number();
  return reader.ReadMessage([&](MessageReader& field) { ReadNumberField(field, *number); });
}

bool ReadCategories(MessageReader& reader, std::optional<std::vector<std::string>>& values) {
  if (!reader.IsMessage()) return false;
  if (!values.has_value()) values.emplace();
  return reader.ReadMessage([&](MessageReader& field) {
    if (field.field() == 1) field.AddText(*values);
  });
}

void ReadColumnField(MessageReader& field, SchemaMessage::Column& column) {
  if (field.field() == 1) field.ReadText(column.name);
  if (field.field() == 2 && ReadNumber(field, column.numeric)) column.values.reset();
  if (field.field() == 3 && ReadCategories(field, column.values)) column.numeric.reset();
  if (field.field() == 4) field.Read(column.is_public);
  if (field.field() == 5) field.Read(column.from_private_rows);
}

void ReadSchemaField(MessageReader& field, SchemaMessage& message) {
  if (field.field() == 1) {
    SchemaMessage::Column column;
    if (field.ReadMessage([&](MessageReader& inner) { ReadColumnField(inner, column); })) {
      message.features.push_back(std::move(column));
    }
  }
  if (field.field() == 2) field.ReadText(message.label);
  if (field.field() == 3) field.AddText(message.classes);
  if (field.field() == 4) ReadNumber(field, message.target);
  if (field.field() == 5) field.Read(message.answers_from_private_rows);
  // A column is many times as large as the two bytes that can stand for it.
  if (message.features.size() > kMaxFeatures || message.classes.size() > kMaxClasses) field.Fail();
}

StatusOr<Feature> MakeFeature(SchemaMessage::Column column, size_t position) {
  Feature feature;
  feature.name = std::move(column.name);
  feature.is_public = column.is_public;
  feature.from_private_rows = column.from_private_rows;
  if (column.numeric.has_value()) {
    feature.min = column.numeric->min;
    feature.max = column.numeric->max;
    feature.unit = std::move(column.numeric->unit);
    feature.integer = column.numeric->integer;
    return feature;
  }
  if (!column.values.has_value()) {
    return InvalidArgumentError(
        StrCat("schema.features[", position, "]: must be numeric or categorical"));
  }
  feature.type = FeatureType::kCategorical;
  feature.values = *std::move(column.values);
  return feature;
}

}  // namespace

void ReadSchemaMessage(MessageReader& reader, SchemaMessage& message) {
  reader.ReadMessage([&](MessageReader& field) { ReadSchemaField(field, message); });
}

StatusOr<Schema> MakeSchema(SchemaMessage message) {
  if (message.answers_from_private_rows) {
    message.answers_from_private_rows = false;
    COPPICE_ASSIGN_OR_RETURN(const Schema schema, MakeSchema(std::move(message)));
    return schema.WithAnswersFromPrivateRows();
  }
  std::vector<Feature> features;
  features.reserve(message.features.size());
  for (SchemaMessage::Column& column : message.features) {
    COPPICE_ASSIGN_OR_RETURN(features.emplace_back(),
                             MakeFeature(std::move(column), features.size()));
  }
  if (!message.target.has_value()) {
    return Schema::Create(std::move(features), std::move(message.label),
                          std::move(message.classes));
  }
  if (!message.classes.empty()) {
    return InvalidArgumentError("schema: must have classes or a target, not both");
  }
  if (message.target->integer) {
    return InvalidArgumentError("schema.target: a target is not declared integer");
  }
  return Schema::CreateRegression(std::move(features), std::move(message.label),
                                  {.min = message.target->min,
                                   .max = message.target->max,
                                   .unit = std::move(message.target->unit)});
}

void ReadTreeField(MessageReader& field, PreorderTree& tree) {
  if (field.field() == 1) field.Add(tree.kinds);
  if (field.field() == 2) field.Add(tree.features);
  if (field.field() == 3) field.Add(tree.thresholds);
  if (field.field() == 4) field.Add(tree.categories);
  if (field.field() == 5) field.Add(tree.missing_left);
}

void AddEndorsement(MessageReader& reader, std::vector<EndorsementMessage>& messages) {
  EndorsementMessage message;
  const bool is_message = reader.ReadMessage([&](MessageReader& field) {
    if (field.field() == 1) field.ReadBytes(message.endorser_id);
    if (field.field() == 2) field.ReadBytes(message.key);
    if (field.field() == 3) field.Read(message.not_before_unix_seconds);
    if (field.field() == 4) field.ReadBytes(message.signature);
  });
  // One takes many times the two bytes that can stand for it, so only one too many is kept.
  if (is_message && messages.size() <= kMaxEndorsements) messages.push_back(message);
}

StatusOr<KeyChain> MakeKeyChain(const std::vector<EndorsementMessage>& messages) {
  if (messages.size() > kMaxEndorsements) {
    return InvalidArgumentError(StrCat("endorsements: must be at most ", kMaxEndorsements));
  }
  KeyChain chain;
  for (const EndorsementMessage& message : messages) {
    KeyEndorsement& added = chain.emplace_back();
    COPPICE_RETURN_IF_ERROR(CopyExactly("endorser_id", message.endorser_id, added.endorser));
    COPPICE_RETURN_IF_ERROR(CopyExactly("key", message.key, added.key));
    COPPICE_RETURN_IF_ERROR(CopyExactly("signature", message.signature, added.signature));
    added.not_before_unix_seconds = message.not_before_unix_seconds;
  }
  return chain;
}

void ReadSignedManifestMessage(MessageReader& reader,
                               std::optional<SignedManifestMessage>& message) {
  if (!reader.IsMessage()) return;
  if (!message.has_value()) message = SignedManifestMessage();
  reader.ReadMessage([&](MessageReader& field) {
    if (field.field() == 1) field.ReadBytes(message->manifest);
    if (field.field() == 2) field.ReadBytes(message->signature);
    if (field.field() == 3) field.ReadBytes(message->key);
    if (field.field() == 4) AddEndorsement(field, message->endorsements);
  });
}

StatusOr<SignedManifest> MakeSignedManifest(const SignedManifestMessage& message) {
  if (message.manifest.size() > kMaxManifestBytes) {
    return InvalidArgumentError(StrCat("manifest: must have at most ", kMaxManifestBytes,
                                       " bytes, has ", message.manifest.size()));
  }
  SignedManifest manifest{.bytes = std::string(message.manifest), .endorsements = {}};
  COPPICE_RETURN_IF_ERROR(CopyExactly("signature", message.signature, manifest.signature));
  COPPICE_RETURN_IF_ERROR(CopyExactly("key", message.key, manifest.key));
  COPPICE_ASSIGN_OR_RETURN(manifest.endorsements, MakeKeyChain(message.endorsements));
  return manifest;
}

}  // namespace coppice
