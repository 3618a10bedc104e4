#include "server/lab/liars.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/ldp/bit_payload.h"
#include "common/ldp/subset_selection.h"
#include "common/ldp/symbol_response.h"
#include "common/ldp/unary_vector.h"

namespace coppice {
namespace {

constexpr struct {
  Attack attack;
  absl::string_view name;
} kAttacks[] = {
    {Attack::kLabel, "label"},
    {Attack::kGiven, "given"},
    {Attack::kChosen, "chosen"},
};

struct Push {
  uint32_t symbol = 0;
  double strength = 0;  // in cells
};

// The symbol of a column that speaks for the most cells of `target` more than of other classes.
Push WorstSymbol(const SymbolResponse& mechanism, uint32_t column, uint32_t target) {
  const Domain& domain = mechanism.domain();
  // Classes beside the target share the blame, so that a push on all cells is none.
  const double against = -1.0 / (domain.classes - 1);
  std::vector<double> strength(mechanism.symbols());
  for (size_t cell = 0; cell < domain.cells(); ++cell) {
    const double sign = cell % domain.classes == target ? 1 : against;
    const uint32_t symbol = mechanism.SymbolOf(column, cell);
    strength[symbol] += sign;
    // Here a block's other sign speaks against the cell.
    if (mechanism.kind() == MechanismKind::kHadamardResponse) strength[symbol ^ 1] -= sign;
  }
  const auto worst = std::max_element(strength.begin(), strength.end());
  return {.symbol = static_cast<uint32_t>(std::distance(strength.begin(), worst)),
          .strength = *worst};
}

std::string SymbolPayload(uint32_t symbol, size_t bytes) {
  std::string payload(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) payload[i] = static_cast<char>(symbol >> (8 * i));
  return payload;
}

// All cells of the target, and then others until there are enough, but not more than are accepted.
std::string UnaryPayload(const UnaryVector& mechanism, uint32_t target) {
  const Domain& domain = mechanism.domain();
  std::string payload(BitPayloadBytes(domain.cells()), '\0');
  size_t ones = 0;
  for (uint32_t turn = 0; turn < domain.classes; ++turn) {
    const size_t most = turn == 0 ? mechanism.max_ones() : mechanism.min_ones();
    for (size_t leaf = 0; leaf < domain.leaves && ones < most; ++leaf, ++ones) {
      FlipBit(payload, leaf * domain.classes + (target + turn) % domain.classes);
    }
  }
  return payload;
}

// The first `count` of a random order.
std::vector<size_t> Draw(size_t count, std::vector<size_t> from, PublicRandom& random) {
  for (size_t i = 0; i < count; ++i) std::swap(from[i], from[i + random.Below(from.size() - i)]);
  from.resize(count);
  return from;
}

}  // namespace

absl::StatusOr<Attack> ParseAttack(absl::string_view name) {
  for (const auto& [attack, its_name] : kAttacks) {
    if (name == its_name) return attack;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\" is no attack; there are label, given and chosen"));
}

absl::string_view AttackName(Attack attack) {
  return std::find_if(std::begin(kAttacks), std::end(kAttacks),
                      [attack](const auto& entry) { return entry.attack == attack; })
      ->name;
}

std::vector<bool> DrawLiars(size_t devices, double share, PublicRandom& random) {
  std::vector<bool> lies(devices);
  auto left = static_cast<size_t>(std::llround(share * static_cast<double>(devices)));
  for (size_t i = 0; i < devices; ++i) {
    lies[i] = random.Below(devices - i) < left;
    if (lies[i]) --left;
  }
  return lies;
}

absl::StatusOr<Pusher> Pusher::Create(const LocalMechanism& mechanism, const LiarOptions& options) {
  if (options.target >= mechanism.domain().classes) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no class ", options.target, " to push"));
  }
  Pusher pusher(mechanism);
  pusher.target_ = options.target;
  pusher.chooses_ = options.attack == Attack::kChosen;
  const auto* symbols = dynamic_cast<const SymbolResponse*>(&mechanism);
  const auto* unary = dynamic_cast<const UnaryVector*>(&mechanism);
  const bool columns = symbols != nullptr && mechanism.kind() != MechanismKind::kDirect;
  if (pusher.chooses_ && !columns) {
    return absl::InvalidArgumentError(
        absl::StrCat(MechanismName(mechanism.kind()), " has no columns to choose from"));
  }
  if (symbols != nullptr) {
    double most = 0;
    for (uint32_t column = 0; column < mechanism.columns(); ++column) {
      const Push push = WorstSymbol(*symbols, column, options.target);
      pusher.payloads_.push_back(SymbolPayload(push.symbol, mechanism.payload_bytes()));
      if (push.strength <= most) continue;
      most = push.strength;
      pusher.worst_column_ = column;
    }
  } else if (unary != nullptr) {
    pusher.payloads_.push_back(UnaryPayload(*unary, options.target));
  } else if (mechanism.kind() != MechanismKind::kSubsetSelection) {
    return absl::InvalidArgumentError(
        absl::StrCat("liars of ", MechanismName(mechanism.kind()), " are simulated by label only"));
  }
  return pusher;
}

std::string Pusher::SetOfTarget(PublicRandom& random) const {
  const auto& sets = static_cast<const SubsetSelection&>(mechanism_);
  const Domain& domain = mechanism_.domain();
  std::vector<size_t> of_target, others;
  for (size_t cell = 0; cell < domain.cells(); ++cell) {
    (cell % domain.classes == target_ ? of_target : others).push_back(cell);
  }
  const size_t members = sets.members();
  std::vector<size_t> set =
      Draw(std::min<size_t>(members, domain.leaves), std::move(of_target), random);
  const std::vector<size_t> rest = Draw(members - set.size(), std::move(others), random);
  set.insert(set.end(), rest.begin(), rest.end());
  std::sort(set.begin(), set.end());
  std::string payload(mechanism_.payload_bytes(), '\0');
  for (size_t i = 0; i < set.size(); ++i) {
    if (sets.is_bitmap()) {
      FlipBit(payload, set[i]);
    } else {
      SetNumber(payload, sets.cell_bits(), i, static_cast<uint32_t>(set[i]));
    }
  }
  return payload;
}

absl::Status Pusher::SendInto(PublicRandom& random, absl::Span<int64_t> sums) const {
  if (payloads_.empty()) return mechanism_.Add(SetOfTarget(random), /*column=*/0, sums);
  const size_t column = chooses_ ? worst_column_ : random.Below(payloads_.size());
  return mechanism_.Add(payloads_[column], static_cast<uint32_t>(column), sums);
}

}  // namespace coppice
