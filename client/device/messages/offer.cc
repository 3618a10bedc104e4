#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/device/messages/message_reader.h"
#include "client/device/messages/message_writer.h"
#include "client/device/messages/messages.h"
#include "client/device/messages/parts.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/merkle.h"

namespace coppice {
namespace {

Status NoMessage(std::string_view what) {
  return InvalidArgumentError(StrCat(what, ": no such message"));
}

// An error whose text may quote the curator, who may be hostile: printable, and not long.
Status OfCurator(const Status& status) {
  constexpr size_t kMaxBytes = 2000;
  const std::string_view text = status.message();
  return Status(status.code(),
                StrCat(Printable(text.substr(0, kMaxBytes)), text.size() > kMaxBytes ? "..." : ""));
}

StatusOr<MechanismKind> MakeMechanismKind(int32_t number) {
  for (const MechanismKind kind : AllMechanismKinds()) {
    if (static_cast<int32_t>(kind) == number) return kind;
  }
  return InvalidArgumentError("mechanism: must be set, to one that this version knows");
}

struct OfferMessage {
  std::string_view terms;
  std::string_view fingerprint;
  std::vector<std::string_view> tickets;
  std::string_view tree;
  std::string_view tree_path;
  std::optional<SignedManifestMessage> manifest;
};

StatusOr<OfferMessage> ReadOffer(std::string_view bytes) {
  OfferMessage message;
  MessageReader field(bytes);
  while (field.Next()) {
    if (field.field() == 1) field.ReadBytes(message.terms);
    if (field.field() == 2) field.ReadBytes(message.fingerprint);
    if (field.field() == 3) field.AddBytes(message.tickets);
    if (field.field() == 4) field.ReadBytes(message.tree);
    if (field.field() == 5) field.ReadBytes(message.tree_path);
    if (field.field() == 7) ReadSignedManifestMessage(field, message.manifest);
  }
  if (field.failed()) return DataLossError("the response is no offer");
  return message;
}

std::string ManifestBytes(const Manifest& manifest) {
  MessageWriter writer;
  writer.Bytes(1, manifest.study);
  writer.Bytes(2, AsBytes(manifest.fingerprint));
  writer.Number(3, manifest.epsilon.nanos());
  writer.Number(4, static_cast<uint64_t>(manifest.mechanism));
  writer.Number(5, static_cast<uint64_t>(manifest.expires_unix_seconds));
  writer.Number(6, manifest.min_reports);
  writer.Number(7, manifest.sequence);
  writer.Number(8, static_cast<uint64_t>(manifest.issued_unix_seconds));
  writer.Bytes(9, AsBytes(manifest.key));
  writer.Number(10, manifest.public_features);
  if (manifest.sealing.has_value()) {
    writer.Number(11, manifest.sealing->suite);
    writer.Bytes(12, AsBytes(manifest.sealing->key));
    writer.Number(13, manifest.sealing->min_batch);
    writer.Number(14, manifest.sealing->payload_bytes);
  }
  if (manifest.direct.has_value()) {
    writer.Number(15, manifest.direct->key.suite);
    writer.Bytes(16, AsBytes(manifest.direct->key.key));
    writer.Number(17, manifest.direct->report_bytes);
  }
  return writer.Finish();
}

StatusOr<Terms> OpenTerms(const OfferMessage& offer, std::string_view study) {
  if (offer.fingerprint != AsBytes(FingerprintOf(offer.terms))) {
    return DataLossError(
        StrCat("the terms of study ", study,
               " do not match their fingerprint; do not answer, and tell the curator"));
  }
  StatusOr<Terms> terms = ReadTerms(offer.terms);
  if (!terms.ok()) return OfCurator(terms.status());
  if (terms->study == study) return terms;
  return DataLossError(StrCat("the curator sent the terms of study ", terms->study,
                              " where those of ", study, " were asked for"));
}

Status Admit(const OfferMessage& offer, std::string_view curator, const Terms& terms,
             const Fingerprint& fingerprint, Trust& trust) {
  std::optional<SignedManifest> manifest;
  if (offer.manifest.has_value()) {
    StatusOr<SignedManifest> made = MakeSignedManifest(*offer.manifest);
    if (!made.ok()) {
      return DataLossError(StrCat("the manifest of study ", terms.study,
                                  " is bad: ", made.status().message(),
                                  "; do not answer, and tell the curator"));
    }
    manifest = *std::move(made);
  }
  return OfCurator(trust.Admit(curator, terms.study, fingerprint, &terms, manifest, ReadManifest));
}

StatusOr<Ticket> OpenTicket(const OfferMessage& offer) {
  if (offer.tickets.size() == 1) return Ticket::FromBytes(offer.tickets[0]);
  return DataLossError(
      StrCat("the curator sent ", offer.tickets.size(), " tickets where 1 was asked for"));
}

StatusOr<TreesByIndex> OpenTree(const OfferMessage& offer, const Terms& terms,
                                const Ticket& ticket) {
  const uint32_t number = TreeOfTicket(ticket, terms.trees);
  StatusOr<Tree> tree = ReadProvenTree(terms, number, offer.tree, offer.tree_path);
  if (!tree.ok()) return OfCurator(tree.status());
  TreesByIndex trees;
  trees.emplace(number, *std::move(tree));
  return trees;
}

// Fields 11 to 14 of a manifest.
struct SealingMessage {
  uint32_t suite = 0;
  std::string_view key;
  uint64_t min_batch = 0;
  uint32_t payload_bytes = 0;

