#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <vector>

#include "client/cli/studies/commands.h"
#include "client/cli/studies/public_rows.h"
#include "client/cli/studies/token_list.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/relay_flags.h"
#include "client/cli/terminal/remote.h"
#include "client/device/grpc/server_call.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/describe/study_settings.h"
#include "common/table/schema_file.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/manifest.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {
namespace {

struct CreateStudyFlags {
  ServerFlags server;
  OutputFlags output;
  PublicRowsFlags rows;
  std::string study, joined_by;
  std::optional<Budget> epsilon;
  v1::Mechanism mechanism = v1::MECHANISM_UNSPECIFIED;  // auto
  uint32_t max_payload = 0;
  uint64_t devices = 0;
  v1::StudySettings settings;
  RelayFlags relay;
  std::optional<v1::SplitRule> rule;
  std::optional<v1::Criterion> criterion;
  std::optional<uint32_t> depth, min_leaf, trees;
  std::string by_feature;
  std::optional<uint64_t> seed;
  bool accept_leak = false;
  std::string compatible_with;  // a schema's file
};

// Asks for what a flag says and nothing else: the curator chooses the rest.
void SetPartition(const CreateStudyFlags& flags, v1::PartitionOptions& options) {
  if (flags.rule) options.set_rule(*flags.rule);
  if (flags.criterion) options.set_criterion(*flags.criterion);
  if (flags.depth) options.set_max_depth(*flags.depth);
  if (flags.min_leaf) options.set_min_leaf(*flags.min_leaf);
  if (flags.trees) options.set_trees(*flags.trees);
  if (flags.seed) options.set_seed(*flags.seed);
  options.set_by_feature(flags.by_feature);
}

StatusOr<v1::CreateStudyRequest> CreateRequest(const CreateStudyFlags& flags) {
  v1::CreateStudyRequest request;
  COPPICE_RETURN_IF_ERROR(AddPublicRows(flags.rows, request));
  COPPICE_ASSIGN_OR_RETURN(*request.mutable_request_id(), RandomHex(16));
  request.set_study_id(flags.study);
  SetPartition(flags, *request.mutable_partition());
  request.set_epsilon_nanos(flags.epsilon->nanos());
  if (flags.mechanism != v1::MECHANISM_UNSPECIFIED) {
    request.set_mechanism(flags.mechanism);
  } else if (flags.max_payload > 0) {
    request.mutable_choose_mechanism()->set_max_payload_bytes(flags.max_payload);
  }
  request.set_expected_devices(flags.devices);
  *request.mutable_settings() = flags.settings;
  COPPICE_RETURN_IF_ERROR(SetRelay(flags.relay, *request.mutable_settings()));
  request.set_joined_by(flags.joined_by);
  request.set_accept_leak(flags.accept_leak);
  return request;
}

// Devices that were built with the schema of `path` decline a study that does not agree with it.
Status CheckCompatible(const v1::Schema& proto, const std::string& path) {
  constexpr size_t kMostListed = 20;
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile known, ReadSchema(path));
  COPPICE_ASSIGN_OR_RETURN(const Schema schema, ParseSchema(proto));
  const std::vector<std::string> differences = schema.DifferencesFrom(*known.schema, kMostListed);
  if (differences.empty()) return OkStatus();
  return FailedPreconditionError(StrCat("devices that were built with ", path,
                                        " would decline this study:\n  ",
                                        StrJoin(differences, "\n  ")));
}

Status Create(const CreateStudyFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const v1::CreateStudyRequest request, CreateRequest(flags));
  if (!flags.compatible_with.empty()) {
    COPPICE_RETURN_IF_ERROR(CheckCompatible(request.schema(), flags.compatible_with));
  }
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::CreateStudyResponse>(request));
  PrintObject(DescribeNewStudy(response.study()), flags.output.json);
  return OkStatus();
}

