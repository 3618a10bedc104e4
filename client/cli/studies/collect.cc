#include "client/cli/studies/collect.h"

#include <memory>
#include <optional>
#include <utility>

#include "client/cli/studies/commands.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/interrupt.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/relay_flags.h"
#include "client/device/grpc/grpc_carrier.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/public_key_file.h"

namespace coppice::cli {
namespace {

struct ResumeFlags {
  ServerFlags server;
  RelayTarget relay;
  OutputFlags output;
  std::string journal_file;
  GatewayOptions gateway;
};

struct HistoryFlags {
  OutputFlags output;
  std::string journal_file, subject;
  std::optional<Budget> max_total_epsilon;
  bool answers = false;
};

struct OptOutFlags {
  OutputFlags output;
  std::string journal_file;
  bool undo = false;
};

// What delivering needs of a policy: nothing is answered.
Policy DeliveringPolicy() { return {.max_epsilon = *Budget::FromNanos(Budget::kMaxNanos)}; }

// Sends what waits for the relay; none of it goes to the curator, who is not contacted.
Status ResumeAtRelay(const ResumeFlags& flags, JournalStore& store, const SessionParts& device,
                     GatewayCounts& counts) {
  WarnOfOpenFiles(flags.relay.AsServer(flags.server));
  COPPICE_ASSIGN_OR_RETURN(GrpcCarrier carrier,
                           flags.relay.Connect(flags.server, /*patiently=*/true));
  CatchInterrupts();
  return Resume({.device = device,
                 .journal = store,
                 .carrier = carrier,
                 .server = carrier.server(),
                 .route = DeliveryRoute::kThroughRelay,
                 .stop = Interrupted},
                flags.gateway, /*study=*/"", counts);
}

Status ResumeAtCurator(const ResumeFlags& flags, JournalStore& store, const SessionParts& device,
                       GatewayCounts& counts) {
  COPPICE_ASSIGN_OR_RETURN(GrpcCarrier carrier, GrpcCarrier::ToCurator(flags.server.Connection(),
                                                                       flags.server.Patient()));
  CatchInterrupts();
  return Resume({.device = device,
                 .journal = store,
                 .carrier = carrier,
                 .server = carrier.server(),
                 .stop = Interrupted},
                flags.gateway, /*study=*/"", counts);
}

Status ResumeJournal(const ResumeFlags& flags) {
  KnownRelay relay{.policy = {.max_send_delay_seconds = 0}};
  if (flags.relay.is_given()) {
    COPPICE_ASSIGN_OR_RETURN(relay.policy.relay_key, ReadPublicKey(flags.relay.key));
  }
  COPPICE_ASSIGN_OR_RETURN(const auto store, JournalStore::Open(flags.journal_file));
  const Policy policy = DeliveringPolicy();
  const OfferPolicy offers;
  OpenSslRandom random;
  const SessionParts device{.policy = policy,
                            .offers = offers,
                            .journal = store->journal(),
                            .random = random,
                            .relay = &relay};
  GatewayCounts counts;
  const Status status = flags.relay.is_given() ? ResumeAtRelay(flags, *store, device, counts)
                                               : ResumeAtCurator(flags, *store, device, counts);
  Json json = flags.relay.is_given() ? DescribeRelayCounts(counts) : DescribeCounts(counts);
  json["waiting"] = store->journal().CountUndelivered();
  PrintObject(json, flags.output.json);
  return flags.relay.is_given() ? CloseRelayWith(status, counts, flags.journal_file)
                                : CloseWith(status, counts, flags.gateway, flags.journal_file);
}

Status History(const HistoryFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const auto store, JournalStore::Open(flags.journal_file));
  std::vector<JournalEntry> entries = store->journal().Entries();
  if (!flags.subject.empty()) {
    std::erase_if(entries, [&](const JournalEntry& e) { return e.subject != flags.subject; });
  }
  PrintRows(flags.answers ? DescribeAnswers(entries) : DescribeHistory(entries), flags.output.json);
  Json spending = DescribeSpending(entries, flags.max_total_epsilon);
  spending["opted_out"] = store->journal().OptedOut();
  PrintObject(spending, flags.output.json);
  return OkStatus();
}

Status OptOut(const OptOutFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const auto store, JournalStore::Open(flags.journal_file));
  COPPICE_RETURN_IF_ERROR(
      store->Change([&](Journal& journal) { return journal.SetOptedOut(!flags.undo); }));
  const Journal& journal = store->journal();
  PrintObject({{"opted_out", journal.OptedOut()}, {"waiting", journal.CountUndelivered()}},
              flags.output.json);
  return OkStatus();
}

