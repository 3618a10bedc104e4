#include "common/wire/proto/relay_promise.h"

#include <algorithm>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/field_error.h"
#include "coppice/v1/batch.pb.h"
#include "coppice/v1/relay.pb.h"

namespace coppice {
namespace {

template <typename Bytes>
Status ReadExactly(std::string_view field, std::string_view from, Bytes& to) {
  if (from.size() != to.size()) {
    return FieldError(field, StrCat("must have ", to.size(), " bytes, has ", from.size()));
  }
  std::copy(from.begin(), from.end(), to.begin());
  return OkStatus();
}

template <typename Bytes>
std::string AsString(const Bytes& bytes) {
  return {bytes.begin(), bytes.end()};
}

template <typename Message>
StatusOr<Message> ParseMessage(std::string_view field, std::string_view bytes) {
  if (bytes.size() > kMaxRelayPromiseBytes) {
    return FieldError(
        field, StrCat("must have at most ", kMaxRelayPromiseBytes, " bytes, has ", bytes.size()));
  }
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return FieldError(field, "is not such a message");
  }
  return message;
}

StatusOr<RelayTerms> ReadRelayTerms(const v1::RelayTerms& proto) {
  RelayTerms terms{.study = proto.study(),
                   .min_batch = proto.min_batch(),
                   .tickets = proto.tickets(),
                   .deal_until_unix_seconds = proto.deal_until_unix_seconds(),
                   .freeze_at_unix_seconds = proto.freeze_at_unix_seconds(),
                   .offer_bytes = proto.offer_bytes()};
  COPPICE_RETURN_IF_ERROR(ReadExactly("fingerprint", proto.fingerprint(), terms.fingerprint));
  COPPICE_RETURN_IF_ERROR(ReadExactly("sealing_key_id", proto.sealing_key_id(), terms.sealing_key));
  COPPICE_RETURN_IF_ERROR(ReadExactly("epoch", proto.epoch(), terms.epoch));
  COPPICE_RETURN_IF_ERROR(ReadExactly("relay_key_id", proto.relay_key_id(), terms.relay_key));
  COPPICE_RETURN_IF_ERROR(ValidateRelayTerms(terms));
  return terms;
}

StatusOr<BatchHeader> ReadBatchHeader(const v1::BatchHeader& proto) {
  BatchHeader header{
      .study = proto.study(), .reports = proto.reports(), .min_batch = proto.min_batch()};
  COPPICE_RETURN_IF_ERROR(ReadExactly("fingerprint", proto.fingerprint(), header.fingerprint));
  COPPICE_RETURN_IF_ERROR(
      ReadExactly("sealing_key_id", proto.sealing_key_id(), header.sealing_key));
  COPPICE_RETURN_IF_ERROR(ReadExactly("epoch", proto.epoch(), header.epoch));
  COPPICE_RETURN_IF_ERROR(ReadExactly("root", proto.root(), header.root));
  COPPICE_RETURN_IF_ERROR(ReadExactly("relay_key_id", proto.relay_key_id(), header.relay_key));
  COPPICE_RETURN_IF_ERROR(ValidateBatchHeader(header));
  return header;
}

}  // namespace

std::string SerializeRelayTerms(const RelayTerms& terms) {
  v1::RelayTerms proto;
  proto.set_study(terms.study);
  proto.set_fingerprint(AsString(terms.fingerprint));
  proto.set_sealing_key_id(AsString(terms.sealing_key));
  proto.set_epoch(AsString(terms.epoch));
  proto.set_min_batch(terms.min_batch);
  proto.set_tickets(terms.tickets);
  proto.set_deal_until_unix_seconds(terms.deal_until_unix_seconds);
  proto.set_freeze_at_unix_seconds(terms.freeze_at_unix_seconds);
  proto.set_relay_key_id(AsString(terms.relay_key));
  proto.set_offer_bytes(terms.offer_bytes);
  return proto.SerializeAsString();
}

StatusOr<RelayTerms> ParseRelayTerms(std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const v1::RelayTerms proto,
                           ParseMessage<v1::RelayTerms>("relay_terms", bytes));
  StatusOr<RelayTerms> terms = ReadRelayTerms(proto);
  if (!terms.ok()) return InField("relay_terms", terms.status());
  if (SerializeRelayTerms(*terms) != bytes) {
    return FieldError("relay_terms", "has fields that this version does not know");
  }
  return terms;
}

std::string SerializeBatchHeader(const BatchHeader& header) {
  v1::BatchHeader proto;
  proto.set_study(header.study);
  proto.set_fingerprint(AsString(header.fingerprint));
  proto.set_sealing_key_id(AsString(header.sealing_key));
  proto.set_epoch(AsString(header.epoch));
  proto.set_reports(header.reports);
  proto.set_min_batch(header.min_batch);
  proto.set_root(AsString(header.root));
  proto.set_relay_key_id(AsString(header.relay_key));
  return proto.SerializeAsString();
}

StatusOr<BatchHeader> ParseBatchHeader(std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const v1::BatchHeader proto,
                           ParseMessage<v1::BatchHeader>("header", bytes));
  StatusOr<BatchHeader> header = ReadBatchHeader(proto);
  if (!header.ok()) return InField("header", header.status());
  if (SerializeBatchHeader(*header) != bytes) {
    return FieldError("header", "has fields that this version does not know");
  }
  return header;
}

}  // namespace coppice
