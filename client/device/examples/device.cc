// A device that answers one study once:
//
//   coppice_device_example [--curator-key PIN|FILE] HOST:PORT CA_FILE STUDY JOURNAL [NAME=VALUE...]
//
// Each NAME=VALUE is a column of the device's row, the label included. The offer must be signed by
// the given key (`coppice study key` prints it), or else by the key that the journal has from the
// first offer.
// The row never leaves this program. It sends one report, which is randomized before it is written
// to the journal; running the program again sends the same bytes.

#include <iostream>
#include <string>

#include "absl/types/span.h"
#include "client/device/grpc/grpc_carrier.h"
#include "client/device/run_session.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/public_key_file.h"

namespace {

using namespace coppice;  // NOLINT: an example reads better without prefixes.

TextRow ReadText(absl::Span<char*> columns) {
  TextRow row;
  for (const char* column : columns) {
    row.insert(StrSplit(column, MaxSplits('=', 1)));
  }
  return row;
}

// README.md shows what stands between the two marks; a test compares them.
Status AnswerOnce(const ConnectOptions& connect, const OfferPolicy& offer_policy,
                  const std::string& journal_file, const std::string& study,
                  ReadSessionRow read_row) {
  // sample: a device
  COPPICE_ASSIGN_OR_RETURN(const Budget of_one, Budget::FromEpsilon(4));
  COPPICE_ASSIGN_OR_RETURN(const Budget of_all, Budget::FromEpsilon(8));
  const Policy policy{.max_epsilon = of_one, .max_total_epsilon = of_all, .max_waiting = 100};

  COPPICE_ASSIGN_OR_RETURN(const auto journal, JournalStore::Open(journal_file));
  COPPICE_ASSIGN_OR_RETURN(GrpcCarrier carrier, GrpcCarrier::ToCurator(connect, RetryOptions()));
  OpenSslRandom random;
  DeviceSession session(
      {.policy = policy, .offers = offer_policy, .journal = journal->journal(), .random = random},
      {.server = connect.server, .subjects = {"this device"}, .study = study});
  // Answers once, whatever the row, and delivers what waits: the same report at every try.
  COPPICE_RETURN_IF_ERROR(RunSession(session, {.journal = *journal, .carrier = carrier}, read_row));
  const Deliveries& deliveries = session.outcome().deliveries;
  // end of sample
  std::cout << deliveries.delivered() << " delivered, "
            << deliveries.of_other_curators + deliveries.unknown.size() << " waiting, "
            << deliveries.refused.size() << " refused\n";
  return session.outcome().answer;
}

Status Main(absl::Span<char*> arguments) {
  OfferPolicy offer_policy;
  if (arguments[0] == std::string("--curator-key")) {
    COPPICE_ASSIGN_OR_RETURN(offer_policy.curator_key, ReadPublicKey(arguments[1]));
    arguments.remove_prefix(2);
  }
  if (arguments.size() < 4) return InvalidArgumentError("too few arguments");
  const ConnectOptions connect{.server = arguments[0], .ca_file = arguments[1]};
  const auto read_row = [&](size_t /*subject*/, const Terms& terms) {
    return EncodeText(terms, ReadText(arguments.subspan(4)));
  };
  return AnswerOnce(connect, offer_policy, arguments[3], arguments[2], read_row);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::cerr << "usage: " << argv[0]
              << " [--curator-key PIN|FILE] HOST:PORT CA_FILE STUDY JOURNAL [NAME=VALUE...]\n";
    return 2;
  }
  const Status status = Main(absl::MakeSpan(argv + 1, argv + argc));
  if (!status.ok()) std::cerr << Printable(status.message()) << '\n';
  return status.ok() ? 0 : 1;
}
