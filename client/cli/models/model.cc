#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/models/commands.h"
#include "client/cli/models/model_source.h"
#include "client/cli/tables/input_table.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/describe/paperwork.h"
#include "common/describe/verdict.h"
#include "common/pages/pages.h"
#include "common/table/rows_digest.h"
#include "common/terms/public_key_file.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {
namespace {

// ---- build

struct BuildFlags {
  ServerFlags server;
  OutputFlags output;
  std::string study, model;
  std::string estimator;
  std::string lambda, evidence;
  std::string where, where_other;
  uint64_t max_model_bytes = 0;
};

const std::map<std::string, v1::Evidence> kEvidence = {{"both", v1::EVIDENCE_UNSPECIFIED},
                                                       {"reports", v1::EVIDENCE_REPORTS},
                                                       {"public", v1::EVIDENCE_PUBLIC}};

bool ParseLambda(const std::string& text, double& lambda) {
  return SimpleAtod(text, &lambda) && !std::isnan(lambda) && lambda >= 0;
}

std::string CheckLambda(const std::string& text) {
  double lambda = 0;
  return ParseLambda(text, lambda)
             ? ""
             : "needs a number from 0 (private reports only) to inf (public rows only)";
}

// Leaves to the curator what no flag says.
void SetEstimator(const BuildFlags& flags, v1::BuildModelRequest& request) {
  if (flags.estimator == "prune") request.mutable_prune();
  const v1::Evidence evidence =
      flags.evidence.empty() ? v1::EVIDENCE_UNSPECIFIED : kEvidence.at(flags.evidence);
  if (flags.estimator.empty()) request.set_evidence(evidence);
  if (flags.estimator == "pooled") request.mutable_pooled()->set_evidence(evidence);
  if (flags.estimator == "smooth") request.mutable_smooth()->set_evidence(evidence);
  if (flags.estimator != "weighted") return;
  v1::WeightedEstimator& weighted = *request.mutable_weighted();
  double lambda = 0;
  if (ParseLambda(flags.lambda, lambda)) weighted.set_lambda(lambda);
}

// Checks "plan=gold"; "plan=" selects rows where the value is missing.
std::string CheckWhere(const std::string& text) {
  const size_t name_bytes = text.find('=');
  const bool fits = name_bytes != std::string::npos && name_bytes > 0;
  return fits ? "" : "needs FEATURE=VALUE, or FEATURE= where the value is missing";
}

void SetWhere(const BuildFlags& flags, v1::BuildModelRequest& request) {
  if (!flags.where_other.empty()) {
    request.mutable_where()->set_feature(flags.where_other);
    request.mutable_where()->set_other(true);
  }
  if (flags.where.empty()) return;
  const size_t name_bytes = flags.where.find('=');
  v1::FeatureValue& where = *request.mutable_where();
  where.set_feature(flags.where.substr(0, name_bytes));
  const std::string category = flags.where.substr(name_bytes + 1);
  if (category.empty()) {
    where.set_missing(true);
  } else {
    where.set_category(category);
  }
}

Status Build(const BuildFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::BuildModelRequest request;
  request.set_study(MakeName(kStudies, flags.study));
  request.set_model_id(flags.model);
  SetEstimator(flags, request);
  SetWhere(flags, request);
  request.set_max_model_bytes(flags.max_model_bytes);
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::BuildModelResponse>(request));
  PrintObject(DescribeModel(response.model()), flags.output.json);
  return OkStatus();
}