// "--min-reports" for min_reports.
std::string FlagOf(const StudySetting& setting) {
  std::string flag = StrCat("--", setting.name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void AddSettingsFlags(const Command& command, v1::StudySettings& settings) {
  for (const StudySetting& setting : StudySettingTable()) {
    const auto set = [&setting, &settings](const std::string& text) {
      (void)setting.set(text, settings);  // was checked
    };
    if (setting.takes.empty()) {
      command.AddSwitch(
          FlagOf(setting), [set] { set(""); }, std::string(setting.help));
      continue;
    }
    command.AddTaken<std::string>(FlagOf(setting), set, std::string(setting.help))
        .Takes(std::string(setting.takes))
        .Check([&setting](const std::string& text) {
          v1::StudySettings scratch;
          return std::string(setting.set(text, scratch).message());
        });
  }
}

void AddPartitionFlags(const Command& verb, CreateStudyFlags& flags) {
  const std::map<std::string, v1::SplitRule> rules = {
      {"max_edge", v1::SPLIT_RULE_MAX_EDGE},
      {"random_max_edge", v1::SPLIT_RULE_RANDOM_MAX_EDGE},
      {"cart", v1::SPLIT_RULE_CART},
      {"hybrid", v1::SPLIT_RULE_HYBRID},
      {"random_cut", v1::SPLIT_RULE_RANDOM_CUT}};
  const std::map<std::string, v1::Criterion> criteria = {{"gini", v1::CRITERION_GINI},
                                                         {"entropy", v1::CRITERION_ENTROPY}};
  AddChoice(verb, "--split-rule", flags.rule, rules,
            "How cells are divided (default: the curator's choice)")
      .ForResearch();
  AddChoice(verb, "--criterion", flags.criterion, criteria,
            "What a split reduces; hybrid takes entropy (default: the curator's choice)")
      .ForResearch();
  verb.Add("--depth", flags.depth,
           "Largest depth of a leaf; the root has depth 0 (default: the curator's choice)")
      .InRange(0, 64)
      .ForResearch();
  verb.Add("--min-leaf", flags.min_leaf,
           "Fewest public rows in a leaf (default: the curator's choice)")
      .InRange(1, 1 << 30)
      .ForResearch();
  verb.Add("--trees", flags.trees,
           "Trees, each on a bootstrap of the public rows if several; a device answers in "
           "one (default: the curator's choice)")
      .InRange(1, 1024)
      .ForResearch();
  verb.Add("--by", flags.by_feature,
           "A public categorical feature: each tree begins with its values, so that one study "
           "gives counts and models for each value. Costs no privacy")
      .Check(
          [](const std::string& name) { return name.empty() ? "needs the name of a feature" : ""; },
          "FEATURE");
  verb.Add("--seed", flags.seed,
           "Public randomness of the partition; no privacy rests on it (default: the curator's "
           "choice)")
      .ForResearch();
}

void AddCreate(const Command& noun) {
  const auto flags = std::make_shared<CreateStudyFlags>();
  const Command verb =
      noun.AddCommand("create", "Grow a partition from public rows and open a study on it",
                      "coppice study create --public public.csv --schema schema.json "
                      "--epsilon 2 --mechanism optimized_unary");
  std::map<std::string, v1::Mechanism> mechanisms = {{"auto", v1::MECHANISM_UNSPECIFIED}};
  for (const MechanismKind kind : AllMechanismKinds()) {
    mechanisms[std::string(MechanismName(kind))] = ToProto(kind);
  }
  AddPublicRowsFlags(verb, flags->rows);
  AddEpsilonFlag(verb, "--epsilon", flags->epsilon, "What one report costs its device, 0.01 to 20")
      .Required();
  AddChoice(
      verb, "--mechanism", flags->mechanism, mechanisms,
      "How devices hide their rows; auto: the curator chooses what says most about a label, or "
      "nearly that in the smallest report (default: auto)");
  verb.Add("--max-payload", flags->max_payload,
           "For auto: largest payload of a report, in bytes (default: no limit)")
      .ForResearch();
  verb.Add("--devices", flags->devices,
           "Roughly how many devices will answer; decides the size of a partition without labels");
  verb.Add("--join-id,--joined-by", flags->joined_by,
           "Name of an id that devices show instead of their features. For a curator that has the "
           "features already: all must be public in the schema, and `coppice study join` uploads "
           "them")
      .Takes("NAME");
  AddSettingsFlags(verb, flags->settings);
  AddRelayFlags(verb, flags->relay);
  AddPartitionFlags(verb, *flags);
  AddAcceptLeakFlag(verb, flags->accept_leak);
  verb.Add("--compatible-with", flags->compatible_with,
           "A schema that devices are built with, as `coppice schema generate` wrote it: refuse, "
           "with a list, to ask what they cannot answer")
      .Takes("FILE");
  AddIdFlag(verb, "--study", flags->study, "Id of the new study (default: the curator's choice)",
            /*required=*/false);
  SetRemoteAction(verb, flags, Create);
}

struct SubmissionTokensFlags {
  ServerFlags server;
  OutputFlags output;
  uint32_t count = 0;
  std::string output_file;
  bool force = false;
};

Status IssueTokens(const SubmissionTokensFlags& flags) {
  constexpr uint32_t kMaxAtOnce = 10'000;
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  std::vector<std::string> tokens;
  while (tokens.size() < flags.count) {
    v1::IssueSubmissionTokensRequest request;
    request.set_count(std::min(kMaxAtOnce, flags.count - static_cast<uint32_t>(tokens.size())));
    COPPICE_ASSIGN_OR_RETURN(const auto response,
                             remote.Call<v1::IssueSubmissionTokensResponse>(request));
    if (response.tokens().empty()) return DataLossError("the curator sent no tokens");
    tokens.insert(tokens.end(), response.tokens().begin(), response.tokens().end());
  }
  COPPICE_RETURN_IF_ERROR(
      WriteSecretResult(flags.output_file, WriteTokenList(tokens), flags.force));
  if (flags.output_file == "-") return OkStatus();
  PrintObject({{"tokens", tokens.size()}, {"file", flags.output_file}}, flags.output.json);
  return OkStatus();
}

void AddTokens(const Command& noun) {
  const auto flags = std::make_shared<SubmissionTokensFlags>();
  const Command verb =
      noun.AddCommand("tokens",
                      "Make submission tokens, one per person; each counts once in every study "
                      "that requires them. Do not record who got which",
                      "coppice study tokens --count 1000 --output tokens.txt");
  verb.Add("--count", flags->count, "How many").Required().InRange(1, 10'000'000);
  verb.Add("--output", flags->output_file,
           "File to write them to, one per line; keep it secret. - is stdout")
      .Takes("FILE")
      .Required();
  verb.AddSwitch("--force", flags->force, "Replace the file if it exists");
  SetRemoteAction(verb, flags, IssueTokens);
}

struct StudyListFlags {
  ServerFlags server;
  OutputFlags output;
};

Status ListStudies(const StudyListFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  std::vector<Json> rows;
  v1::ListStudiesRequest request;
  COPPICE_RETURN_IF_ERROR(
      remote.ForEachPage<v1::ListStudiesResponse>(request, [&](const auto& page) {
        for (const v1::Study& study : page.studies()) rows.push_back(DescribeStudyBriefly(study));
      }));
  PrintRows(rows, flags.output.json);
  return OkStatus();
}

void AddListStudies(const Command& noun) {
  const auto flags = std::make_shared<StudyListFlags>();
  const Command verb = noun.AddCommand("list", "List all studies", "coppice study list --json");
  SetRemoteAction(verb, flags, ListStudies);
}

struct OneStudyFlags {
  ServerFlags server;
  OutputFlags output;
  std::string study;
};

Status Show(const OneStudyFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::GetStudyRequest request;
  request.set_name(MakeName(kStudies, flags.study));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::GetStudyResponse>(request));
  const bool json = flags.output.json;
  PrintObject(
      json ? DescribeStudyWithAlarms(response.study()) : DescribeStudyForPeople(response.study()),
      json);
  return OkStatus();
}

struct KeyFlags {
  ServerFlags server;
  OutputFlags output;
  bool pem = false;
};

Status ShowKey(const KeyFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const auto response,
                           remote.Call<v1::GetCuratorKeysResponse>(v1::GetCuratorKeysRequest()));
  COPPICE_ASSIGN_OR_RETURN(const PublicKey key, ParsePublicKeyBytes(response.key()));
  if (flags.pem) {
    std::cout << ToPem(key);
    return OkStatus();
  }
  const KeyId id = KeyIdOf(key);
  PrintObject({{"key_id", BytesToHexString(AsBytes(id))},
               {"pin", ToPin(key)},
               {"endorsements", response.endorsements_size()}},
              flags.output.json);
  return OkStatus();
}

