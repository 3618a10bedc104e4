// Measures how many bytes an offer takes, to a device and to a gateway, and what they are made of.
// Uses real rows, and a real service over the loopback.
//
//   offer_bench --schema FILE --data FILE [--public N ...] [--trees N] [--depth N] [--devices N]

#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/study.grpc.pb.h"
#include "server/curator/studies/studies.h"
#include "server/serving/grpc/services.h"
#include "server/serving/service/handlers.h"
#include "tests/support/memory_store.h"

namespace coppice {
namespace {

struct Flags {
  std::string schema, data;
  std::vector<size_t> public_rows = {200, 1000};
  uint32_t trees = 64, depth = 8;
  int devices = 200;
};

std::shared_ptr<const Table> FirstRows(const Table& table, size_t rows) {
  std::vector<size_t> indices(std::min(rows, table.num_rows()));
  std::iota(indices.begin(), indices.end(), size_t{0});
  return std::make_shared<const Table>(table.Select(indices));
}

// Means over offers.
struct Bytes {
  double message = 0, schema = 0, tree = 0, path = 0, tickets = 0, manifest = 0;
  double forest = 0;
};

class Curator {
 public:
  Curator() {
    studies_ = *curator::Studies::Open(store_, models_, [] { return int64_t{0}; });
    handlers_ = std::make_unique<service::StudyHandlers>(*studies_, limiter_);
    handlers_->Register(registry_);
    services_ =
        std::make_unique<rpc::Services>(registry_,
                                        service::Lanes{.pool = pool_,
                                                       .builds = pool_,
                                                       .previews = pool_,
                                                       .plans = pool_,
                                                       .openings = pool_,
                                                       .evaluations = pool_,
                                                       .intake = intake_},
                                        [](const grpc::CallbackServerContext&, std::string_view) {
                                          return owners::Caller::Operator();
                                        });
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    services_->RegisterWith(builder);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
    stub_ = v1::StudyService::NewStub(
        grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  }
  ~Curator() { server_->Shutdown(); }

  curator::Studies& studies() { return *studies_; }

  std::string ManifestHash(const v1::GetOfferRequest& request) {
    grpc::ClientContext context;
    v1::GetOfferResponse response;
    if (!stub_->GetOffer(&context, request, &response).ok()) std::abort();
    const Sha256Digest hash = Sha256({response.manifest().manifest()});
    return {hash.begin(), hash.end()};
  }

  Bytes Offers(const v1::GetOfferRequest& request, const Schema& schema, int count) {
    Bytes sum;
    for (int i = 0; i < count; ++i) {
      grpc::ClientContext context;
      v1::GetOfferResponse response;
      if (!stub_->GetOffer(&context, request, &response).ok()) std::abort();
      sum.message += static_cast<double>(response.ByteSizeLong());
      if (!response.terms().empty()) {
        sum.schema += static_cast<double>(ToProto(schema).ByteSizeLong());
      }
      sum.manifest += static_cast<double>(response.manifest().ByteSizeLong());
      sum.tree += static_cast<double>(response.tree().size());
      sum.path += static_cast<double>(response.tree_path().size());
      for (const std::string& ticket : response.tickets()) {
        sum.tickets += static_cast<double>(ticket.size());
      }
      for (const std::string& tree : response.forest()) {
        sum.forest += static_cast<double>(tree.size());
      }
    }
    for (double* value : {&sum.message, &sum.schema, &sum.tree, &sum.path, &sum.tickets,
                          &sum.manifest, &sum.forest}) {
      *value /= count;
    }
    return sum;
  }

 private:
  testing::MemoryStore store_;
  service::WorkerPool pool_{1, 16};
  service::MessageIntake intake_;
  RateLimiter limiter_{{.rate = 0}, absl::Now};
  models::Models models_;
  std::unique_ptr<curator::Studies> studies_;
  const service::ResourceGuard guard_{
      [](std::string_view, std::string_view) { return std::optional<owners::Resource>(); }};
  std::unique_ptr<service::StudyHandlers> handlers_;
  service::HandlerRegistry registry_{guard_};
  std::unique_ptr<rpc::Services> services_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  std::unique_ptr<v1::StudyService::Stub> stub_;
};

void Print(const std::string& who, const curator::StudyInfo& study, const Bytes& bytes) {
  double leaves = 0;
  for (const Tree& tree : *study.forest) leaves += tree.num_leaves();
  std::printf(
      "{\"offer\":\"%s\",\"public_rows\":%llu,\"trees\":%u,\"leaves_a_tree\":%.1f,"
      "\"message\":%.0f,\"schema\":%.0f,\"tree\":%.0f,\"path\":%.0f,"
      "\"tickets\":%.0f,\"manifest\":%.0f,\"forest\":%.0f}\n",
      who.c_str(), static_cast<unsigned long long>(study.public_rows), study.terms->trees,
      leaves / study.terms->trees, bytes.message, bytes.schema, bytes.tree, bytes.path,
      bytes.tickets, bytes.manifest, bytes.forest);
  std::fflush(stdout);
}

Status Measure(const Flags& flags, const Table& table, size_t public_rows, Curator& curator) {
  const Budget epsilon = *Budget::Parse("1");
  const auto study = curator.studies().Create({.id = "",
                                               .request_id = std::to_string(public_rows),
                                               .public_rows = FirstRows(table, public_rows),
                                               .partition = {.rule = curator::SplitRule::kCart,
                                                             .max_depth = flags.depth,
                                                             .trees = flags.trees},
                                               .epsilon = epsilon,
                                               .mechanism = MechanismKind::kOptimizedUnary});
  if (!study.ok()) return study.status();
  v1::GetOfferRequest request;
  request.set_name(MakeName(kStudies, study->id));
  const Schema& schema = *study->terms->schema;
  Print("device", *study, curator.Offers(request, schema, flags.devices));
  request.set_known_fingerprint(std::string(study->fingerprint.begin(), study->fingerprint.end()));
  Print("device that knows the terms alone", *study,
        curator.Offers(request, schema, flags.devices));
  request.set_known_manifest(curator.ManifestHash(request));
  Print("device that knows the terms", *study, curator.Offers(request, schema, flags.devices));
  request.clear_known_fingerprint();
  request.clear_known_manifest();
  request.set_whole_forest(true);
  Print("whole forest", *study, curator.Offers(request, schema, 1));
  return OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Bytes of an offer on the wire, for one device and for a gateway", "offer_bench");
  app.add_option("--schema", flags.schema, "Schema, JSON")->required();
  app.add_option("--data", flags.data, "Table whose first rows are the public ones")->required();
  app.add_option("--public", flags.public_rows, "How many public rows")->capture_default_str();
  app.add_option("--trees", flags.trees, "Trees")->capture_default_str();
  app.add_option("--depth", flags.depth, "Largest depth of a leaf")->capture_default_str();
  app.add_option("--devices", flags.devices, "Offers to average over")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const auto schema = ReadSchema(flags.schema);
  const auto file =
      schema.ok() ? ReadTable(flags.data, schema->schema) : StatusOr<TableFile>(schema.status());
  Status status = file.status();
  Curator curator;
  for (const size_t rows : flags.public_rows) {
    if (status.ok()) status = Measure(flags, file->table, rows, curator);
  }
  if (!status.ok()) std::fprintf(stderr, "offer_bench: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