  void ReadField(const MessageReader& field) {
    if (field.field() == 11) field.Read(suite);
    if (field.field() == 12) field.ReadBytes(key);
    if (field.field() == 13) field.Read(min_batch);
    if (field.field() == 14) field.Read(payload_bytes);
  }

  // Nothing if there is none of the fields.
  StatusOr<std::optional<ManifestSealing>> Make() const {
    if (suite == 0 && key.empty() && min_batch == 0 && payload_bytes == 0) return std::nullopt;
    if (suite > std::numeric_limits<uint16_t>::max()) {
      return InvalidArgumentError("sealing_suite: is none that this version knows");
    }
    ManifestSealing sealing{.suite = static_cast<uint16_t>(suite),
                            .min_batch = min_batch,
                            .payload_bytes = payload_bytes};
    COPPICE_RETURN_IF_ERROR(CopyExactly("sealing_key", key, sealing.key));
    return sealing;
  }
};

// Fields 15 to 17 of a manifest.
struct DirectMessage {
  uint32_t suite = 0;
  std::string_view key;
  uint32_t report_bytes = 0;

  void ReadField(const MessageReader& field) {
    if (field.field() == 15) field.Read(suite);
    if (field.field() == 16) field.ReadBytes(key);
    if (field.field() == 17) field.Read(report_bytes);
  }

  // Nothing if there is none of the fields.
  StatusOr<std::optional<DirectSealing>> Make() const {
    if (suite == 0 && key.empty() && report_bytes == 0) return std::nullopt;
    if (suite > std::numeric_limits<uint16_t>::max()) {
      return InvalidArgumentError("direct_suite: is none that this version knows");
    }
    DirectSealing direct{.key = {.suite = static_cast<uint16_t>(suite)},
                         .report_bytes = report_bytes};
    COPPICE_RETURN_IF_ERROR(CopyExactly("direct_key", key, direct.key.key));
    return direct;
  }
};

}  // namespace

std::string OfferRequestBytes(std::string_view study, std::string_view submission_token,
                              const std::optional<Sha256Digest>& known_manifest) {
  MessageWriter writer;
  writer.Bytes(1, StrCat("studies/", study));
  writer.Number(2, 1);
  if (known_manifest.has_value()) writer.Bytes(5, AsBytes(*known_manifest));
  writer.Bytes(6, submission_token);
  return writer.Finish();
}

StatusOr<Offer> OpenOffer(std::string_view response, std::string_view curator,
                          std::string_view study, Trust& trust) {
  COPPICE_ASSIGN_OR_RETURN(const OfferMessage message, ReadOffer(response));
  COPPICE_ASSIGN_OR_RETURN(Terms terms, OpenTerms(message, study));
  const Fingerprint fingerprint = FingerprintOf(message.terms);
  COPPICE_RETURN_IF_ERROR(Admit(message, curator, terms, fingerprint, trust));
  COPPICE_ASSIGN_OR_RETURN(const Ticket ticket, OpenTicket(message));
  COPPICE_ASSIGN_OR_RETURN(TreesByIndex trees, OpenTree(message, terms, ticket));
  return Offer{std::move(terms), fingerprint, {ticket}, std::move(trees)};
}

StatusOr<Terms> ReadTerms(std::string_view bytes) {
  std::string study;
  SchemaMessage schema_message;
  uint32_t trees = 0;
  uint64_t epsilon_nanos = 0;
  int32_t mechanism_number = 0;
  std::string_view forest_root;
  std::optional<NumberRange> rounding;
  std::string joined_by;
  const auto read_rounding = [&](MessageReader& field) {
    NumberRange range = rounding.value_or(NumberRange());
    const bool is_message = field.ReadMessage([&](MessageReader& inner) {
      if (inner.field() == 1) inner.Read(range.low);
      if (inner.field() == 2) inner.Read(range.high);
    });
    if (is_message) rounding = range;
  };
  MessageReader field(bytes);
  while (field.Next()) {
    if (field.field() == 1) field.ReadText(study);
    if (field.field() == 2) ReadSchemaMessage(field, schema_message);
    if (field.field() == 3) field.Read(trees);
    if (field.field() == 4) field.Read(epsilon_nanos);
    if (field.field() == 5) field.Read(mechanism_number);
    if (field.field() == 6) field.ReadBytes(forest_root);
    if (field.field() == 7) read_rounding(field);
    if (field.field() == 8) field.ReadText(joined_by);
  }
  if (field.failed()) return NoMessage("terms");
  COPPICE_ASSIGN_OR_RETURN(Schema schema, MakeSchema(std::move(schema_message)));
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind mechanism, MakeMechanismKind(mechanism_number));
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::FromNanos(epsilon_nanos));
  Terms terms{.study = std::move(study),
              .schema = std::make_shared<const Schema>(std::move(schema)),
              .trees = trees,
              .epsilon = epsilon,
              .mechanism = mechanism,
              .rounding = rounding,
              .joined_by = std::move(joined_by)};
  COPPICE_RETURN_IF_ERROR(CopyExactly("forest_root", forest_root, terms.forest_root));
  COPPICE_RETURN_IF_ERROR(ValidateTerms(terms));
  return terms;
}