void AddKey(const Command& noun) {
  const auto flags = std::make_shared<KeyFlags>();
  const Command verb =
      noun.AddCommand("key",
                      "Show the key that signs studies and models, for devices and `model verify` "
                      "to pin. Run it where you can trust the connection to the curator",
                      "coppice study key --pem > curator.pem");
  verb.AddSwitch("--pem", flags->pem, "Print only the key, as PEM");
  SetRemoteAction(verb, flags, ShowKey);
}

Status Seal(const OneStudyFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::SealStudyRequest request;
  request.set_name(MakeName(kStudies, flags.study));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::SealStudyResponse>(request));
  PrintObject(DescribeStudy(response.study()), flags.output.json);
  return OkStatus();
}

// The request names the key to replace, so that repeating it rotates only once.
Status RotateSealingKey(const OneStudyFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::GetStudyRequest known;
  known.set_name(MakeName(kStudies, flags.study));
  COPPICE_ASSIGN_OR_RETURN(const auto study, remote.Call<v1::GetStudyResponse>(known));
  if (!study.study().has_relay()) {
    return FailedPreconditionError(
        StrCat("study ", flags.study, " has no relay, so there is no key to rotate"));
  }
  v1::RotateSealingKeyRequest request;
  request.set_name(known.name());
  request.set_sealing_key_id(study.study().relay().sealing_key_id());
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::RotateSealingKeyResponse>(request));
  PrintObject(DescribeStudy(response.study()), flags.output.json);
  return OkStatus();
}

