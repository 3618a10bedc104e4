// The tables of the messages that devices and exports read and write without protobuf: here a
// message is read. fields.h explains the lines; proto/coppice/v1 says what the fields mean.
//
// Structs named ...Message hold what was read, unchecked; the others are values that a table fits
// as they are. The functions beside this file make checked values of them (terms.h, model.h, ...).
// Everything that comes is hostile until then.

#ifndef COPPICE_COMMON_WIRE_MESSAGES_H_
#define COPPICE_COMMON_WIRE_MESSAGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/certificate.h"
#include "common/model/model.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "common/terms/key_chain.h"
#include "common/terms/manifest.h"
#include "common/terms/merkle.h"
#include "common/terms/relay_promise.h"
#include "common/terms/terms.h"
#include "common/wire/fields.h"

namespace coppice {

// Reports, and their outcomes, in one request.
inline constexpr size_t kMaxReportsPerRequest = 1000;
// What a model may say about itself: far more than any trainer makes.
inline constexpr size_t kMaxReleases = 65'536;
inline constexpr size_t kMaxDerivedFeatures = 1024;

// Schemas.

struct NumericMessage {
  double min = 0;
  double max = 0;
  std::string unit{};
  bool integer = false;
};
template <typename Fields>
void ListFields(Fields& fields, NumericMessage& type) {
  fields.Of("coppice.v1.NumericType");
  fields.Number(1, "min", type.min);
  fields.Number(2, "max", type.max);
  fields.Text(3, "unit", type.unit);
  fields.Number(4, "integer", type.integer);
}

struct CategoricalMessage {
  std::vector<std::string> values{};
};
template <typename Fields>
void ListFields(Fields& fields, CategoricalMessage& type) {
  fields.Of("coppice.v1.CategoricalType");
  fields.Each(1, "values", {.most = kMaxTextElements}, type.values);
}

struct FeatureMessage {
  std::string name{};
  std::optional<NumericMessage> numeric{};  // one of these two
  std::optional<CategoricalMessage> categorical{};
  bool is_public = false;
  bool from_private_rows = false;
};
template <typename Fields>
void ListFields(Fields& fields, FeatureMessage& feature) {
  fields.Of("coppice.v1.Feature");
  fields.Text(1, "name", feature.name);
  fields.Message(2, "numeric", feature.numeric);
  fields.Message(3, "categorical", feature.categorical);
  fields.Number(4, "is_public", feature.is_public);
  fields.Number(5, "from_private_rows", feature.from_private_rows);
}

struct SchemaMessage {
  std::vector<FeatureMessage> features{};
  std::string label{};
  std::vector<std::string> classes{};
  std::optional<NumericMessage> target{};
  bool answers_from_private_rows = false;
};
template <typename Fields>
void ListFields(Fields& fields, SchemaMessage& schema) {
  fields.Of("coppice.v1.Schema");
  fields.Each(1, "features", {.most = kMaxFeatures}, schema.features);
  fields.Text(2, "label", schema.label);
  fields.Each(3, "classes", {.most = kMaxClasses}, schema.classes);
  fields.Message(4, "target", schema.target);
  fields.Number(5, "answers_from_private_rows", schema.answers_from_private_rows);
}

// Trees: columns in preorder, a node, then its left subtree, then its right one. What only some
// nodes have is a column of its own, in the order of these nodes.

struct TreeMessage {
  std::vector<uint8_t> kinds{};        // of every node, by coppice.v1.SplitKind
  std::vector<uint32_t> features{};    // of splits
  std::vector<double> thresholds{};    // of numeric splits
  std::vector<uint32_t> categories{};  // of category splits
  std::vector<bool> missing_left{};    // of numeric and category splits
  std::vector<double> centres{};       // of leaves, or none
  double half_range = 0;
};
template <typename Fields>
void ListFields(Fields& fields, TreeMessage& tree) {
  fields.Of("coppice.v1.Tree");
  fields.Each(1, "kinds", {.most = kMaxNodes}, tree.kinds);
  fields.Each(2, "features", {.most = kMaxNodes}, tree.features);
  fields.Each(3, "thresholds", {.most = kMaxNodes}, tree.thresholds);
  fields.Each(4, "categories", {.most = kMaxNodes}, tree.categories);
  fields.Each(5, "missing_left", {.most = kMaxNodes}, tree.missing_left);
  fields.Each(6, "centres", {.most = kMaxNodes}, tree.centres);
  fields.Number(7, "half_range", tree.half_range);
}

struct ForestMessage {
  std::vector<TreeMessage> trees{};
};
template <typename Fields>
void ListFields(Fields& fields, ForestMessage& forest) {
  fields.Of("coppice.v1.Forest");
  fields.Each(1, "trees", {.most = kMaxTrees}, forest.trees);
}

// Terms and manifests.

template <typename Fields>
void ListFields(Fields& fields, NumberRange& range) {
  fields.Of("coppice.v1.NumberRange");
  fields.Number(1, "low", range.low);
  fields.Number(2, "high", range.high);
}

template <typename Fields>
void ListFields(Fields& fields, Window& window) {
  fields.Of("coppice.v1.Window");
  fields.Number(1, "reach", window.reach);
  fields.Number(2, "half_width", window.half_width);
}

struct TermsMessage {
  std::string study{};
  SchemaMessage schema{};
  uint32_t trees = 0;
  uint64_t epsilon_nanos = 0;
  int32_t mechanism = 0;
  Sha256Digest forest_root{};
  std::optional<NumberRange> rounding{};
  std::string joined_by{};
  std::optional<Window> window{};
};
template <typename Fields>
void ListFields(Fields& fields, TermsMessage& terms) {
  fields.Of("coppice.v1.Terms");
  fields.Text(1, "study", terms.study);
  fields.Message(2, "schema", terms.schema);
  fields.Number(3, "trees", terms.trees);
  fields.Number(4, "epsilon_nanos", terms.epsilon_nanos);
  fields.Number(5, "mechanism", terms.mechanism);
  fields.Exactly(6, "forest_root", terms.forest_root);
  fields.Message(7, "rounding", terms.rounding);
  fields.Text(8, "joined_by", terms.joined_by);
  fields.Message(9, "window", terms.window);
}

struct ManifestMessage {
  std::string study{};
  Fingerprint fingerprint{};
  uint64_t epsilon_nanos = 0;
  int32_t mechanism = 0;
  int64_t expires_unix_seconds = 0;
  uint64_t min_reports = 0;
  uint64_t sequence = 0;
  int64_t issued_unix_seconds = 0;
  KeyId key_id{};
  uint32_t public_features = 0;
  uint32_t sealing_suite = 0;
  std::string_view sealing_key{};
  uint64_t min_batch = 0;
  uint32_t sealed_payload_bytes = 0;
  uint32_t direct_suite = 0;
  std::string_view direct_key{};
  uint32_t report_bytes = 0;
};
template <typename Fields>
void ListFields(Fields& fields, ManifestMessage& manifest) {
  fields.Of("coppice.v1.Manifest");
  fields.Text(1, "study", manifest.study);
  fields.Exactly(2, "fingerprint", manifest.fingerprint);
  fields.Number(3, "epsilon_nanos", manifest.epsilon_nanos);
  fields.Number(4, "mechanism", manifest.mechanism);
  fields.Number(5, "expires_unix_seconds", manifest.expires_unix_seconds);
  fields.Number(6, "min_reports", manifest.min_reports);
  fields.Number(7, "sequence", manifest.sequence);
  fields.Number(8, "issued_unix_seconds", manifest.issued_unix_seconds);
  fields.Exactly(9, "key_id", manifest.key_id);
  fields.Number(10, "public_features", manifest.public_features);
  fields.Number(11, "sealing_suite", manifest.sealing_suite);
  fields.Bytes(12, "sealing_key", manifest.sealing_key);
  fields.Number(13, "min_batch", manifest.min_batch);
  fields.Number(14, "sealed_payload_bytes", manifest.sealed_payload_bytes);
  fields.Number(15, "direct_suite", manifest.direct_suite);
  fields.Bytes(16, "direct_key", manifest.direct_key);
  fields.Number(17, "report_bytes", manifest.report_bytes);
}

template <typename Fields>
void ListFields(Fields& fields, KeyEndorsement& endorsement) {
  fields.Of("coppice.v1.KeyEndorsement");
  fields.Exactly(1, "endorser_id", endorsement.endorser);
  fields.Exactly(2, "key", endorsement.key);
  fields.Number(3, "not_before_unix_seconds", endorsement.not_before_unix_seconds);
  fields.Exactly(4, "signature", endorsement.signature);
}

template <typename Fields>
void ListFields(Fields& fields, SignedManifest& manifest) {
  fields.Of("coppice.v1.SignedManifest");
  fields.Bytes(1, "manifest", manifest.bytes);
  fields.Exactly(2, "signature", manifest.signature);
  fields.Exactly(3, "key", manifest.key);
  fields.Each(4, "endorsements", {.most = kMaxEndorsements}, manifest.endorsements);
}

struct ClosingMessage {
  std::string study{};
  int32_t reason = 0;
  KeyId key_id{};
};
template <typename Fields>
void ListFields(Fields& fields, ClosingMessage& closing) {
  fields.Of("coppice.v1.Closing");
  fields.Text(1, "study", closing.study);
  fields.Number(2, "reason", closing.reason);
  fields.Exactly(3, "key_id", closing.key_id);
}

template <typename Fields>
void ListFields(Fields& fields, SignedClosing& closing) {
  fields.Of("coppice.v1.SignedClosing");
  fields.Bytes(1, "closing", closing.bytes);
  fields.Exactly(2, "signature", closing.signature);
  fields.Exactly(3, "key", closing.key);
  fields.Each(4, "endorsements", {.most = kMaxEndorsements}, closing.endorsements);
}

// Offers of a curator, and the proof that it is the curator.

struct OfferRequestMessage {
  std::string name{};
  uint32_t tickets = 0;
  std::string_view known_fingerprint{};  // the curator may then leave the terms out
  bool whole_forest = false;
  std::string_view known_manifest{};  // likewise the manifest
  std::vector<std::string_view> submission_tokens{};
};
template <typename Fields>
void ListFields(Fields& fields, OfferRequestMessage& request) {
  fields.Of("coppice.v1.GetOfferRequest");
  fields.Text(1, "name", request.name);
  fields.Number(2, "tickets", request.tickets);
  fields.Bytes(3, "known_fingerprint", request.known_fingerprint);
  fields.Number(4, "whole_forest", request.whole_forest);
  fields.Bytes(5, "known_manifest", request.known_manifest);
  fields.Each(6, "submission_tokens", {.most = kMaxReportsPerRequest}, request.submission_tokens);
}

struct OfferMessage {
  std::string_view terms{};
  std::string_view fingerprint{};
  std::vector<std::string_view> tickets{};
  std::string_view tree{};
  std::string_view tree_path{};
  std::vector<std::string_view> forest{};
  std::optional<SignedManifest> manifest{};
};
template <typename Fields>
void ListFields(Fields& fields, OfferMessage& offer) {
  fields.Of("coppice.v1.GetOfferResponse");
  fields.Bytes(1, "terms", offer.terms);
  fields.Bytes(2, "fingerprint", offer.fingerprint);
  fields.Each(3, "tickets", {.most = kMaxReportsPerRequest}, offer.tickets);
  fields.Bytes(4, "tree", offer.tree);
  fields.Bytes(5, "tree_path", offer.tree_path);
  fields.Each(6, "forest", {.most = kMaxTrees}, offer.forest);
  fields.Message(7, "manifest", offer.manifest);
}

struct ProofRequestMessage {
  std::string_view challenge{};
};
template <typename Fields>
void ListFields(Fields& fields, ProofRequestMessage& request) {
  fields.Of("coppice.v1.GetCuratorKeysRequest");
  fields.Bytes(1, "challenge", request.challenge);
}

struct ProofMessage {
  PublicKey key{};
  KeyChain endorsements{};  // which lead to the key; not verified
  std::string_view proof{};
  uint32_t direct_suite = 0;
  std::array<uint8_t, 32> direct_key{};
};
template <typename Fields>
void ListFields(Fields& fields, ProofMessage& proof) {
  fields.Of("coppice.v1.GetCuratorKeysResponse");
  fields.Exactly(1, "key", proof.key);
  fields.Each(2, "endorsements", {.most = kMaxEndorsements}, proof.endorsements);
  fields.Bytes(3, "proof", proof.proof);
  fields.Number(4, "direct_suite", proof.direct_suite);
  fields.Exactly(5, "direct_key", proof.direct_key);
}

// Reports.

struct ReportView {
  std::string_view ticket{};
  std::string_view payload{};
  std::string_view public_values{};
};
template <typename Fields>
void ListFields(Fields& fields, ReportView& report) {
  fields.Of("coppice.v1.Report");
  fields.Bytes(1, "ticket", report.ticket);
  fields.Bytes(2, "payload", report.payload);
  fields.Bytes(3, "public_values", report.public_values);
}

// What a message of reports seals.
struct ReportsMessage {
  std::string_view study{};
  std::string_view fingerprint{};
  std::vector<ReportView> reports{};
};
template <typename Fields>
void ListFields(Fields& fields, ReportsMessage& reports) {
  fields.Of("coppice.v1.SealedReports");
  fields.Text(1, "study", reports.study);
  fields.Bytes(2, "fingerprint", reports.fingerprint);
  fields.Each(3, "reports", {.most = kMaxReportsPerRequest}, reports.reports);
}

// SubmitReportsRequest, and StreamReportsRequest, which has the same fields.
struct SubmitMessage {
  std::array<uint8_t, 16> key_id{};
  std::array<uint8_t, 32> encapsulated{};
  std::string_view ciphertext{};
};
template <typename Fields>
void ListFields(Fields& fields, SubmitMessage& request) {
  fields.Of("coppice.v1.SubmitReportsRequest");
  fields.Exactly(1, "key_id", request.key_id);
  fields.Exactly(2, "encapsulated", request.encapsulated);
  fields.Bytes(3, "ciphertext", request.ciphertext);
}

// SubmitReportsResponse, and StreamReportsResponse.
struct OutcomesMessage {
  std::string_view sealed_outcomes{};
};
template <typename Fields>
void ListFields(Fields& fields, OutcomesMessage& response) {
  fields.Of("coppice.v1.SubmitReportsResponse");
  fields.Bytes(1, "sealed_outcomes", response.sealed_outcomes);
}

// Relays.

template <typename Fields>
void ListFields(Fields& fields, RelayTerms& terms) {
  fields.Of("coppice.v1.RelayTerms");
  fields.Text(1, "study", terms.study);
  fields.Exactly(2, "fingerprint", terms.fingerprint);
  fields.Exactly(3, "sealing_key_id", terms.sealing_key);
  fields.Exactly(4, "epoch", terms.epoch);
  fields.Number(5, "min_batch", terms.min_batch);
  fields.Number(6, "tickets", terms.tickets);
  fields.Number(7, "deal_until_unix_seconds", terms.deal_until_unix_seconds);
  fields.Number(8, "freeze_at_unix_seconds", terms.freeze_at_unix_seconds);
  fields.Exactly(9, "relay_key_id", terms.relay_key);
  fields.Number(10, "offer_bytes", terms.offer_bytes);
}

template <typename Fields>
void ListFields(Fields& fields, BatchHeader& header) {
  fields.Of("coppice.v1.BatchHeader");
  fields.Text(1, "study", header.study);
  fields.Exactly(2, "fingerprint", header.fingerprint);
  fields.Exactly(3, "sealing_key_id", header.sealing_key);
  fields.Exactly(4, "epoch", header.epoch);
  fields.Number(5, "reports", header.reports);
  fields.Number(6, "min_batch", header.min_batch);
  fields.Exactly(7, "root", header.root);
  fields.Exactly(8, "relay_key_id", header.relay_key);
}

struct RelayTermsRequestMessage {
  std::string study{};
};
template <typename Fields>
void ListFields(Fields& fields, RelayTermsRequestMessage& request) {
  fields.Of("coppice.v1.GetRelayTermsRequest");
  fields.Text(1, "study", request.study);
}

// What a relay sends about a deal.
struct DealMessage {
  std::string_view relay_terms{};  // what the relay signs, after kRelayDomain
  Signature signature{};
  std::string_view terms{};  // the study's
  std::optional<SignedManifest> manifest{};
};
template <typename Fields>
void ListFields(Fields& fields, DealMessage& deal) {
  fields.Of("coppice.v1.GetRelayTermsResponse");
  fields.Bytes(1, "relay_terms", deal.relay_terms);
  fields.Exactly(2, "signature", deal.signature);
  fields.Bytes(3, "terms", deal.terms);
  fields.Message(4, "manifest", deal.manifest);
}

struct TakeOfferMessage {
  std::string study{};
  EpochId epoch{};
};
template <typename Fields>
void ListFields(Fields& fields, TakeOfferMessage& request) {
  fields.Of("coppice.v1.TakeOfferRequest");
  fields.Text(1, "study", request.study);
  fields.Exactly(2, "epoch", request.epoch);
}

struct EnvelopeMessage {
  std::string_view envelope{};
};
template <typename Fields>
void ListFields(Fields& fields, EnvelopeMessage& response) {
  fields.Of("coppice.v1.TakeOfferResponse");
  fields.Bytes(1, "envelope", response.envelope);
}

// What an envelope holds.
struct RelayedOfferMessage {
  std::string_view ticket{};
  std::string_view claim{};
  std::string_view tree{};
  std::string_view tree_path{};
};
template <typename Fields>
void ListFields(Fields& fields, RelayedOfferMessage& offer) {
  fields.Of("coppice.v1.RelayedOffer");
  fields.Bytes(1, "ticket", offer.ticket);
  fields.Bytes(2, "claim", offer.claim);
  fields.Bytes(3, "tree", offer.tree);
  fields.Bytes(4, "tree_path", offer.tree_path);
}

struct SealedReportMessage {
  EpochId epoch{};
  std::string_view ticket{};
  std::array<uint8_t, 16> claim{};
  std::array<uint8_t, 32> encapsulated{};
  std::string_view ciphertext{};
};
template <typename Fields>
void ListFields(Fields& fields, SealedReportMessage& request) {
  fields.Of("coppice.v1.SubmitSealedReportRequest");
  fields.Exactly(1, "epoch", request.epoch);
  fields.Bytes(2, "ticket", request.ticket);
  fields.Exactly(3, "claim", request.claim);
  fields.Exactly(4, "encapsulated", request.encapsulated);
  fields.Bytes(5, "ciphertext", request.ciphertext);
}

struct SealedOutcomeMessage {
  int32_t outcome = 0;
};
template <typename Fields>
void ListFields(Fields& fields, SealedOutcomeMessage& response) {
  fields.Of("coppice.v1.SubmitSealedReportResponse");
  fields.Number(1, "outcome", response.outcome);
}

// Models.

template <typename Fields>
void ListFields(Fields& fields, Release& release) {
  fields.Of("coppice.v1.Release");
  fields.Text(1, "what", release.what);
  fields.Text(2, "mechanism", release.mechanism);
  fields.Number(3, "epsilon_nanos", release.epsilon_nanos);
  fields.Number(4, "times", release.times);
  fields.Text(5, "part", release.part);
  fields.Number(6, "delta_atto", release.delta_atto);
  fields.Number(7, "rho_pico", release.rho_pico);
}

template <typename Fields>
void ListFields(Fields& fields, ReadersBound& bound) {
  fields.Of("coppice.v1.ReadersBound");
  fields.Number(1, "epsilon_nanos", bound.epsilon_nanos);
  fields.Number(2, "delta_atto", bound.delta_atto);
  fields.Number(3, "honest_reports", bound.honest_reports);
  fields.Number(4, "dishonest_millionths", bound.dishonest_millionths);
}

template <typename Fields>
void ListFields(Fields& fields, RelayBound& bound) {
  fields.Of("coppice.v1.RelayBound");
  fields.Number(1, "epsilon_nanos", bound.epsilon_nanos);
  fields.Number(2, "delta_atto", bound.delta_atto);
  fields.Number(3, "honest_reports", bound.honest_reports);
  fields.Number(4, "dishonest_millionths", bound.dishonest_millionths);
  fields.Number(5, "batches", bound.batches);
  fields.Number(6, "least_accepted", bound.least_accepted);
  fields.Bytes(7, "relay_key_id", bound.relay_key);
}

template <typename Fields>
void ListFields(Fields& fields, Certificate& certificate) {
  fields.Of("coppice.v1.Certificate");
  fields.Number(1, "epsilon_nanos", certificate.epsilon_nanos);
  fields.Text(2, "mechanism", certificate.mechanism);
  fields.Text(3, "neighbouring", certificate.neighbouring);
  fields.Each(4, "public_inputs", {.most = kMaxReleases}, certificate.public_inputs);
  fields.Text(5, "estimator", certificate.estimator);
  fields.Number(6, "reports", certificate.reports);
  fields.Number(7, "public_rows", certificate.public_rows);
  fields.Text(8, "fingerprint", certificate.fingerprint);
  fields.Text(9, "code_version", certificate.code_version);
  fields.Each(10, "releases", {.most = kMaxReleases}, certificate.releases);
  fields.Text(11, "diagnosis", certificate.diagnosis);
  fields.Number(12, "delta_atto", certificate.delta_atto);
  fields.Message(13, "readers", certificate.readers);
  fields.Message(14, "relay", certificate.relay);
  fields.Text(15, "public_rows_sha256", certificate.public_rows_sha256);
}

// A leaf has a probability for each output, so an empty one, of two bytes, is refused when it is
// read: it would take fifty times that in memory.
struct LeafMessage {
  LeafPrediction leaf{};  // without its noise, which is in these two
  std::vector<double> noise_mean{};
  std::vector<double> noise_variance{};
};
template <typename Fields>
void ListFields(Fields& fields, LeafMessage& message) {
  fields.Of("coppice.v1.LeafPrediction");
  fields.Each(1, "probabilities", {.least = 1, .most = kMaxClasses}, message.leaf.probabilities);
  fields.Number(2, "standard_error", message.leaf.standard_error);
  fields.Number(3, "label", message.leaf.label);
  fields.Number(4, "source_node", message.leaf.source_node);
  fields.Each(5, "noise_mean", {.most = kMaxClasses}, message.noise_mean);
  fields.Each(6, "noise_variance", {.most = kMaxClasses}, message.noise_variance);
  fields.Number(7, "term", message.leaf.term);
}

struct LeavesMessage {
  std::vector<LeafMessage> leaves{};
};
template <typename Fields>
void ListFields(Fields& fields, LeavesMessage& tree) {
  fields.Of("coppice.v1.TreePredictions");
  fields.Each(1, "leaves", {.most = kMaxNodes}, tree.leaves);
}

struct DerivedMessage {
  std::vector<uint32_t> features{};
  std::vector<bool> minus{};
};
template <typename Fields>
void ListFields(Fields& fields, DerivedMessage& derived) {
  fields.Of("coppice.v1.DerivedFeature");
  fields.Each(1, "features", {.most = kMaxFeatures}, derived.features);
  fields.Each(2, "minus", {.most = kMaxFeatures}, derived.minus);
}

template <typename Fields>
void ListFields(Fields& fields, SharedNoise& noise) {
  fields.Of("coppice.v1.SharedNoise");
  fields.Each(1, "trees", {.most = kMaxTrees}, noise.trees);
  fields.Each(2, "factor", {.most = size_t{kMaxTrees} * kMaxTrees}, noise.factor);
}

// A device does not check a model's signature: it trusts the file that it was given.
struct ModelSignatureMessage {
  std::string_view signature{};
  std::string_view key{};
  std::vector<std::string_view> endorsements{};  // not looked into
};
template <typename Fields>
void ListFields(Fields& fields, ModelSignatureMessage& signature) {
  fields.Of("coppice.v1.ModelSignature");
  fields.Bytes(1, "signature", signature.signature);
  fields.Bytes(2, "key", signature.key);
  fields.Each(3, "endorsements", {.most = kMaxEndorsements}, signature.endorsements);
}

struct ModelMessage {
  std::string_view name{};
  std::string_view study{};
  int64_t created_unix_seconds = 0;
  SchemaMessage schema{};
  ForestMessage forest{};
  std::vector<LeavesMessage> predictions{};
  Certificate certificate{};
  int32_t leaf_kind = 0;
  std::string_view job{};
  std::vector<DerivedMessage> derived{};
  SharedNoise shared_noise{};
  uint32_t version = 0;
  uint32_t min_reader = 0;
  ModelSignatureMessage signature{};
};
template <typename Fields>
void ListFields(Fields& fields, ModelMessage& model) {
  fields.Of("coppice.v1.Model");
  fields.Text(1, "name", model.name);
  fields.Text(2, "study", model.study);
  fields.Number(3, "created_unix_seconds", model.created_unix_seconds);
  fields.Message(4, "schema", model.schema);
  fields.Message(5, "forest", model.forest);
  fields.Each(6, "predictions", {.most = kMaxTrees}, model.predictions);
  fields.Message(7, "certificate", model.certificate);
  fields.Number(8, "leaf_kind", model.leaf_kind);
  fields.Text(9, "job", model.job);
  fields.Each(10, "derived", {.most = kMaxDerivedFeatures}, model.derived);
  fields.Message(11, "shared_noise", model.shared_noise);
  fields.Number(12, "version", model.version);
  fields.Number(13, "min_reader", model.min_reader);
  fields.Message(14, "signature", model.signature);
}

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_MESSAGES_H_