void AddResume(const Command& noun) {
  const auto flags = std::make_shared<ResumeFlags>();
  const Command verb = noun.AddCommand(
      "resume",
      "Deliver the reports in a journal that have not arrived at the curator or the relay",
      "coppice collect resume --journal devices.journal");
  verb.Add("--journal", flags->journal_file, "The journal").Required().ExistingFile();
  verb.AddSwitch("--end-unknown", flags->gateway.end_unknown,
                 "Discard reports for studies that the curator does not know or no longer has");
  AddGatewayFlags(verb, flags->gateway);
  AddOutputFlags(verb, flags->output);
  AddRelayTarget(verb, flags->relay, flags->server, AddServerFlags(verb, flags->server));
  SetAction(verb, flags, ResumeJournal);
}

void AddHistory(const Command& noun) {
  const auto flags = std::make_shared<HistoryFlags>();
  const Command verb =
      noun.AddCommand("history", "Show what a journal's devices sent, and what it cost them",
                      "coppice collect history --journal devices.journal");
  verb.Add("--journal", flags->journal_file, "The journal").Required().ExistingFile();
  verb.Add("--subject", flags->subject, "Only reports of this device");
  verb.AddSwitch(
      "--answers", flags->answers,
      "Every answer, and the curator it is for; of one that waits, byte by byte what will "
      "be sent");
  AddEpsilonFlag(verb, "--max-total-epsilon", flags->max_total_epsilon,
                 "What one device may spend in all, by its policy: show what is left of it");
  AddOutputFlags(verb, flags->output);
  SetAction(verb, flags, History);
}

void AddOptOut(const Command& noun) {
  const auto flags = std::make_shared<OptOutFlags>();
  const Command verb = noun.AddCommand(
      "opt-out",
      "Answer no further study from a journal's devices, and send nothing that still waits; what "
      "has arrived stays counted",
      "coppice collect opt-out --journal devices.journal");
  verb.Add("--journal", flags->journal_file, "The journal").Required().ExistingFile();
  verb.AddSwitch("--undo", flags->undo,
                 "Opt in again: what waits may be sent, and studies answered");
  AddOutputFlags(verb, flags->output);
  SetAction(verb, flags, OptOut);
}

// What was declined is not in the journal, and what waits is not sent after opting out.
Status WithAdvice(const Status& status, std::string_view command) {
  if (IsFailedPrecondition(status)) return status;
  return Status(status.code(),
                StrCat(status.message(),
                       "; what was randomized is in the journal: deliver it with `", command, "`"));
}

}  // namespace

Json DescribeCounts(const GatewayCounts& counts) {
  Json refused = Json::object();
  for (const auto& [reason, reports] : counts.refused) {
    refused[StrReplaceAll(reason, {{" ", "_"}})] = reports;
  }
  return {{"accepted", counts.accepted},
          {"duplicate", counts.duplicate},
          {"refused", refused},
          {"unknown_study", counts.unknown_study},
          {"of_other_curators", counts.of_other_curators},
          {"of_relays", counts.of_relays}};
}

Json DescribeRelayCounts(const GatewayCounts& counts) {
  Json lost = Json::object();
  for (const auto& [reason, reports] : counts.refused) {
    lost[StrReplaceAll(reason, {{" ", "_"}, {",", ""}, {"'", ""}})] = reports;
  }
  return {{"dealt", counts.dealt},
          {"stored", counts.accepted},
          {"lost", lost},
          {"of_others", counts.of_relays + counts.of_other_curators}};
}

Status CloseRelayWith(const Status& status, const GatewayCounts& counts,
                      const std::string& journal_file) {
  if (!status.ok()) {
    return WithAdvice(status, StrCat("coppice collect resume --relay HOST:PORT --relay-key PIN "
                                     "--journal ",
                                     journal_file));
  }
  if (counts.TotalRefused() == 0) return OkStatus();
  return FailedPreconditionError(StrCat(counts.TotalRefused(),
                                        " reports are lost (see `lost`), and their epsilon stays "
                                        "spent: a row is randomized only once"));
}

