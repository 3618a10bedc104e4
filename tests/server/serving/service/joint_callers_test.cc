// Callers with several credentials: whatever they show together, for every method and resource, is
// what one of the credentials shows alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "server/serving/access/access_policy.h"
#include "server/serving/access/bearer_token.h"
#include "server/serving/access/method_table.h"
#include "server/serving/calls/resource_guard.h"
#include "tests/server/serving/access/named_requests.h"

namespace coppice::service {
namespace {

using access::AccessPolicy;
using access::Credentials;
using access::Grant;
using access::Method;
using access::PolicyEntry;
using access::Role;
using access::RoleSet;
using google::protobuf::Message;
using owners::Patterns;
using owners::Resource;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

// The things that exist, by id: one of each kind.
struct Thing {
  const char* id;
  const char* owner;
};
constexpr Thing kThings[] = {
    {"a-1", "a"}, {"b-1", "b"}, {"public-1", "b"}, {"free-1", "anonymous"}, {"old", ""}};

std::optional<Resource> FindThing(std::string_view kind, std::string_view id) {
  for (const Thing& thing : kThings) {
    if (id == thing.id) return Resource{.names = {StrCat(kind, "/", id)}, .owner = thing.owner};
  }
  return std::nullopt;
}

// Each thing as a resource of every kind. They are looked at millions of times.
const std::vector<Resource>& Resources() {
  static const auto* const resources = [] {
    auto* const all = new std::vector<Resource>;
    for (const Thing& thing : kThings) {
      for (const char* kind : {"studies", "datasets", "jobs", "models", "endpoints"}) {
        all->push_back(*FindThing(kind, thing.id));
      }
    }
    return all;
  }();
  return *resources;
}

Patterns Parsed(const std::string& pattern) {
  return pattern.empty() ? Patterns() : *Patterns::Parse({pattern});
}

// Every entry of a small world: two names, each with every role and kind of pattern.
std::vector<PolicyEntry> Entries(const std::string& kind) {
  std::vector<PolicyEntry> entries;
  for (const char* name : {"a", "b"}) {
    for (const RoleSet roles :
         {RoleSet{Role::kDevice}, RoleSet{Role::kRelay}, RoleSet{Role::kAnalyst},
          RoleSet{Role::kTrainer}, RoleSet{Role::kAdmin}, RoleSet{Role::kDevice, Role::kTrainer}}) {
      for (const char* pattern : {"", "*", "*/a-*"}) {
        const std::string text = StrCat(kind, entries.size());
        entries.push_back({.name = name,
                           .sha256 = access::HashOfToken(text),
                           .roles = roles,
                           .resources = Parsed(pattern)});
      }
    }
  }
  return entries;
}

const std::vector<PolicyEntry>& Tokens() {
  static const auto* const tokens = new std::vector<PolicyEntry>(Entries("token"));
  return *tokens;
}
const std::vector<PolicyEntry>& Certificates() {
  static const auto* const certificates = new std::vector<PolicyEntry>(Entries("certificate"));
  return *certificates;
}

std::vector<Grant> AnonymousGrants() {
  return {Grant(), Grant({Role::kDevice}), Grant({Role::kAnalyst}, Parsed("*/public-*")),
          Grant({Role::kDevice, Role::kTrainer})};
}

Credentials TokenAlone(size_t i) { return {.authorization = StrCat("Bearer token", i)}; }
Credentials CertificateAlone(size_t i) { return {.certificate_sha256 = Certificates()[i].sha256}; }

// Requests that name the things, and new ones, in every combination.
std::vector<std::unique_ptr<Message>> RequestsOf(const Method& method) {
  std::vector<std::unique_ptr<Message>> requests;
  std::unique_ptr<Message> first = coppice::testing::RequestFor(method);
  if (first == nullptr) return requests;
  requests.push_back(std::move(first));
  for (const access::NamedResource& named : method.names) {
    const bool makes = named.use == access::Use::kMake;
    const std::string kind = named.kind.empty() ? "models" : std::string(named.kind);
    std::vector<std::unique_ptr<Message>> more;
    for (const auto& request : requests) {
      for (const char* id : {"a-1", "b-1", "public-1", "free-1", "a-2", "other"}) {
        std::unique_ptr<Message> next(request->New());
        next->CopyFrom(*request);
        coppice::testing::SetField(*next, named.field, makes ? id : MakeName(kind, id));
        more.push_back(std::move(next));
      }
    }
    requests = std::move(more);
  }
  return requests;
}

// What a caller may touch, whatever the request: one bit for each thing of each kind.
struct Reach {
  uint64_t sees = 0, owns = 0, relays = 0;

