// A device that answers one study once:
//
//   coppice_device_example HOST:PORT CA_FILE STUDY JOURNAL CLASS FIELD...
//
// The row never leaves this program. What does is one report, randomized before it is written to
// the journal and sent; running the program again sends the same bytes.

#include <iostream>

#include "client/collector.h"
#include "client/responder.h"
#include "common/base/status_macros.h"
#include "common/privacy/openssl_random.h"

namespace {

using namespace coppice;  // NOLINT: an example reads better without prefixes.

absl::StatusOr<Row> EncodeRow(const Schema& schema, absl::Span<char*> fields) {
  if (fields.size() != schema.num_features()) {
    return absl::InvalidArgumentError("give one field a feature of the study's schema");
  }
  Row row;
  for (size_t i = 0; i < fields.size(); ++i) {
    COPPICE_ASSIGN_OR_RETURN(const EncodedField field, schema.Encode(i, fields[i]));
    row.push_back(field.value);
  }
  return row;
}

absl::Status AnswerOnce(absl::Span<char*> arguments) {
  const ConnectOptions connect{.server = arguments[0], .ca_file = arguments[1]};
  COPPICE_ASSIGN_OR_RETURN(const Collector collector, Collector::Create(connect, RetryOptions()));
  COPPICE_ASSIGN_OR_RETURN(const auto journal, Journal::Open(arguments[3]));
  COPPICE_ASSIGN_OR_RETURN(auto offer, collector.FetchOffer(arguments[2]));
  COPPICE_ASSIGN_OR_RETURN(const auto privatizer,
                           Privatizer::Create(offer.terms, offer.fingerprint, offer.trees));

  COPPICE_ASSIGN_OR_RETURN(const Budget limit, Budget::FromEpsilon(4));
  const Policy policy{.max_epsilon = limit, .max_total_epsilon = {}};
  COPPICE_ASSIGN_OR_RETURN(Row row, EncodeRow(*offer.terms.schema, arguments.subspan(5)));
  COPPICE_ASSIGN_OR_RETURN(const uint32_t label, offer.terms.schema->ClassOf(arguments[4]));

  OpenSslRandom random;
  const Answer answer{"this device", std::move(row), label, offer.tickets[0]};
  COPPICE_ASSIGN_OR_RETURN(const auto reports,
                           Responder(policy, *journal).Respond(privatizer, {answer}, random));
  COPPICE_ASSIGN_OR_RETURN(const auto results, collector.Deliver(reports));
  std::cout << (results[0].delivery == Delivery::kRefused ? results[0].reason : "delivered")
            << '\n';
  return journal->MarkDelivered(offer.terms.study, {answer.subject});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::cerr << "usage: " << argv[0] << " HOST:PORT CA_FILE STUDY JOURNAL CLASS FIELD...\n";
    return 2;
  }
  const absl::Status status = AnswerOnce(absl::MakeSpan(argv + 1, argv + argc));
  if (!status.ok()) std::cerr << status.message() << '\n';
  return status.ok() ? 0 : 1;
}