Status Delete(const OneStudyFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::DeleteStudyRequest request;
  request.set_name(MakeName(kStudies, flags.study));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::DeleteStudyResponse>(request));
  PrintObject({{"study", flags.study}, {"deleted", true}}, flags.output.json);
  return OkStatus();
}

Command AddOneStudyVerb(const Command& noun, const std::string& name,
                        const std::string& description, Status (*run)(const OneStudyFlags&)) {
  const auto flags = std::make_shared<OneStudyFlags>();
  const Command verb = noun.AddCommand(
      name, description,
      "coppice study " + name + " --study s-4f2a" + (name == "delete" ? " --yes" : ""));
  AddIdFlag(verb, "--study", flags->study, "Id of the study");
  SetRemoteAction(verb, flags, run);
  return verb;
}

}  // namespace

void AddStudyCommands(CommandLine& line) {
  const Command noun =
      line.AddGroup("study", "Studies: what is asked of devices, and at what cost");
  AddCreate(noun);
  AddStudyPreview(noun);
  AddStudyForecast(noun);
  AddStudyJoin(noun);
  AddTokens(noun);
  AddListStudies(noun);
  AddKey(noun);
  AddOneStudyVerb(noun, "show", "Show a study and how many reports it has", Show);
  AddStudyCounts(noun);
  AddStudyReports(noun);
  AddOneStudyVerb(noun, "seal", "Stop collecting for a study, permanently", Seal);
  AddOneStudyVerb(noun, "rotate-sealing-key",
                  "Give a study with a relay its next key: reports of later deals are encrypted "
                  "for it, and earlier ones can still be opened",
                  RotateSealingKey);
  AddYesFlag(AddOneStudyVerb(noun, "delete", "Delete a study, its sums and its models, permanently",
                             Delete));
}

}  // namespace coppice::cli
