// A device that answers one study once:
//
//   coppice_device_example [--curator-key FILE] HOST:PORT CA_FILE STUDY JOURNAL CLASS FIELD...
//
// The offer must be signed by the key in FILE (`coppice study key --pem` prints it), or else by the
// one that the journal remembers of the first offer.
// The row never leaves this program. What does is one report, randomized before it is written to
// the journal and sent; running the program again sends the same bytes.

#include <iostream>

#include "client/collector.h"
#include "client/responder.h"
#include "client/trust.h"
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

absl::Status AnswerOnce(const OfferPolicy& offer_policy, absl::Span<char*> arguments) {
  const ConnectOptions connect{.server = arguments[0], .ca_file = arguments[1]};
  COPPICE_ASSIGN_OR_RETURN(const auto journal, Journal::Open(arguments[3]));
  Trust trust(offer_policy, *journal);
  COPPICE_ASSIGN_OR_RETURN(const Collector collector,
                           Collector::Create(connect, RetryOptions(), &trust));
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

absl::Status Main(absl::Span<char*> arguments) {
  OfferPolicy offer_policy;
  if (arguments[0] == std::string("--curator-key")) {
    COPPICE_ASSIGN_OR_RETURN(offer_policy.curator_key, ReadCuratorKey(arguments[1]));
    arguments.remove_prefix(2);
  }
  if (arguments.size() < 6) return absl::InvalidArgumentError("too few arguments");
  return AnswerOnce(offer_policy, arguments);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) {
    std::cerr << "usage: " << argv[0]
              << " [--curator-key FILE] HOST:PORT CA_FILE STUDY JOURNAL CLASS FIELD...\n";
    return 2;
  }
  const absl::Status status = Main(absl::MakeSpan(argv + 1, argv + argc));
  if (!status.ok()) std::cerr << status.message() << '\n';
  return status.ok() ? 0 : 1;
}
