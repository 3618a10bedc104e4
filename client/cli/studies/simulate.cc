#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "client/cli/studies/collect.h"
#include "client/cli/studies/commands.h"
#include "client/cli/studies/token_list.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/interrupt.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/relay_flags.h"
#include "client/device/grpc/grpc_carrier.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "common/terms/public_key_file.h"
#include "common/terms/public_values.h"
#include "common/terms/report_form.h"

namespace coppice::cli {
namespace {

struct SimulateFlags {
  ServerFlags server;
  RelayTarget relay;
  uint64_t min_batch = kLeastMinBatch;
  OutputFlags output;
  std::string study, data_file, journal_file, tokens_file, schema_file, id_column;
  std::optional<Budget> max_epsilon = *Budget::FromNanos(kMaxStudyEpsilonNanos);
  std::vector<std::string> allowed_in_clear;
  std::vector<std::string> join_ids;
  std::vector<std::string> shown;  // by --show
  std::string curator_key;
  bool demand_pin = false;
  uint64_t min_reports = 0;
  uint64_t limit = 0;
  GatewayOptions gateway;
  bool strict = false;
  bool again = false;

  Status Check() const {
    return Policy{
        .max_epsilon = *max_epsilon, .allowed_in_clear = allowed_in_clear, .join_ids = join_ids}
        .CheckLists();
  }
};

// In a folder of its own: a journal gets its name with its first record.
StatusOr<std::string> NameTemporaryJournal() {
  const char* temporary = getenv("TMPDIR");
  std::string folder =
      StrCat(temporary == nullptr || *temporary == 0 ? "/tmp" : temporary, "/coppice-XXXXXX");
  if (mkdtemp(folder.data()) == nullptr) {
    return UnavailableError(
        "cannot make a folder for a temporary journal; name one with --journal");
  }
  return StrCat(folder, "/journal");
}

StatusOr<std::vector<std::string>> ReadTokens(const SimulateFlags& flags) {
  if (flags.tokens_file.empty()) return std::vector<std::string>();
  COPPICE_ASSIGN_OR_RETURN(std::vector<std::string> tokens, ReadTokenList(flags.tokens_file));
  if (tokens.empty()) return InvalidArgumentError(flags.tokens_file + ": holds no token");
  return tokens;
}

Status CheckEnoughTokens(const std::vector<std::string>& tokens, size_t rows) {
  if (tokens.empty() || tokens.size() >= rows) return OkStatus();
  return InvalidArgumentError(
      StrCat("there are ", tokens.size(), " submission tokens for ", rows,
             " rows, and each row needs its own: make more with `coppice study tokens`, or "
             "give --limit ",
             tokens.size()));
}

StatusOr<OfferPolicy> OfferPolicyOf(const SimulateFlags& flags) {
  // A gateway's machine has room for any tree.
  OfferPolicy policy{.demand_pin = flags.demand_pin,
                     .min_reports = flags.min_reports,
                     .max_offer_bytes = kMaxOfferBytes};
  if (flags.curator_key.empty()) return policy;
  COPPICE_ASSIGN_OR_RETURN(policy.curator_key, ReadPublicKey(flags.curator_key));
  return policy;
}

// Checks the file independently of any study, so that errors are reported before a curator is
// contacted: from then on every row is answered.
StatusOr<SchemaFile> CheckOwnRows(const SimulateFlags& flags) {
  SchemaFile own;
  if (!flags.schema_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(own, ReadSchema(flags.schema_file));
  }
  COPPICE_RETURN_IF_ERROR(CheckTableStructure(flags.data_file, flags.id_column, own.format));
  if (!flags.strict) return own;
  COPPICE_RETURN_IF_ERROR(
      ReadTableInBlocks(flags.data_file, own.schema, {.strict = true, .format = own.format},
                        /*block_rows=*/1000, [](const Table&) { return OkStatus(); })
          .status());
  return own;
}

// Names the column that identifies a row's owner. If a study is joined by an id, that is the id.
StatusOr<std::string> IdColumnOf(const SimulateFlags& flags, const Terms& terms) {
  const std::string& asked = flags.id_column;
  if (!ReportForm::Of(terms).ShowsId()) {
    if (asked.empty() && !flags.journal_file.empty()) {
      Note(
          "devices are identified by row number; if you will use the journal with the rows in "
          "another order, name the column that identifies a person with --id-column");
    }
    return asked;
  }
  if (asked.empty() || asked == terms.joined_by) return terms.joined_by;
  return InvalidArgumentError(
      StrCat("--id-column: the study is joined by \"", terms.joined_by,
             "\", which identifies a row; leave the flag out, or name that column"));
}

// Runs before any row is answered, on the ids alone, which are sent in the clear.
Status CheckIds(const Terms& terms, const TableFile& file) {
  if (!ReportForm::Of(terms).ShowsId()) return OkStatus();
  for (size_t row = 0; row < file.ids.size(); ++row) {
    const Status status = CheckJoinId(file.ids[row]);
    if (status.ok()) continue;
    return Status(status.code(), StrCat("row ", row + 1, ": ", status.message()));
  }
  return OkStatus();
}

// Without a journal given by a flag, nothing else would stop rows from answering twice.
Status CheckFirstTime(const SimulateFlags& flags, const Journal& journal,
                      const std::string& journal_file) {
  const auto seen = journal.manifests().OfStudy(flags.study);
  AnsweringRows rows{.study = flags.study,
                     .curator = std::nullopt,
                     .data_file = flags.data_file,
                     .journal_file = journal_file,
                     .refuse_again = flags.journal_file.empty() && !flags.again};
  if (seen.has_value()) rows.curator = seen->root;
  const Status noted = NoteAnswering(rows);
  if (noted.ok()) return noted;
  if (rows.refuse_again) {
    unlink(journal_file.c_str());  // it has no entries yet
    return noted;
  }
  Note(noted.message());
  return OkStatus();
}

// Reads all rows with the study's schema.
StatusOr<TableFile> ReadRows(const SimulateFlags& flags, const Terms& terms,
                             const SchemaFile& own) {
  COPPICE_ASSIGN_OR_RETURN(const std::string id_column, IdColumnOf(flags, terms));
  std::optional<ReadingNote> reading(flags.data_file);
  COPPICE_ASSIGN_OR_RETURN(
      TableFile file, ReadTable(flags.data_file, terms.schema,
                                {.total = true, .id_column = id_column, .format = own.format}));
  reading.reset();
  COPPICE_RETURN_IF_ERROR(CheckIds(terms, file));
  const std::string notes = file.notes.Summary();
  if (!notes.empty()) Note(notes);
  return file;
}

size_t CountRows(const SimulateFlags& flags, const TableFile& file) {
  const size_t all = file.table.num_rows();
  return flags.limit == 0 ? all : std::min<size_t>(flags.limit, all);
}

StatusOr<std::string> JournalFileOf(const SimulateFlags& flags) {
  return flags.journal_file.empty() ? NameTemporaryJournal() : flags.journal_file;
}

// What the devices stand on, which sessions refer to.
struct SimulatedDevices {
  SchemaFile own;
  Policy policy;
  OfferPolicy offers = {};
  KnownRelay relay = {};
  std::string journal_file = {};
  std::unique_ptr<JournalStore> store = nullptr;
  OpenSslRandom random = {};

