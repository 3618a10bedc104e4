#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "client/cli/studies/commands.h"
#include "client/cli/studies/public_rows.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/relay_flags.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/evaluation/class_evaluation.h"
#include "common/evaluation/number_evaluation.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {
namespace {

// Output flags of commands that forecast.
struct ForecastOutput {
  OutputFlags output;
  std::string html_file;
  bool force = false;
};

struct PreviewStudyFlags : ForecastOutput {
  ServerFlags server;
  PublicRowsFlags rows;
  std::string mechanism = "auto";
  std::vector<Budget> epsilons;
  std::vector<uint64_t> devices;
  uint32_t max_payload = 0;
  std::optional<uint64_t> seed;
  RelayFlags relay;
};

struct ForecastFlags : ForecastOutput {
  ServerFlags server;
  std::string study;
  std::vector<uint64_t> devices;
};

StatusOr<v1::PreviewStudyRequest> PreviewRequest(const PreviewStudyFlags& flags) {
  v1::PreviewStudyRequest request;
  v1::CreateStudyRequest& study = *request.mutable_study();
  COPPICE_RETURN_IF_ERROR(AddPublicRows(flags.rows, study));
  if (flags.seed) study.mutable_partition()->set_seed(*flags.seed);
  if (flags.mechanism != "auto") {
    study.set_mechanism(ToProto(*ParseMechanism(flags.mechanism)));
  } else if (flags.max_payload > 0) {
    study.mutable_choose_mechanism()->set_max_payload_bytes(flags.max_payload);
  }
  for (const Budget& epsilon : flags.epsilons) request.add_epsilon_nanos(epsilon.nanos());
  request.mutable_devices()->Add(flags.devices.begin(), flags.devices.end());
  COPPICE_RETURN_IF_ERROR(SetRelay(flags.relay, *study.mutable_settings()));
  request.set_with_page(!flags.html_file.empty());
  return request;
}

// What always answering one class achieves, and whether any study is forecast to do better.
std::string MajorityNote(const v1::CreateStudyRequest& study,
                         const v1::PreviewStudyResponse& response) {
  const Majority majority =
      MajorityOf(study.public_labels(), static_cast<uint32_t>(study.schema().classes_size()));
  double best = response.public_only().mean();
  for (const v1::Outlook& outlook : response.outlooks()) {
    best = std::max(best, outlook.accuracy().mean());
  }
  return absl::StrFormat(
      "Always answering %s: %.3f of the public rows.%s",
      study.schema().classes(static_cast<int>(majority.label)), majority.share,
      best > majority.share ? "" : " None of these studies is expected to beat that.");
}

// The error of always answering the mean of the public rows.
std::string MeanNote(const v1::CreateStudyRequest& study) {
  const MeanAnswer mean = MeanAnswerFor(study.public_numbers());
  return absl::StrFormat("Always answering the mean, %.4g: an error of %.4g on the public rows.",
                         mean.value, mean.rmse);
}

// Prints nothing if public labels are not used.
void NotePublicOnly(const v1::PreviewStudyResponse& response) {
  const bool numbers = response.has_public_only_rmse();
  if (!numbers && !response.has_public_only()) return;
  const v1::Interval& level = numbers ? response.public_only_rmse() : response.public_only();
  const std::string range =
      numbers ? absl::StrFormat("an error (RMSE) of %.4g (%.4g to %.4g)", level.mean(), level.low(),
                                level.high())
              : absl::StrFormat("%.3f (%.3f to %.3f)", level.mean(), level.low(), level.high());
  Note(StrCat("Public labels alone: ", range, "."));
}

void NoteBaseline(const v1::CreateStudyRequest& study, const v1::PreviewStudyResponse& response) {
  if (response.has_public_only_rmse()) {
    Note(MeanNote(study));
  } else if (response.has_public_only()) {
    Note(MajorityNote(study, response));
  }
}

void NoteFeatures(const v1::PreviewStudyResponse& response) {
  for (const v1::FeatureWorth& worth : response.public_features()) {
    const std::string worse = response.has_public_only_rmse()
                                  ? absl::StrFormat("error %+.4g", worth.gain())
                                  : absl::StrFormat("accuracy %+.3f", -worth.gain());
    Note(absl::StrFormat("Were %s private: %s, reports worth %.0f rows less.", worth.name(), worse,
                         worth.equivalent_rows()));
  }
}

void NoteReaders(const v1::PreviewStudyResponse& response) {
  const bool hides_in_crowd =
      std::any_of(response.outlooks().begin(), response.outlooks().end(),
                  [](const v1::Outlook& one) { return one.readers_epsilon_nanos() > 0; });
  if (!hides_in_crowd) return;
  Note(
      "readers_epsilon is the guarantee towards people who see only models built after sealing, if "
      "90 % of the devices are honest and the curator keeps tickets and arrival times to itself. "
      "Towards everyone else it is epsilon.");
}

void NoteSample(uint64_t given, const v1::PreviewStudyResponse& response) {
  if (response.public_rows() >= given) return;
  Note(StrCat("A sample: ", response.public_rows(), " of the ", given,
              " public rows. With all of them public labels say more."));
}

void NoteRelay(const v1::PreviewStudyResponse& response) {
  if (!response.has_relay()) return;
  Note(absl::StrFormat(
      "relay_epsilon is the guarantee towards the curator, if batches have at least %d reports, of "
      "which %g %% are dishonest, and the relay deals tickets at random and tells nobody who has "
      "which. If the relay and the curator collude, only epsilon holds.",
      response.relay().min_batch(), response.relay().dishonest_millionths() / 1e4));
}

bool PromisesOfRelay(const v1::PreviewStudyResponse& response) {
  return std::any_of(response.outlooks().begin(), response.outlooks().end(),
                     [](const v1::Outlook& one) { return one.relay_epsilon_nanos() > 0; });
}

void PrintOutlooks(const v1::PreviewStudyResponse& response, bool json, bool with_relay) {
  std::vector<Json> rows;
  for (const v1::Outlook& outlook : response.outlooks()) {
    rows.push_back(DescribeOutlook(outlook, with_relay));
  }
  PrintRows(rows, json);
}

Status WritePage(const ForecastOutput& flags, const v1::PreviewStudyResponse& response) {
  if (flags.html_file.empty()) return OkStatus();
  return WriteResult(flags.html_file, response.page(), flags.force);
}

Status Preview(const PreviewStudyFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const v1::PreviewStudyRequest request, PreviewRequest(flags));
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const auto response, remote.Call<v1::PreviewStudyResponse>(request));
  COPPICE_RETURN_IF_ERROR(WritePage(flags, response));
  if (flags.html_file == "-") return OkStatus();
  NoteSample(static_cast<uint64_t>(request.study().public_rows_size()), response);
  PrintOutlooks(response, flags.output.json, response.has_relay());
  NotePublicOnly(response);
  NoteBaseline(request.study(), response);
  NoteFeatures(response);
  Note(response.advice());
  NoteReaders(response);
  NoteRelay(response);
  return OkStatus();
}