StatusOr<Tree> ReadTree(std::string_view bytes, const Terms& terms) {
  PreorderTree preorder;
  MessageReader field(bytes);
  while (field.Next()) ReadTreeField(field, preorder);
  if (field.failed()) return NoMessage("tree");
  COPPICE_ASSIGN_OR_RETURN(Tree tree, MakeTree(preorder, *terms.schema));
  COPPICE_RETURN_IF_ERROR(ValidateTree(terms, tree));
  return tree;
}

StatusOr<Tree> ReadProvenTree(const Terms& terms, uint32_t number, std::string_view bytes,
                              std::string_view path) {
  if (!VerifyMerklePath(bytes, number, terms.trees, path, terms.forest_root)) {
    return DataLossError(StrCat("what was sent is not tree ", number, " of the ", terms.trees,
                                " that the terms of study ", terms.study, " stand for"));
  }
  return ReadTree(bytes, terms);
}

StatusOr<Manifest> ReadManifest(std::string_view bytes) {
  if (bytes.size() > kMaxManifestBytes) return NoMessage("manifest");
  std::string study;
  std::string_view fingerprint;
  uint64_t epsilon_nanos = 0;
  int32_t mechanism_number = 0;
  int64_t expires = 0;
  uint64_t min_reports = 0;
  uint64_t sequence = 0;
  int64_t issued = 0;
  std::string_view key;
  uint32_t public_features = 0;
  SealingMessage sealing;
  DirectMessage direct;
  MessageReader field(bytes);
  while (field.Next()) {
    if (field.field() == 1) field.ReadText(study);
    if (field.field() == 2) field.ReadBytes(fingerprint);
    if (field.field() == 3) field.Read(epsilon_nanos);
    if (field.field() == 4) field.Read(mechanism_number);
    if (field.field() == 5) field.Read(expires);
    if (field.field() == 6) field.Read(min_reports);
    if (field.field() == 7) field.Read(sequence);
    if (field.field() == 8) field.Read(issued);
    if (field.field() == 9) field.ReadBytes(key);
    if (field.field() == 10) field.Read(public_features);
    sealing.ReadField(field);
    direct.ReadField(field);
  }
  if (field.failed()) return NoMessage("manifest");
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind mechanism, MakeMechanismKind(mechanism_number));
  COPPICE_ASSIGN_OR_RETURN(const Budget epsilon, Budget::FromNanos(epsilon_nanos));
  Manifest manifest{.study = std::move(study),
                    .epsilon = epsilon,
                    .mechanism = mechanism,
                    .expires_unix_seconds = expires,
                    .min_reports = min_reports,
                    .sequence = sequence,
                    .issued_unix_seconds = issued,
                    .public_features = public_features};
  COPPICE_RETURN_IF_ERROR(CopyExactly("fingerprint", fingerprint, manifest.fingerprint));
  COPPICE_RETURN_IF_ERROR(CopyExactly("key_id", key, manifest.key));
  COPPICE_ASSIGN_OR_RETURN(manifest.sealing, sealing.Make());
  COPPICE_ASSIGN_OR_RETURN(manifest.direct, direct.Make());
  COPPICE_RETURN_IF_ERROR(ValidateManifest(manifest));
  // What is signed is understood in full: no unknown field, none twice, none out of order.
  if (ManifestBytes(manifest) != bytes) {
    return InvalidArgumentError("manifest: has fields that this version does not know");
  }
  return manifest;
}

}  // namespace coppice