Status CloseWith(const Status& status, const GatewayCounts& counts, const GatewayOptions& options,
                 const std::string& journal_file) {
  if (!status.ok()) {
    return WithAdvice(status, StrCat("coppice collect resume --journal ", journal_file));
  }
  if (counts.TotalRefused() > 0) {
    return FailedPreconditionError(StrCat("the curator refused ", counts.TotalRefused(),
                                          " reports for good; `refused` says why"));
  }
  if (counts.unknown_study > 0 && !options.end_unknown) {
    return FailedPreconditionError(
        StrCat(counts.unknown_study,
               " answers are to studies that this curator does not know; they stay in the "
               "journal. If it will never know them again, `coppice collect resume "
               "--end-unknown --journal ",
               journal_file, "` gives the answers up"));
  }
  if (counts.of_relays > 0) {
    return FailedPreconditionError(
        StrCat(counts.of_relays,
               " answers are for a relay, which alone gets them; deliver them with `coppice "
               "collect resume --relay HOST:PORT --relay-key PIN --journal ",
               journal_file, "`"));
  }
  if (counts.of_other_curators == 0) return OkStatus();
  return FailedPreconditionError(StrCat(
      counts.of_other_curators,
      " answers are for another curator and were not sent; `coppice collect history --answers "
      "--journal ",
      journal_file, "` names its key: resume at its address"));
}

ServerFlags RelayTarget::AsServer(const ServerFlags& curator) const {
  ServerFlags server = curator;
  server.connect.server = address;
  server.connect.ca_file = ca_file;
  server.connect.token_file = token_file;
  return server;
}

StatusOr<GrpcCarrier> RelayTarget::Connect(const ServerFlags& curator, bool patiently) const {
  const ServerFlags server = AsServer(curator);
  RetryOptions retry = patiently ? server.Patient() : server.Once();
  retry.diagnose = [ask = std::move(retry.diagnose)] {
    const Status why = ask();
    return Status(why.code(),
                  StrReplaceAll(why.message(), {{"--server", "--relay"},
                                                {"--ca FILE or COPPICE_CA", "--relay-ca"},
                                                {"(--ca)", "(--relay-ca)"},
                                                {"coppiced ", "coppice-relay "}}));
  };
  return GrpcCarrier::ToRelay(server.Connection(), retry);
}

Flag AddRelayTarget(const Command& verb, RelayTarget& relay, const ServerFlags& curator,
                    Flag server) {
  const std::string group = "Relay";
  const Flag address = verb.Add("--relay", relay.address,
                                "Where the study's relay listens. --cert, --key, --insecure and "
                                "--timeout then apply to the relay, and the curator is not called")
                           .Takes("HOST:PORT")
                           .InGroup(group);
  const Flag key = AddPublicKeyFlag(verb, "--relay-key", relay.key,
                                    "The relay's public key, from its operator and not from the "
                                    "curator")
                       .InGroup(group);
  address.Needs(key);
  key.Needs(address);
  verb.Add("--relay-ca", relay.ca_file,
           "PEM file of the CA that signed the relay's certificate, from the relay's operator")
      .Takes("FILE")
      .Needs(address)
      .InGroup(group);
  verb.Add("--relay-token-file", relay.token_file,
           "File with the token that the relay's operator gave you")
      .Takes("FILE")
      .Needs(address)
      .InGroup(group);
  server.Required(false);
  verb.CheckFlags([&relay, &curator, server]() -> Status {
    if (!relay.is_given()) return server.IsGiven() ? OkStatus() : server.MissingError();
    if (relay.ca_file.empty() && !curator.connect.insecure) {
      return InvalidArgumentError(
          "--relay-ca is required: the relay is recognized by its certificate");
    }
    const Status checked = CheckConnectOptions(relay.AsServer(curator).Connection());
    if (checked.ok()) return checked;
    return InvalidArgumentError(StrCat("--relay: ", checked.message()));
  });
  return address;
}

void AddGatewayFlags(const Command& verb, GatewayOptions& options) {
  verb.Add("--batch", options.batch, "Maximum number of reports per call")
      .InRange(1, 1000)
      .ShowDefault();
}

void AddCollectCommands(CommandLine& line) {
  const Command noun = line.AddGroup("collect", "Collecting: what devices send");
  AddCollectSimulate(noun);
  AddResume(noun);
  AddHistory(noun);
  AddOptOut(noun);
}

}  // namespace coppice::cli