Status Forecast(const ForecastFlags& flags) {
  v1::ForecastStudyRequest request;
  request.set_name(MakeName(kStudies, flags.study));
  request.mutable_devices()->Add(flags.devices.begin(), flags.devices.end());
  request.set_with_page(!flags.html_file.empty());
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const auto answer, remote.Call<v1::ForecastStudyResponse>(request));
  const v1::PreviewStudyResponse& forecast = answer.forecast();
  COPPICE_RETURN_IF_ERROR(WritePage(flags, forecast));
  if (flags.html_file == "-") return OkStatus();
  const bool with_relay = PromisesOfRelay(forecast);
  PrintOutlooks(forecast, flags.output.json, with_relay);
  NotePublicOnly(forecast);
  NoteFeatures(forecast);
  Note(forecast.advice());
  NoteReaders(forecast);
  if (with_relay) NoteRelay(forecast);
  return OkStatus();
}

void AddDevicesFlag(const Command& verb, std::vector<uint64_t>& devices) {
  verb.Add("--devices", devices,
           "Number of devices; several, separated by commas (default: the curator's choice)")
      .SplitAt(',')
      .InRange(uint64_t{1}, uint64_t{10'000'000'000});
}

void AddPageFlags(const Command& verb, ForecastOutput& flags) {
  verb.Add("--html", flags.html_file, "Write the forecast as a page too, for people; - is stdout")
      .Takes("FILE");
  verb.AddSwitch("--force", flags.force, "Replace the page if there is one");
}

}  // namespace

void AddStudyPreview(const Command& noun) {
  const auto flags = std::make_shared<PreviewStudyFlags>();
  const Command verb =
      noun.AddCommand("preview",
                      "Predict a study's accuracy from its public rows (a sample of 20,000 if "
                      "there are more); creates nothing",
                      "coppice study preview --public public.csv --schema schema.json "
                      "--epsilon 1,2,4 --devices 10000");
  AddPublicRowsFlags(verb, flags->rows);
  AddEpsilonsFlag(
      verb, "--epsilon", flags->epsilons,
      "Epsilon of one report; several, separated by commas (default: the curator's choice)");
  AddDevicesFlag(verb, flags->devices);
  verb.Add("--mechanism", flags->mechanism, "One by name, or auto: the best for each")
      .Check([](const std::string& name) {
        return name == "auto" ? std::string()
                              : std::string(ParseMechanism(name).status().message());
      })
      .ShowDefault();
  verb.Add("--max-payload", flags->max_payload, "For auto: largest payload of a report, in bytes")
      .ForResearch();
  AddBatchFlags(verb, flags->relay);
  verb.Add("--seed", flags->seed,
           "Seed of partitions and of the simulation; public (default: the curator's choice)")
      .ForResearch();
  AddPageFlags(verb, *flags);
  SetRemoteAction(verb, flags, Preview);
}

void AddStudyForecast(const Command& noun) {
  const auto flags = std::make_shared<ForecastFlags>();
  const Command verb =
      noun.AddCommand("forecast", "Predict the accuracy of an existing study from its public rows",
                      "coppice study forecast --study s-4f2a --devices 1000,10000");
  AddIdFlag(verb, "--study", flags->study, "Id of the study");
  AddDevicesFlag(verb, flags->devices);
  AddPageFlags(verb, *flags);
  SetRemoteAction(verb, flags, Forecast);
}

}  // namespace coppice::cli