  SessionParts parts() {
    return {.policy = policy,
            .offers = offers,
            .journal = store->journal(),
            .random = random,
            .relay = &relay};
  }
};

std::vector<std::string> Joined(std::vector<std::string> names,
                                const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

// A joined study shows its id alone, so a script that shows several names means features. Of a
// single one nobody can tell.
std::vector<std::string> JoinIdsOf(const SimulateFlags& flags) {
  return flags.shown.size() == 1 ? Joined(flags.join_ids, flags.shown) : flags.join_ids;
}

StatusOr<std::unique_ptr<SimulatedDevices>> OpenDevices(const SimulateFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(SchemaFile own, CheckOwnRows(flags));
  auto devices = std::unique_ptr<SimulatedDevices>(new SimulatedDevices{
      .own = std::move(own),
      .policy = {.max_epsilon = *flags.max_epsilon,
                 .own_schema = nullptr,
                 .allowed_in_clear = Joined(flags.allowed_in_clear, flags.shown),
                 .join_ids = JoinIdsOf(flags)}});
  devices->policy.own_schema = devices->own.schema;
  COPPICE_ASSIGN_OR_RETURN(devices->offers, OfferPolicyOf(flags));
  // No random delay of sending: it hides one device's work, not that of many devices.
  devices->relay.policy.max_send_delay_seconds = 0;
  devices->relay.policy.min_batch = flags.min_batch;
  if (flags.relay.is_given()) {
    COPPICE_ASSIGN_OR_RETURN(devices->relay.policy.relay_key, ReadPublicKey(flags.relay.key));
  }
  COPPICE_ASSIGN_OR_RETURN(devices->journal_file, JournalFileOf(flags));
  COPPICE_ASSIGN_OR_RETURN(devices->store, JournalStore::Open(devices->journal_file));
  return devices;
}

// With one try or, if `patiently`, as many as the time allows: a wrong address must not take a
// minute to show.
StatusOr<GrpcCarrier> ConnectFor(const SimulateFlags& flags, bool patiently) {
  if (flags.relay.is_given()) return flags.relay.Connect(flags.server, patiently);
  return GrpcCarrier::ToCurator(flags.server.Connection(),
                                patiently ? flags.server.Patient() : flags.server.Once());
}

GatewayParts PartsOf(const SimulateFlags& flags, SimulatedDevices& devices, GrpcCarrier& carrier) {
  return {.device = devices.parts(),
          .journal = *devices.store,
          .carrier = carrier,
          .server = carrier.server(),
          .route = flags.relay.is_given() ? DeliveryRoute::kThroughRelay : DeliveryRoute::kDirect,
          .stop = Interrupted};
}

Json DescribeSimulation(const SimulateFlags& flags, const DeviceSession& fetched, size_t rows,
                        const GatewayCounts& counts) {
  const bool is_relayed = flags.relay.is_given();
  Json json = {{"study", flags.study}, {"rows", rows}};
  json.update(is_relayed ? DescribeRelayCounts(counts) : DescribeCounts(counts));
  json["answered_before"] = counts.answered_before;
  if (!is_relayed) json["payload_bytes"] = counts.MeanPayloadBytes();
  json["epsilon"] = fetched.privatizer()->terms().epsilon.epsilon();
  if (is_relayed) json["min_batch"] = fetched.deal()->relay.min_batch;
  return json;
}

Status SimulateRows(const SimulateFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::string> tokens, ReadTokens(flags));
  COPPICE_ASSIGN_OR_RETURN(const auto devices, OpenDevices(flags));
  if (flags.relay.is_given()) WarnOfOpenFiles(flags.relay.AsServer(flags.server));
  COPPICE_ASSIGN_OR_RETURN(GrpcCarrier once, ConnectFor(flags, /*patiently=*/false));
  // If tokens are required, shows the first row's: it gets the same ticket again in its turn.
  COPPICE_ASSIGN_OR_RETURN(
      const auto fetched,
      FetchTerms(PartsOf(flags, *devices, once), flags.study, tokens.empty() ? "" : tokens[0]));
  const Terms& terms = fetched->privatizer()->terms();
  COPPICE_ASSIGN_OR_RETURN(const TableFile file, ReadRows(flags, terms, devices->own));
  COPPICE_ASSIGN_OR_RETURN(GrpcCarrier carrier, ConnectFor(flags, /*patiently=*/true));

  CatchInterrupts();
  const size_t rows = CountRows(flags, file);
  COPPICE_RETURN_IF_ERROR(CheckEnoughTokens(tokens, rows));
  COPPICE_RETURN_IF_ERROR(CheckFirstTime(flags, devices->store->journal(), devices->journal_file));
  if (flags.journal_file.empty()) Note(StrCat("the journal is ", devices->journal_file));
  const GatewayParts parts = PartsOf(flags, *devices, carrier);
  GatewayCounts counts;
  const absl::Time start = absl::Now();
  Status status = Resume(parts, flags.gateway, flags.study, counts);
  if (status.ok()) {
    Progress progress("rows", rows);
    const AnsweringFile answering{.study = flags.study,
                                  .known = flags.relay.is_given() ? nullptr : fetched->privatizer(),
                                  .file = file,
                                  .rows = rows,
                                  .submission_tokens = tokens};
    status = AnswerRows(
        parts, flags.gateway, answering, [&](uint64_t done) { progress.Show(done); }, counts);
  }
  Json json = DescribeSimulation(flags, *fetched, rows, counts);
  json["journal"] = devices->journal_file;
  json["seconds"] = absl::ToDoubleSeconds(absl::Now() - start);
  PrintObject(json, flags.output.json);
  return flags.relay.is_given() ? CloseRelayWith(status, counts, devices->journal_file)
                                : CloseWith(status, counts, flags.gateway, devices->journal_file);
}

Status Simulate(const SimulateFlags& flags) {
  SimulateFlags with_file = flags;
  COPPICE_ASSIGN_OR_RETURN(with_file.data_file, InputFile(flags.data_file, /*again=*/true));
  return SimulateRows(with_file);
}

}  // namespace

void AddCollectSimulate(const Command& collect) {
  const auto flags = std::make_shared<SimulateFlags>();
  const Command verb = collect.AddCommand(
      "simulate", "Let every row of a table answer a study as its own device would",
      "coppice collect simulate --study s-4f2a --data private.csv --journal devices.journal");
  AddIdFlag(verb, "--study", flags->study, "Id of the study");
  verb.Add("--data", flags->data_file,
           "Table, CSV or LIBSVM, read with the study's schema. Every row answers: a value that "
           "cannot be read counts as missing, and an unknown class becomes a random one. - is "
           "stdin, read as CSV")
      .Takes("FILE")
      .Required();
  verb.Add("--id-column", flags->id_column,
           "Column that identifies whose row it is, for the journal (default: the row's number; in "
           "a study joined by an id, that column, which is required and sent)");
  const Flag own_schema =
      verb.Add("--schema", flags->schema_file,
               "The devices' own schema: a study with a different one is declined before any row "
               "is read. The file also says which texts stand for missing values");
  own_schema.ExistingFile();
  const Flag journal = verb.Add("--journal", flags->journal_file,
                                "Journal of what the devices sent (default: a new temporary file)")
                           .Takes("FILE");
  verb.AddSwitch("--again", flags->again,
                 "Let rows answer again that answered this study before, without --journal or with "
                 "a different one; each device then spends its epsilon twice")
      .Excludes(journal);
  const Flag tokens = verb.Add(
      "--submission-tokens", flags->tokens_file,
      "Submission tokens, one per line, for a study that requires them; row n uses token n");
  tokens.ExistingFile();
  verb.Add("--limit", flags->limit, "Only the first N rows").Positive();
  AddEpsilonFlag(verb, "--max-epsilon", flags->max_epsilon,
                 "Largest epsilon per report that the devices accept (default: 20)");
  const Flag allowed_in_clear =
      verb.Add("--allow-in-clear", flags->allowed_in_clear,
               "Features that the devices agree to send in the clear; a study that asks for any "
               "other is declined")
          .SplitAt(',')
          .Takes("FEATURE,...");
  const Flag join_ids =
      verb.Add("--allow-join-id", flags->join_ids,
               "Ids by which the devices let studies join; the column is then sent as it is, so "
               "never one of their features")
          .SplitAt(',')
          .Takes("COLUMN,...");
  // As scripts know it that were written before there were two lists.
  const Flag shown = verb.Add("--show", flags->shown,
                              "As --allow-in-clear and, with a single name, as --allow-join-id "
                              "too: take one of these instead, or a study may join by a feature")
                         .SplitAt(',')
                         .Takes("NAME,...")
                         .ForResearch();
  const Flag curator_key =
      AddPublicKeyFlag(verb, "--curator-key", flags->curator_key,
                       "Public key of the curator, as `coppice study key` prints it (default: the "
                       "one in the journal, or else the first one seen)");
  verb.AddSwitch("--demand-pin", flags->demand_pin, "Answer only if --curator-key is given");
  verb.Add("--min-reports", flags->min_reports,
           "Answer only if the curator builds models from at least this many reports")
      .ShowDefault();
  verb.AddSwitch("--strict", flags->strict,
                 "Refuse rows that do not fit --schema before the curator is called")
      .Needs(own_schema);
  AddGatewayFlags(verb, flags->gateway);
  AddOutputFlags(verb, flags->output);
  const Flag relay =
      AddRelayTarget(verb, flags->relay, flags->server, AddServerFlags(verb, flags->server));
  relay.Needs(curator_key).Excludes(tokens);
  relay.Excludes(allowed_in_clear).Excludes(join_ids).Excludes(shown);
  verb.Add("--min-batch", flags->min_batch,
           "Answer only if the relay sends batches of at least this many reports and drops smaller "
           "ones")
      .Positive()
      .ShowDefault()
      .Needs(relay)
      .InGroup("Relay");
  SetAction(verb, flags, Simulate);
}

}  // namespace coppice::cli