  friend Reach operator|(const Reach& a, const Reach& b) {
    return {a.sees | b.sees, a.owns | b.owns, a.relays | b.relays};
  }
  friend bool operator==(const Reach&, const Reach&) = default;
};

Reach ReachOf(const Caller& caller) {
  Reach reach;
  uint64_t bit = 1;
  for (const Resource& resource : Resources()) {
    if (caller.Owns(resource.owner)) reach.owns |= bit;
    if (caller.MaySee(resource)) reach.sees |= bit;
    if (caller.MayRelay(resource)) reach.relays |= bit;
    bit <<= 1;
  }
  return reach;
}

// The names that the caller may give, one bit each.
uint64_t GivesOf(const Caller& caller) {
  uint64_t gives = 0;
  uint64_t bit = 1;
  for (const char* name : {"datasets/a-2", "datasets/b-2", "datasets/public-2", "datasets/other"}) {
    if (caller.is_operator || caller.MayMake(name)) gives |= bit;
    bit <<= 1;
  }
  return gives;
}

// A request's outcome for one caller.
struct Made {
  bool admitted = false;
  std::string actor{};
  uint64_t gives = 0;
};

// The outcomes of all requests of a method for one caller.
struct Behaviour {
  bool may_call = false;
  Reach reach{};
  std::vector<Made> made{};
};

class JointCallersTest : public ::testing::Test {
 protected:
  using Requests = std::vector<std::unique_ptr<Message>>;

  Behaviour BehaviourOf(const AccessPolicy& policy, const Credentials& credentials,
                        const Method& method, const Requests& requests) const {
    Behaviour behaviour;
    behaviour.may_call = policy.Check(method.path, credentials, kNow).ok();
    if (!behaviour.may_call) return behaviour;
    const Caller caller = policy.CallerOf(method.path, credentials, kNow);
    behaviour.reach = ReachOf(caller);
    for (const auto& request : requests) {
      const StatusOr<Caller> admitted = guard_.Admit(caller, &method, *request);
      behaviour.made.push_back(
          admitted.ok()
              ? Made{.admitted = true, .actor = admitted->name, .gives = GivesOf(*admitted)}
              : Made{});
      if (!admitted.ok()) continue;
      EXPECT_EQ(ReachOf(*admitted), behaviour.reach) << "acting as another entry takes nothing";
    }
    return behaviour;
  }

  static bool Makes(const Method& method) {
    return std::any_of(method.names.begin(), method.names.end(), [](const auto& named) {
      return named.use == access::Use::kMake || named.use == access::Use::kSet;
    });
  }

  // `alone` are the token's, the certificate's, and that of a caller without credentials.
  static std::string Difference(const Method& method, const Behaviour& joint,
                                const std::vector<const Behaviour*>& alone) {
    std::vector<const Behaviour*> callers;
    Reach together;
    for (const Behaviour* one : alone) {
      if (!one->may_call) continue;
      callers.push_back(one);
      together = together | one->reach;
    }
    if (joint.may_call != !callers.empty()) return "may call another set of methods";
    if (!joint.may_call) return "";
    if (!(joint.reach == together)) return "sees, owns or relays another set of things";
    for (size_t i = 0; i < joint.made.size(); ++i) {
      const Made& made = joint.made[i];
      const auto same = [&](const Behaviour* one) {
        return one->made[i].admitted && one->made[i].actor == made.actor &&
               one->made[i].gives == made.gives;
      };
      const auto admitted = [&](const Behaviour* one) { return one->made[i].admitted; };
      if (made.admitted && std::none_of(callers.begin(), callers.end(), same)) {
        return StrCat("request ", i, " is made as no credential alone would, by ", made.actor);
      }
      const bool least = Makes(method) ? admitted(callers.front())
                                       : std::any_of(callers.begin(), callers.end(), admitted);
      if (made.admitted != least) return StrCat("request ", i, " is judged otherwise");
    }
    return "";
  }

  const ResourceGuard guard_{FindThing};
};

TEST_F(JointCallersTest, SeveralCredentialsDoWhatOneOfThemDoesAlone) {
  size_t compared = 0;
  const AccessPolicy without(Grant(), Tokens(), Certificates());
  for (const Method& method : access::AllMethods()) {
    if (method.open) continue;
    const Requests requests = RequestsOf(method);
    std::vector<Behaviour> tokens, certificates;
    for (size_t i = 0; i < Tokens().size(); ++i) {
      tokens.push_back(BehaviourOf(without, TokenAlone(i), method, requests));
      certificates.push_back(BehaviourOf(without, CertificateAlone(i), method, requests));
    }
    for (const Grant& anonymous : AnonymousGrants()) {
      const AccessPolicy policy(anonymous, Tokens(), Certificates());
      const Behaviour nobody = BehaviourOf(policy, {}, method, requests);
      for (size_t t = 0; t < tokens.size(); ++t) {
        for (size_t c = 0; c < certificates.size(); ++c) {
          Credentials both = TokenAlone(t);
          both.certificate_sha256 = Certificates()[c].sha256;
          const Behaviour joint = BehaviourOf(policy, both, method, requests);
          ASSERT_EQ(Difference(method, joint, {&tokens[t], &certificates[c], &nobody}), "")
              << method.path << " with token " << t << " of " << Tokens()[t].name << " ("
              << Tokens()[t].roles.ToString() << " of "
              << StrJoin(Tokens()[t].resources.Texts(), ", ") << ") and certificate " << c << " of "
              << Certificates()[c].name << " (" << Certificates()[c].roles.ToString() << " of "
              << StrJoin(Certificates()[c].resources.Texts(), ", ") << "), anonymous "
              << anonymous.roles.ToString();
          ++compared;
        }
      }
    }
  }
  EXPECT_GT(compared, 50u * Tokens().size() * Certificates().size());
}

}  // namespace
}  // namespace coppice::service
