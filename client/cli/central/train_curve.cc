#include <grpcpp/channel.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "client/cli/central/budget_flags.h"
#include "client/cli/central/commands.h"
#include "client/cli/central/dataset_upload.h"
#include "client/cli/tables/input_table.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/text.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/training.grpc.pb.h"

namespace coppice::cli {
namespace {

constexpr size_t kMaxCurveRows = 20'000;
// Longer than the curator's own limit, so that the curator reports it.
constexpr absl::Duration kLongestCurve = absl::Hours(2);

struct CurveFlags {
  ServerFlags server;
  OutputFlags output;
  std::string data_file, schema_file, html_file;
  std::vector<std::string> algorithms, epsilons;
  std::string delta = "0";
  uint32_t repeats = 0;  // the curator chooses
  bool strict = false;
  bool force = false;
};

StatusOr<Table> ReadPublicTable(const CurveFlags& flags, const SchemaFile& schema) {
  COPPICE_ASSIGN_OR_RETURN(Table table,
                           ReadInputTable(flags.data_file, schema.schema,
                                          {.strict = flags.strict, .format = schema.format}));
  if (table.num_rows() <= kMaxCurveRows) return table;
  return InvalidArgumentError(StrCat("--data: ", flags.data_file, " has ", table.num_rows(),
                                     " rows, and a curve takes at most ", kMaxCurveRows,
                                     ": `coppice data split --parts ", "sample=", kMaxCurveRows,
                                     ",others=rest` draws as many at random"));
}

StatusOr<v1::MeasureCurveRequest> CurveRequest(const CurveFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile schema, ReadSchema(flags.schema_file));
  COPPICE_ASSIGN_OR_RETURN(const Table table, ReadPublicTable(flags, schema));
  v1::MeasureCurveRequest request;
  *request.mutable_schema() = ToProto(*schema.schema);
  *request.mutable_rows() = BlockOf(table, 0, table.num_rows());
  request.mutable_algorithms()->Add(flags.algorithms.begin(), flags.algorithms.end());
  for (const std::string& epsilon : flags.epsilons) {
    request.add_epsilon_nanos(Budget::Parse(epsilon)->nanos());
  }
  request.set_delta_atto(DeltaOf(flags.delta));
  request.set_repeats(flags.repeats);
  return request;
}

// Returns the last message of the stream.
StatusOr<v1::MeasureCurveResponse> Measure(const Remote& remote,
                                           const v1::MeasureCurveRequest& request) {
  v1::MeasureCurveResponse last;
  UpdatingLine line;
  COPPICE_RETURN_IF_ERROR(remote.Stream(kLongestCurve, [&](grpc::ClientContext& context) {
    const auto reader =
        v1::TrainingService::NewStub(remote.channel())->MeasureCurve(&context, request);
    while (reader->Read(&last)) {
      line.Show(absl::StrFormat("measuring, %.0f %%", 100 * last.progress()));
    }
    return reader->Finish();
  }));
  if (last.points_size() > 0) return last;
  return UnavailableError("the curator ended the curve without a result: try again");
}

std::optional<double> WithoutPrivacy(const v1::MeasureCurveResponse& curve,
                                     const std::string& algorithm) {
  for (const v1::CurvePoint& point : curve.points()) {
    if (point.epsilon_nanos() == 0 && point.algorithm() == algorithm) return point.mean();
  }
  return std::nullopt;
}

// Prints lines as `coppice-lab curve --json` does.
std::vector<Json> Lines(const v1::MeasureCurveResponse& curve, const char* measure) {
  std::vector<Json> lines;
  for (const v1::CurvePoint& point : curve.points()) {
    if (point.epsilon_nanos() == 0) continue;
    const std::optional<double> without = WithoutPrivacy(curve, point.algorithm());
    lines.push_back(
        {{"algorithm", point.algorithm()},
         {"epsilon", EpsilonNumber(point.epsilon_nanos())},
         {measure, {{"mean", point.mean()}, {"std", point.deviation()}, {"n", curve.repeats()}}},
         {"non_private", without ? Json(*without) : Json()}});
  }
  return lines;
}

std::vector<Json> RowsForPeople(const v1::MeasureCurveResponse& curve, const char* measure) {
  std::vector<Json> rows;
  for (const v1::CurvePoint& point : curve.points()) {
    const Json epsilon = point.epsilon_nanos() == 0 ? Json("no privacy")
                                                    : Json(EpsilonNumber(point.epsilon_nanos()));
    rows.push_back({{"algorithm", point.algorithm()},
                    {"epsilon", epsilon},
                    {measure, point.mean()},
                    {"std", point.deviation()}});
  }
  return rows;
}

Status MeasureAndPrint(const CurveFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const v1::MeasureCurveRequest request, CurveRequest(flags));
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const v1::MeasureCurveResponse curve, Measure(remote, request));
  if (!flags.html_file.empty()) {
    COPPICE_RETURN_IF_ERROR(WriteResult(flags.html_file, curve.page(), flags.force));
    if (flags.html_file == "-") return OkStatus();
  }
  const char* const measure = request.schema().has_target() ? "rmse" : "accuracy";
  PrintRows(flags.output.json ? Lines(curve, measure) : RowsForPeople(curve, measure),
            flags.output.json);
  return OkStatus();
}

}  // namespace

void AddTrainCurve(const Command& noun) {
  const auto flags = std::make_shared<CurveFlags>();
  const Command verb = noun.AddCommand(
      "curve",
      "Measure the accuracy at each epsilon on a public table; touches no dataset and no budget",
      "coppice train curve --data public.csv --schema schema.json --epsilon 0.1,1 "
      "--output curve.html");
  verb.Add("--data", flags->data_file,
           "Public rows, CSV or LIBSVM, 20,000 at most; - is stdin, read as CSV")
      .Takes("FILE")
      .Required();
  verb.Add("--schema", flags->schema_file, "Their schema, JSON (docs/schema.md)")
      .Takes("FILE")
      .Required();
  verb.Add("--algorithm", flags->algorithms,
           "Up to 4, separated by commas; `coppice train algorithms` describes them (default: the "
           "curator's choice)")
      .SplitAt(',');
  verb.Add("--epsilon", flags->epsilons,
           "Up to 8, separated by commas; a run without privacy is always added (default: the "
           "curator's choice)")
      .SplitAt(',')
      .Check([](const std::string& text) {
        return std::string(Budget::Parse(text).status().message());
      });
  AddDeltaFlag(verb, "--delta", flags->delta, "Delta of each model; 0: pure epsilon-DP");
  verb.Add("--repeats", flags->repeats,
           "Number of random splits into training and test rows (default: the curator's choice)")
      .InRange(1u, 20u);
  verb.AddSwitch("--strict", flags->strict,
                 "Refuse values outside the schema's bounds instead of clamping them");
  verb.Add("--output", flags->html_file,
           "Write the curve as a page into this file, for people; - is stdout")
      .Takes("FILE");
  verb.AddSwitch("--force", flags->force, "Replace the page if there is one");
  SetRemoteAction(verb, flags, MeasureAndPrint);
}

}  // namespace coppice::cli