void AddBuild(const Command& noun) {
  const auto flags = std::make_shared<BuildFlags>();
  const Command verb =
      noun.AddCommand("build", "Build a model from a study's reports; costs no further privacy",
                      "coppice model build --study s-4f2a");
  AddIdFlag(verb, "--study", flags->study, "Id of the study");
  const Flag estimator =
      verb.Add("--estimator", flags->estimator,
               "smooth: what the public rows predict, corrected by the reports. pooled: all "
               "trees as one. The paper's: weighted by --lambda, or prune (default: weighted with "
               "--lambda, or the curator's choice: smooth with public labels, unless "
               "study create was given other trees, pooled otherwise)")
          .OneOf({"weighted", "prune", "pooled", "smooth"});
  const Flag lambda =
      verb.Add("--lambda", flags->lambda,
               "For weighted: how many private rows a public row counts as; 0 to inf (default: the "
               "curator's choice)")
          .Check(CheckLambda, "NUMBER");
  const Flag evidence =
      verb.Add("--evidence", flags->evidence,
               "For pooled or smooth: both; reports, if public labels cannot be trusted; "
               "or public, to see what there is without reports (default: the "
               "curator's choice)")
          .OneOf({"both", "reports", "public"});
  const Flag where =
      verb.Add("--where", flags->where,
               "For pooled or smooth: use only the reports with this value of a public feature; "
               "FEATURE= "
               "selects reports where it is missing. Needs a study by that feature (study create "
               "--by), or one whose features are all public")
          .Check(CheckWhere, "FEATURE=VALUE");
  const Flag where_other =
      verb.Add("--where-other", flags->where_other,
               "The same for the reports whose value of the feature is not in the schema")
          .Check(
              [](const std::string& name) {
                return name.empty() ? "needs the name of a feature" : "";
              },
              "FEATURE")
          .Excludes(where);
  AddIdFlag(verb, "--model", flags->model, "Id of the new model (default: the curator's choice)",
            /*required=*/false);
  verb.Add("--max-model-bytes", flags->max_model_bytes,
           "Do not keep the model if it is larger; 0: the curator's limit")
      .Takes("N")
      .ShowDefault();
  AddOutputFlags(verb, flags->output);
  AddServerFlags(verb, flags->server);
  verb.CheckFlags([flags, estimator, lambda, evidence, where, where_other] {
    if (!estimator.IsGiven() && lambda.IsGiven()) flags->estimator = "weighted";
    if (flags->estimator != "weighted" && lambda.IsGiven()) {
      return InvalidArgumentError("--lambda: is for --estimator weighted only");
    }
    const std::string& named = flags->estimator;
    if (named.empty() || named == "pooled" || named == "smooth") return OkStatus();
    for (const Flag& flag : {evidence, where, where_other}) {
      if (!flag.IsGiven()) continue;
      return InvalidArgumentError(
          StrCat(flag.name(), ": is for --estimator pooled or smooth only"));
    }
    return OkStatus();
  });
  SetAction(verb, flags, Build);
}

// ---- list

struct ModelListFlags {
  ServerFlags server;
  OutputFlags output;
  std::string study;
};

Status ListModels(const ModelListFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  std::vector<Json> rows;
  v1::ListModelsRequest request;
  if (!flags.study.empty()) request.set_study(MakeName(kStudies, flags.study));
  COPPICE_RETURN_IF_ERROR(
      remote.ForEachPage<v1::ListModelsResponse>(request, [&](const auto& page) {
        for (const v1::Model& model : page.models()) rows.push_back(DescribeModelBriefly(model));
      }));
  PrintRows(rows, flags.output.json);
  return OkStatus();
}

void AddListModels(const Command& noun) {
  const auto flags = std::make_shared<ModelListFlags>();
  const Command verb =
      noun.AddCommand("list", "List models", "coppice model list --study s-4f2a --json");
  AddIdFlag(verb, "--study", flags->study, "Only the models of this study", /*required=*/false);
  SetRemoteAction(verb, flags, ListModels);
}

// ---- delete

Status Delete(const ModelFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::DeleteModelRequest request;
  request.set_name(MakeName(kModels, flags.model));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::DeleteModelResponse>(request));
  PrintObject({{"model", flags.model}, {"deleted", true}}, flags.output.json);
  return OkStatus();
}

void AddDelete(const Command& noun) {
  const auto flags = std::make_shared<ModelFlags>();
  const Command verb =
      noun.AddCommand("delete", "Delete a model that no endpoint serves; what it cost stays spent",
                      "coppice model delete --model m-91c0 --yes");
  AddYesFlag(verb,
             "Confirm: the model cannot be brought back; `coppice model export` keeps a copy");
  AddModelFlags(verb, *flags);
  SetAction(verb, flags, Delete);
}

// ---- verify

struct VerifyFlags : ModelOrFileFlags {
  std::string html_file;
  bool registry = false;
  std::string curator_key;
  std::string public_file;
  std::vector<std::string> missing;
  bool force = false;
};

