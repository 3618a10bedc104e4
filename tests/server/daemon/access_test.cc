// The policy before the daemon's own server: every method, every role, over TLS.

#include "server/daemon/transport/access.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <grpcpp/grpcpp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <set>
#include <string_view>

#include "absl/time/clock.h"
#include "common/base/text.h"
#include "coppice/v1/admin.pb.h"
#include "server/serving/access/bearer_token.h"
#include "server/serving/access/method_table.h"
#include "tests/server/daemon/access_fixture.h"
#include "tests/support/status_matchers.h"

namespace coppice::daemon {
namespace {

using ::coppice::testing::Certificate;
using ::coppice::testing::Hex;
using ::coppice::testing::MakeCertificate;
using ::coppice::testing::TlsServerTest;
using ::testing::HasSubstr;

// Computes the fingerprint in another way than the daemon, through OpenSSL's own parser.
std::string OpenSslFingerprint(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  Sha256Digest digest{};
  unsigned size = 0;
  X509_digest(certificate, EVP_sha256(), digest.data(), &size);
  X509_free(certificate);
  BIO_free(bio);
  return Hex(digest);
}

std::string TokenOf(access::Role role) {
  return StrCat("coppice_token_of_", access::RoleName(role));
}

std::string TokenEntry(const std::string& token, std::string_view role) {
  return StrCat(R"({"name":"n","role":")", role, R"(","sha256":")", Hex(access::HashOfToken(token)),
                "\"}");
}

std::string PolicyOfAllRoles(std::string_view anonymous) {
  std::string tokens;
  for (const access::Role role : access::kAllRoles) {
    StrAppend(&tokens, tokens.empty() ? "" : ",",
              TokenEntry(TokenOf(role), access::RoleName(role)));
  }
  return StrCat("{\"anonymous\":[", anonymous, "],\"tokens\":[", tokens, "]}");
}

class AccessTest : public TlsServerTest {};

constexpr char kOffer[] = "/coppice.v1.StudyService/GetOffer";
constexpr char kListStudies[] = "/coppice.v1.StudyService/ListStudies";

bool IsRefusal(grpc::StatusCode code) {
  return code == grpc::StatusCode::UNAUTHENTICATED || code == grpc::StatusCode::PERMISSION_DENIED;
}

TEST_F(AccessTest, EveryMethodIsForTheRolesOfItsLineAndForNoOther) {
  Serve(PolicyOfAllRoles(""));
  for (const access::Method& line : access::AllMethods()) {
    const std::string path(line.path);
    for (const access::Role role : access::kAllRoles) {
      const grpc::StatusCode code = CallAs(path, TokenOf(role));
      EXPECT_NE(code, grpc::StatusCode::UNIMPLEMENTED) << path << " is not served";
      EXPECT_NE(code, grpc::StatusCode::UNAUTHENTICATED)
          << path << " as " << access::RoleName(role);
      EXPECT_EQ(code == grpc::StatusCode::PERMISSION_DENIED, !line.open && !line.roles.Has(role))
          << path << " as " << access::RoleName(role);
    }
    EXPECT_EQ(CallAnonymously(path) == grpc::StatusCode::UNAUTHENTICATED, !line.open) << path;
  }
}

TEST_F(AccessTest, AnonymousDevicesMayDoWhatDevicesMayAndNoMore) {
  Serve(PolicyOfAllRoles("\"device\""));
  for (const access::Method& line : access::AllMethods()) {
    const bool allowed = line.open || line.roles.Has(access::Role::kDevice);
    const grpc::StatusCode code = CallAnonymously(std::string(line.path));
    EXPECT_EQ(code != grpc::StatusCode::UNAUTHENTICATED, allowed) << line.path;
    EXPECT_NE(code, grpc::StatusCode::PERMISSION_DENIED) << line.path;
  }
}

TEST_F(AccessTest, AMalformedMessageIsInvalidForEveryMethod) {
  Serve(PolicyOfAllRoles(""));
  const std::string truncated = "\x0a\x05xx", no_utf8 = "\x0a\x02\xc3\x28";
  for (const access::Method& line : access::AllMethods()) {
    if (!StartsWith(line.path, "/coppice.")) continue;
    const std::string path(line.path);
    const std::string admin = "Bearer " + TokenOf(access::Role::kAdmin);
    const grpc::Status status = Call(path, {admin}, truncated);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << path;
    EXPECT_THAT(status.error_message(), HasSubstr("the request does not parse")) << path;
  }
  for (const char* path :
       {"/coppice.v1.StudyService/GetStudy", kOffer, "/coppice.v1.ModelService/StreamPredictions",
        "/coppice.v1.DatasetService/UploadRows", "/coppice.v1.TrainingService/WatchJob"}) {
    EXPECT_EQ(Call(path, {"Bearer " + TokenOf(access::Role::kAdmin)}, no_utf8).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << path;
  }
}

// If this fails, a method was added or renamed: give it a line in
// server/serving/access/method_table.cc.
TEST_F(AccessTest, TheTableHasALineForEachMethodOfEachServiceAndNoOthers) {
  std::vector<std::string> files;
  auto* database = google::protobuf::DescriptorPool::internal_generated_database();
  ASSERT_TRUE(database->FindAllFileNames(&files));
  std::set<std::string> methods;
  for (const std::string& name : files) {
    const auto* file = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(name);
    for (int i = 0; i < file->service_count(); ++i) {
      const auto* service = file->service(i);
      if (!StartsWith(service->full_name(), "coppice.")) continue;
      if (service->full_name() == "coppice.v1.RelayService") continue;  // of the relay
      for (int j = 0; j < service->method_count(); ++j) {
        methods.insert(StrCat("/", service->full_name(), "/", service->method(j)->name()));
      }
    }
  }
  EXPECT_GT(methods.size(), 20u);
  for (const std::string& method : methods) {
    EXPECT_NE(access::FindMethod(method), nullptr)
        << method << " has no line in server/serving/access/method_table.cc, so nobody may call it";
  }
  for (const access::Method& line : access::AllMethods()) {
    if (!StartsWith(line.path, "/coppice.")) continue;
    EXPECT_EQ(methods.count(std::string(line.path)), 1u) << line.path << " is no method";
  }
}

// The fields of a request, and of messages in it, that name a resource, such as "name" and
// "spec.dataset".
void FindNames(const google::protobuf::Descriptor& message, const std::string& prefix,
               std::set<std::string>& names) {
  static const std::set<std::string> kNaming = {"name",       "study",   "dataset",  "job",
                                                "study_id",   "job_id",  "model_id", "model",
                                                "dataset_id", "endpoint"};
  for (int i = 0; i < message.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *message.field(i);
    if (field.is_repeated()) continue;
    const std::string path = prefix + field.name();
    if (field.message_type() != nullptr) FindNames(*field.message_type(), path + ".", names);
    if (field.type() != google::protobuf::FieldDescriptor::TYPE_STRING) continue;
    if (kNaming.count(field.name()) > 0) names.insert(path);
  }
}

// If this fails, a request got a field that names a resource: say in
// server/serving/access/method_table.cc what the call does with it.
TEST(MethodResourcesTest, EveryFieldThatNamesAResourceIsInTheTable) {
  for (const access::Method& line : access::AllMethods()) {
    if (!StartsWith(line.path, "/coppice.")) continue;
    const std::string path = StrReplaceAll(line.path.substr(1), {{"/", "."}});
    const auto* method = google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(path);
    ASSERT_NE(method, nullptr) << path;
    std::set<std::string> fields, listed;
    FindNames(*method->input_type(), "", fields);
    // A preview creates nothing and ignores the study's id.
    if (path == "coppice.v1.StudyService.PreviewStudy") fields.erase("study.study_id");
    for (const access::NamedResource& named : line.names) listed.insert(std::string(named.field));
    EXPECT_EQ(fields, listed) << path;
    static const std::set<std::string> kListsOfWhatIsSeen = {
        "coppice.v1.DatasetService.ListDatasets", "coppice.v1.ModelService.ListEndpoints",
        "coppice.v1.StudyService.ListStudies"};
    EXPECT_EQ(line.scope == access::Scope::kNamed && line.names.empty(),
              kListsOfWhatIsSeen.count(path) > 0)
        << path << " names no resource, so its scope must say whom it is for";
  }
}

TEST_F(AccessTest, RefusalsSayWhatToDoAndNeverTheToken) {
  Serve(PolicyOfAllRoles(""));
  const grpc::Status none = Call(kListStudies, {});
  EXPECT_EQ(none.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(none.error_message(), HasSubstr("you showed no token: send one"));
  const grpc::Status unknown = Call(kListStudies, {"Bearer s3cr3t"});
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_THAT(unknown.error_message(), HasSubstr("ask the operator for a new one"));
  EXPECT_THAT(unknown.error_message(), ::testing::Not(HasSubstr("s3cr3t")));
  const grpc::Status wrong_role = Call(kListStudies, {"Bearer " + TokenOf(access::Role::kDevice)});
  EXPECT_EQ(wrong_role.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(wrong_role.error_message(), HasSubstr("you have device"));
}

TEST_F(AccessTest, CallsWithBadTokensAreLimitedAndSlowNobodyElse) {
  Serve(PolicyOfAllRoles(""));
  bool limited = false;
  for (int i = 0; i < 2000 && !limited; ++i) {
    const grpc::Status status = Call(kListStudies, {StrCat("Bearer guess", i)});
    limited = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
    if (limited) {
      EXPECT_THAT(status.error_message(), HasSubstr("use invalid tokens"));
    } else {
      ASSERT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    }
  }
  EXPECT_TRUE(limited);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(CallAs(kListStudies, TokenOf(access::Role::kAdmin)), grpc::StatusCode::OK);
  }
  EXPECT_EQ(CallAnonymously(kListStudies), grpc::StatusCode::UNAUTHENTICATED)
      << "a call without a token is no guess";
}

TEST_F(AccessTest, TheOperatorSeesWhenEntriesWereUsedLastAlsoAfterARestart) {
  const auto tokens = [&] {
    std::string bytes;
    EXPECT_TRUE(Call("/coppice.v1.AdminService/ListTokens",
                     {"Bearer " + TokenOf(access::Role::kAdmin)}, "", &bytes)
                    .ok());
    v1::ListTokensResponse response;
    EXPECT_TRUE(response.ParseFromString(bytes));
    return response;
  };
  const std::string today = absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone());
  Serve(PolicyOfAllRoles(""));
  EXPECT_EQ(CallAs(kOffer, TokenOf(access::Role::kDevice)), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(CallAs(kListStudies, TokenOf(access::Role::kDevice)),
            grpc::StatusCode::PERMISSION_DENIED);
  const v1::ListTokensResponse before = tokens();
  ASSERT_EQ(before.tokens_size(), 5);  // one per role
  EXPECT_EQ(before.tokens(0).last_used_day(), today);
  EXPECT_EQ(before.tokens(1).last_used_day(), "");
  EXPECT_EQ(before.tokens(4).last_used_day(), today);
  EXPECT_EQ(before.tokens(4).name(), "n");
  EXPECT_EQ(before.tokens(4).roles(0), "admin");
  EXPECT_EQ(before.tokens(4).sha256_prefix().size(), 4u);
  server_->Stop(absl::ZeroDuration());  // after it has written what waits
  server_.reset();
  jobs_.reset();
  Serve(PolicyOfAllRoles(""));
  EXPECT_EQ(tokens().tokens(0).last_used_day(), today);
}

TEST_F(AccessTest, TwoAuthorizationsAreRefused) {
  Serve(PolicyOfAllRoles(""));
  const grpc::Status status = Call(kListStudies, {"Bearer " + TokenOf(access::Role::kAdmin),
                                                  "Bearer " + TokenOf(access::Role::kAdmin)});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(AccessTest, AMethodThatIsNotThereIsForNobody) {
  Serve(PolicyOfAllRoles("\"admin\""));
  EXPECT_EQ(CallAs("/coppice.v1.StudyService/Fresh", TokenOf(access::Role::kAdmin)),
            grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(AccessTest, AReloadedPolicyHoldsForTheNextCallOfTheSameConnection) {
  Serve(StrCat("{\"tokens\":[", TokenEntry("old", "analyst"), "]}"));
  EXPECT_EQ(CallAs(kListStudies, "old"), grpc::StatusCode::OK);
  WritePolicy(StrCat("{\"tokens\":[", TokenEntry("old", "analyst"), ",",
                     TokenEntry("new", "analyst"), "]}"));
  ASSERT_OK(access_->ReloadPolicy());
  EXPECT_EQ(CallAs(kListStudies, "old"), grpc::StatusCode::OK);
  EXPECT_EQ(CallAs(kListStudies, "new"), grpc::StatusCode::OK);
  WritePolicy(StrCat("{\"tokens\":[", TokenEntry("new", "analyst"), "]}"));
  ASSERT_OK(access_->ReloadPolicy());
  EXPECT_EQ(CallAs(kListStudies, "old"), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(CallAs(kListStudies, "new"), grpc::StatusCode::OK);
}

TEST_F(AccessTest, AClientCertificateHasTheRolesOfItsFingerprint) {
  Serve(StrCat(R"({"certificates":[{"name":"lab","role":"analyst","sha256":")",
               OpenSslFingerprint(client_.certificate_pem), "\"}]}"),
        /*mutual=*/true);
  EXPECT_EQ(CallAnonymously(kListStudies), grpc::StatusCode::OK);
  EXPECT_EQ(CallAnonymously(kOffer), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(AccessTest, ACertificateThatIsNotListedHasNoRole) {
  Serve(StrCat(R"({"certificates":[{"name":"lab","role":"analyst","sha256":")",
               OpenSslFingerprint(certificate_.certificate_pem), "\"}]}"),
        /*mutual=*/true);
  EXPECT_TRUE(IsRefusal(CallAnonymously(kListStudies)));
}

TEST(CertificateSha256Test, EqualsTheFingerprintThatOpenSslPrints) {
  const Certificate certificate = MakeCertificate();
  const auto digest = CertificateSha256(certificate.certificate_pem);
  ASSERT_TRUE(digest.has_value());
  EXPECT_EQ(Hex(*digest), OpenSslFingerprint(certificate.certificate_pem));
}

TEST(CertificateSha256Test, RefusesTextThatIsNotACertificate) {
  for (const char* pem :
       {"", "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE----------BEGIN CERTIFICATE-----",
        "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n"}) {
    EXPECT_EQ(CertificateSha256(pem), std::nullopt) << pem;
  }
}

}  // namespace
}  // namespace coppice::daemon
