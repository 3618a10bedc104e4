// Messages that a device reads without protobuf: it accepts the same bytes as protobuf and
// common/wire/proto, with the same values, and refuses the rest. The first byte selects the
// message.

#include "client/device/messages/messages.h"

#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "client/device/messages/relay_messages.h"
#include "common/base/status.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "common/wire/proto/relay_promise.h"
#include "coppice/v1/model.pb.h"
#include "coppice/v1/relay.pb.h"
#include "coppice/v1/report.pb.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/schemas.h"

namespace coppice {
namespace {

using testing::Require;

void CompareTerms(std::string_view bytes) {
  const StatusOr<Terms> ours = ReadTerms(bytes);
  const StatusOr<Terms> theirs = ParseTerms(bytes);
  Require(ours.ok() == theirs.ok(), "one reader alone takes these terms");
  if (ours.ok()) {
    Require(SerializeTerms(*ours) == SerializeTerms(*theirs), "terms are read differently");
  }
}

void CompareManifests(std::string_view bytes) {
  const StatusOr<Manifest> ours = ReadManifest(bytes);
  const StatusOr<Manifest> theirs = ParseManifest(bytes);
  Require(ours.ok() == theirs.ok(), "one reader alone takes this manifest");
  if (ours.ok()) Require(*ours == *theirs, "a manifest is read differently");
}

StatusOr<Tree> TreeByProtobuf(std::string_view bytes, const Terms& terms) {
  v1::Tree proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgumentError("no tree");
  }
  StatusOr<Tree> tree = FromProto(proto, *terms.schema);
  if (!tree.ok()) return tree;
  if (const Status valid = ValidateTree(terms, *tree); !valid.ok()) return valid;
  return tree;
}

void CompareTrees(std::string_view bytes) {
  static const Terms terms{
      .study = "s",
      .schema = std::make_shared<const Schema>(
          *Schema::Create({testing::Numeric("x", 0, 10), testing::Categorical("c", {"a", "b"})},
                          "y", {"no", "yes"})),
      .trees = 1,
      .epsilon = *Budget::Parse("1"),
      .mechanism = MechanismKind::kDirect};
  const StatusOr<Tree> ours = ReadTree(bytes, terms);
  const StatusOr<Tree> theirs = TreeByProtobuf(bytes, terms);
  Require(ours.ok() == theirs.ok(), "one reader alone takes this tree");
  if (ours.ok()) Require(*ours == *theirs, "a tree is read differently");
}

StatusOr<Model> ModelByProtobuf(std::string_view bytes) {
  v1::Model proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgumentError("no model");
  }
  return FromProto(proto);
}

void CompareModels(std::string_view bytes) {
  const StatusOr<Model> ours = ReadModel(bytes);
  const StatusOr<Model> theirs = ModelByProtobuf(bytes);
  Require(ours.ok() == theirs.ok(), "one reader alone takes this model");
  if (ours.ok()) {
    Require(ToProto(*ours).SerializeAsString() == ToProto(*theirs).SerializeAsString(),
            "a model is read differently");
  }
}

void CompareOutcomes(std::string_view bytes) {
  v1::SubmitReportsResponse proto;
  const bool parsed = proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const StatusOr<DeliveryResult> ours = ReadDelivery(bytes);
  Require(ours.ok() == (parsed && proto.outcomes_size() == 1), "one reader alone takes an outcome");
  if (!ours.ok()) return;
  const bool accepted = proto.outcomes(0) == v1::REPORT_OUTCOME_ACCEPTED;
  Require((ours->delivery == Delivery::kAccepted) == accepted, "an outcome is read differently");
}

void CompareRelayTerms(std::string_view bytes) {
  const StatusOr<RelayTerms> ours = ReadRelayTerms(bytes);
  const StatusOr<RelayTerms> theirs = ParseRelayTerms(bytes);
  Require(ours.ok() == theirs.ok(), "one reader alone takes these relay's terms");
  if (ours.ok()) Require(*ours == *theirs, "a relay's terms are read differently");
}

void CompareDealOffers(std::string_view bytes) {
  v1::GetRelayTermsResponse proto;
  const bool parsed = proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const StatusOr<SignedManifest> manifest = FromProto(proto.manifest());
  const StatusOr<DealOffer> ours = ReadDealOffer(bytes);
  Require(ours.ok() == (parsed && manifest.ok() && proto.signature().size() == 64),
          "one reader alone takes what a relay says of a deal");
  if (!ours.ok()) return;
  const std::string signature(ours->signature.begin(), ours->signature.end());
  Require(ours->relay_terms == proto.relay_terms() && signature == proto.signature() &&
              ours->terms == proto.terms() &&
              ToProto(ours->manifest).SerializeAsString() == ToProto(*manifest).SerializeAsString(),
          "what a relay says of a deal is read differently");
}

void CompareRelayedOffers(std::string_view bytes) {
  v1::RelayedOffer proto;
  const bool parsed = proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const StatusOr<RelayedOffer> ours = ReadRelayedOffer(bytes);
  Require(ours.ok() == parsed, "one reader alone takes what is in an envelope");
  if (!ours.ok()) return;
  Require(ours->ticket == proto.ticket() && ours->claim == proto.claim() &&
              ours->tree == proto.tree() && ours->tree_path == proto.tree_path(),
          "what is in an envelope is read differently");
}

void CompareRelaysAnswers(std::string_view bytes) {
  v1::SubmitSealedReportResponse submitted;
  const bool parsed = submitted.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const bool known = submitted.outcome() > 0 && v1::SubmitOutcome_IsValid(submitted.outcome());
  const StatusOr<SubmitOutcome> outcome = ReadSubmitOutcome(bytes);
  Require(outcome.ok() == (parsed && known), "one reader alone takes a relay's outcome");
  if (outcome.ok()) {
    Require(static_cast<int>(*outcome) == submitted.outcome() - 1,
            "a relay's outcome is read differently");
  }
  v1::TakeOfferResponse taken;
  const bool is_envelope = taken.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  const StatusOr<std::string_view> envelope = ReadEnvelope(bytes);
  Require(envelope.ok() == is_envelope, "one reader alone takes an envelope");
  if (is_envelope) Require(*envelope == taken.envelope(), "an envelope is read differently");
}

// Made-up messages have no valid signature, so this only checks that nothing breaks.
void ReadTheRest(std::string_view bytes) {
  (void)OpenProof(bytes, std::string(kChallengeBytes, 'c'));
  const auto memory = ManifestMemory::InMemory();
  Trust trust({}, *memory, [] { return int64_t{0}; });
  (void)OpenOffer(bytes, "curator:1", "s", trust);
}

}  // namespace
}  // namespace coppice

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = coppice::testing::AsBytes(data, size);
  if (input.empty()) return 0;
  const auto which = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  using Compare = void (*)(std::string_view);
  static constexpr Compare kCompare[] = {
      coppice::CompareTerms,        coppice::CompareManifests,  coppice::CompareTrees,
      coppice::CompareModels,       coppice::CompareOutcomes,   coppice::ReadTheRest,
      coppice::CompareRelayTerms,   coppice::CompareDealOffers, coppice::CompareRelayedOffers,
      coppice::CompareRelaysAnswers};
  kCompare[which % std::size(kCompare)](input);
  return 0;
}