std::string Today() { return absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()); }

// The digest of --public, read with the model's schema as the owner of the job read it.
StatusOr<std::string> PublicDigest(const VerifyFlags& flags, const v1::Model& model) {
  COPPICE_ASSIGN_OR_RETURN(Schema schema, ParseSchema(model.schema()));
  const bool has_classes = !schema.target().has_value();
  COPPICE_ASSIGN_OR_RETURN(
      const Table rows,
      ReadInputTable(flags.public_file, std::make_shared<const Schema>(std::move(schema)),
                     {.allow_unlabelled = has_classes, .format = {.missing = flags.missing}}));
  return RowsDigest(rows);
}

Status Verify(const VerifyFlags& flags) {
  std::optional<PublicKey> curator_key;
  if (!flags.curator_key.empty()) {
    COPPICE_ASSIGN_OR_RETURN(curator_key, ReadPublicKey(flags.curator_key));
  }
  COPPICE_ASSIGN_OR_RETURN(const v1::Model model, GetModel(flags));
  Verdict verdict = VerifyModel(model, curator_key);
  if (!flags.public_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const std::string digest, PublicDigest(flags, model));
    AddPublicRows(model.certificate(), digest, verdict);
  }
  if (!flags.html_file.empty()) {
    COPPICE_RETURN_IF_ERROR(
        WriteResult(flags.html_file, report::CertificatePage(verdict.json), flags.force));
    if (flags.html_file == "-") return verdict.status;
  }
  if (flags.registry) {
    COPPICE_RETURN_IF_ERROR(verdict.status);  // a model that must be refused is not registered
    COPPICE_ASSIGN_OR_RETURN(const std::string entry, RegistryEntry(model, Today()));
    PrintText(entry);
    return OkStatus();
  }
  if (flags.output.json) {
    PrintObject(verdict.json, /*json=*/true);
    return verdict.status;
  }
  PrintRows(verdict.json["releases"].get<std::vector<Json>>(), /*json=*/false);
  for (const char* shown_apart : {"releases", "words", "questions"}) {
    verdict.json.erase(shown_apart);
  }
  PrintText("\n");
  PrintObject(verdict.json, /*json=*/false);
  PrintText(ToText(verdict.words));
  return verdict.status;
}

void AddVerify(const Command& noun) {
  const auto flags = std::make_shared<VerifyFlags>();
  const Command verb =
      noun.AddCommand("verify",
                      "List what a model released, check that the releases add up to its epsilon, "
                      "check its signature, and explain what that means",
                      "coppice model verify --model m-91c0 --curator-key curator.pem");
  AddPublicKeyFlag(verb, "--curator-key", flags->curator_key,
                   "Public key of the curator, as `coppice study key` prints it: refuse a model "
                   "that was signed neither by it nor by a key that it endorses");
  const Flag public_rows =
      verb.Add("--public", flags->public_file,
               "Public rows that the job was trained from, CSV or LIBSVM: refuse the model unless "
               "its certificate names just these; - is stdin")
          .Takes("FILE");
  verb.Add("--missing", flags->missing,
           "Texts that stand for a missing value in --public besides the empty one, by commas: "
           "NA,?")
      .SplitAt(',')
      .Needs(public_rows);
  verb.Add("--html", flags->html_file,
           "Write the certificate as a page too, for people; - is stdout")
      .Takes("FILE");
  verb.AddSwitch("--registry", flags->registry,
                 "Print instead, as YAML, an entry of the public registry of deployments of "
                 "differential privacy; what only a person can say is marked TO SAY");
  verb.AddSwitch("--force", flags->force, "Replace the page if there is one");
  AddModelOrFileFlags(verb, flags);
  SetAction(verb, flags, Verify);
}

}  // namespace

void AddModelCommands(CommandLine& line) {
  const Command noun =
      line.AddGroup("model", "Models: built from a study's sums, or trained by a job");
  AddBuild(noun);
  AddListModels(noun);
  AddShow(noun);
  AddPredict(noun);
  AddEvaluate(noun);
  AddExplain(noun);
  AddExport(noun);
  AddDelete(noun);
  AddVerify(noun);
}

}  // namespace coppice::cli
