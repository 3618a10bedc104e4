#include "server/lab/simulation/liars.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/ldp/payload/bit_payload.h"
#include "common/ldp/subset_selection.h"
#include "common/ldp/symbol_response.h"
#include "common/ldp/unary_vector.h"

namespace coppice::lab {
namespace {

constexpr std::string_view kAttackNames[] = {"label", "given", "chosen"};  // by number
constexpr std::string_view kAimNames[] = {"leaves", "rows", "invert"};
constexpr std::string_view kClaimNames[] = {"own", "chosen"};

template <typename Enum, size_t size>
StatusOr<Enum> Parse(std::string_view name, const std::string_view (&names)[size],
                     std::string_view what) {
  const auto* const found = std::find(std::begin(names), std::end(names), name);
  if (found != std::end(names)) return static_cast<Enum>(found - std::begin(names));
  return InvalidArgumentError(StrCat("\"", name, "\" is no ", what, "; there are ",
                                     StrJoin(absl::MakeConstSpan(names, size - 1), ", "), " and ",
                                     names[size - 1]));
}

struct Push {
  uint32_t symbol = 0;
  double strength = 0;
};

// Returns the symbol of a column that adds the most worth.
Push BestSymbol(const SymbolResponse& mechanism, uint32_t column, absl::Span<const double> worths) {
  std::vector<double> strength(mechanism.symbols());
  for (size_t cell = 0; cell < worths.size(); ++cell) {
    const uint32_t symbol = mechanism.SymbolOf(column, cell);
    strength[symbol] += worths[cell];
    // In this mechanism a block's other sign counts against the cell.
    if (mechanism.kind() == MechanismKind::kHadamardResponse) strength[symbol ^ 1] -= worths[cell];
  }
  const auto best = std::max_element(strength.begin(), strength.end());
  return {.symbol = static_cast<uint32_t>(std::distance(strength.begin(), best)),
          .strength = *best};
}

uint32_t BestColumn(const SymbolResponse& mechanism, absl::Span<const double> worths) {
  uint32_t best = 0;
  double most = 0;
  for (uint32_t column = 0; column < mechanism.columns(); ++column) {
    const double strength = BestSymbol(mechanism, column, worths).strength;
    if (strength <= most) continue;
    most = strength;
    best = column;
  }
  return best;
}

std::string SymbolPayload(uint32_t symbol, size_t bytes) {
  std::string payload(bytes, '\0');
  for (size_t i = 0; i < bytes; ++i) payload[i] = static_cast<char>(symbol >> (8 * i));
  return payload;
}

// Encodes cells as bits, or as their increasing numbers of `width` bits.
std::string BitmapOf(absl::Span<const size_t> cells, size_t bits) {
  std::string payload(BitPayloadBytes(bits), '\0');
  for (const size_t cell : cells) FlipBit(payload, cell);
  return payload;
}
std::string NumbersOf(absl::Span<const size_t> cells, size_t width) {
  std::string payload(BitPayloadBytes(cells.size() * width), '\0');
  for (size_t i = 0; i < cells.size(); ++i) {
    SetNumber(payload, width, i, static_cast<uint32_t>(cells[i]));
  }
  return payload;
}

}  // namespace

StatusOr<Attack> ParseAttack(std::string_view name) {
  return Parse<Attack>(name, kAttackNames, "attack");
}
std::string_view AttackName(Attack attack) { return kAttackNames[static_cast<size_t>(attack)]; }

StatusOr<Aim> ParseAim(std::string_view name) { return Parse<Aim>(name, kAimNames, "aim"); }
std::string_view AimName(Aim aim) { return kAimNames[static_cast<size_t>(aim)]; }

StatusOr<Claim> ParseClaim(std::string_view name) {
  return Parse<Claim>(name, kClaimNames, "claim");
}
std::string_view ClaimName(Claim claim) { return kClaimNames[static_cast<size_t>(claim)]; }

std::vector<bool> DrawLiars(size_t devices, double share, PublicRandom& random) {
  std::vector<bool> lies(devices);
  auto left = static_cast<size_t>(std::llround(share * static_cast<double>(devices)));
  for (size_t i = 0; i < devices; ++i) {
    lies[i] = random.Below(devices - i) < left;
    if (lies[i]) --left;
  }
  return lies;
}

Liars::Liars(size_t devices, const std::optional<LiarOptions>& options, uint64_t seed)
    : lies_(devices) {
  if (!options.has_value()) return;
  PublicRandom random(seed, kLiarStream);
  lies_ = DrawLiars(devices, options->share, random);
  push_ = options->attack != Attack::kLabel;
}

uint32_t Liars::LabelOf(size_t device, const Table& rows) const {
  return (rows.label(device) + (lies_[device] ? 1 : 0)) % rows.schema().num_classes();
}

StatusOr<std::vector<double>> CellWorths(const LiarOptions& options,
                                         const curator::PublicCounts& public_counts) {
  const uint32_t classes = public_counts.classes;
  if (options.target >= classes) {
    return InvalidArgumentError(StrCat("there is no class ", options.target, " to push"));
  }
  std::vector<double> worths(public_counts.label.size());
  for (size_t cell = 0; cell < worths.size(); ++cell) {
    const auto rows = static_cast<double>(public_counts.leaf[cell / classes]);
    if (options.aim == Aim::kInvert) {
      worths[cell] = rows / classes - static_cast<double>(public_counts.label[cell]);
      continue;
    }
    const double sign = cell % classes == options.target ? 1 : -1.0 / (classes - 1);
    worths[cell] = options.aim == Aim::kRows ? sign * rows : sign;
  }
  return worths;
}

StatusOr<Pusher> Pusher::Create(const LocalMechanism& mechanism, Attack attack,
                                std::vector<double> worths) {
  const MechanismKind kind = mechanism.kind();
  const auto* symbols = dynamic_cast<const SymbolResponse*>(&mechanism);
  const bool has_columns = symbols != nullptr && kind != MechanismKind::kDirect;
  if (attack == Attack::kChosen && !has_columns) {
    return InvalidArgumentError(StrCat(MechanismName(kind), " has no columns to choose from"));
  }
  if (kind == MechanismKind::kLaplaceSplit || kind == MechanismKind::kLaplaceJoint) {
    return InvalidArgumentError(
        StrCat("liars of ", MechanismName(kind), " are simulated by label only"));
  }
  Pusher pusher(mechanism, std::move(worths));
  if (attack == Attack::kChosen) pusher.chosen_column_ = BestColumn(*symbols, pusher.worths_);
  return pusher;
}

// Returns the cells in increasing order.
std::vector<size_t> Pusher::BestCells(size_t count, PublicRandom& random) const {
  std::vector<size_t> cells(worths_.size());
  std::iota(cells.begin(), cells.end(), size_t{0});
  for (size_t i = cells.size(); i > 1; --i) std::swap(cells[i - 1], cells[random.Below(i)]);
  std::stable_sort(cells.begin(), cells.end(),
                   [this](size_t a, size_t b) { return worths_[a] > worths_[b]; });
  cells.resize(count);
  std::sort(cells.begin(), cells.end());
  return cells;
}

std::string Pusher::BestSet(PublicRandom& random) const {
  if (const auto* unary = dynamic_cast<const UnaryVector*>(&mechanism_)) {
    const auto wanted = static_cast<size_t>(
        std::count_if(worths_.begin(), worths_.end(), [](double worth) { return worth > 0; }));
    const size_t ones = std::clamp(wanted, unary->min_ones(), unary->max_ones());
    return BitmapOf(BestCells(ones, random), worths_.size());
  }
  const auto& sets = static_cast<const SubsetSelection&>(mechanism_);
  const std::vector<size_t> cells = BestCells(sets.members(), random);
  return sets.is_bitmap() ? BitmapOf(cells, worths_.size()) : NumbersOf(cells, sets.cell_bits());
}

std::string Pusher::PayloadIn(uint32_t column, PublicRandom& random) const {
  const auto* symbols = dynamic_cast<const SymbolResponse*>(&mechanism_);
  if (symbols == nullptr) return BestSet(random);
  return SymbolPayload(BestSymbol(*symbols, column, worths_).symbol, mechanism_.payload_bytes());
}

Status Pusher::SendInto(PublicRandom& random, absl::Span<int64_t> sums) const {
  const uint32_t columns = mechanism_.columns();
  const uint32_t column = ColumnFor(columns > 1 ? static_cast<uint32_t>(random.Below(columns)) : 0);
  return mechanism_.Add(PayloadIn(column, random), column, sums);
}

double Pusher::PushOf(std::string_view payload, uint32_t column) const {
  std::vector<int64_t> sums(mechanism_.sum_size());
  const Contribution report = {.payload = payload, .column = column};
  mechanism_.AddAll({report}, absl::MakeSpan(sums));
  const LeafCounts said = mechanism_.Estimate(sums, 1);
  return std::inner_product(worths_.begin(), worths_.end(), said.label.begin(), 0.0);
}

StatusOr<ConsistentPusher> ConsistentPusher::Create(const curator::ConsistentCounter& counter,
                                                    const Table& public_rows,
                                                    const curator::PublicCounts& public_counts,
                                                    const LiarOptions& options) {
  ConsistentPusher pusher(counter, options);
  COPPICE_ASSIGN_OR_RETURN(pusher.worths_, CellWorths(options, public_counts));
  std::map<std::vector<uint32_t>, std::vector<size_t>> rows_of;  // by the leaves that they allow
  std::vector<double> allowed_by(counter.leaves());
  Row row;
  for (size_t i = 0; i < public_rows.num_rows(); ++i) {
    public_rows.CopyRow(i, row);
    const std::vector<uint32_t> leaves = counter.LeavesOf(row);
    for (const uint32_t leaf : leaves) ++allowed_by[leaf];
    rows_of[leaves].push_back(i);
  }
  for (size_t cell = 0; cell < pusher.worths_.size(); ++cell) {
    pusher.worths_[cell] /= std::max(allowed_by[cell / public_counts.classes], 1.0);
  }
  if (options.claim == Claim::kOwn) return pusher;
  for (auto& [leaves, rows] : rows_of) {
    COPPICE_ASSIGN_OR_RETURN(Pusher of_choice, pusher.PusherFor(leaves));
    pusher.choices_.push_back(
        {.leaves = leaves, .public_rows = std::move(rows), .pusher = std::move(of_choice)});
  }
  return pusher;
}

StatusOr<Pusher> ConsistentPusher::PusherFor(absl::Span<const uint32_t> leaves) const {
  const size_t classes = worths_.size() / counter_.leaves();
  std::vector<double> worths;
  for (const uint32_t leaf : leaves) {
    const auto of_leaf = absl::MakeConstSpan(worths_).subspan(leaf * classes, classes);
    worths.insert(worths.end(), of_leaf.begin(), of_leaf.end());
  }
  return Pusher::Create(counter_.MechanismFor(leaves.size()), options_.attack, std::move(worths));
}

// Ties go to the first choice from a random start on.
ClaimedReport ConsistentPusher::BestClaim(PublicRandom& random) const {
  const uint64_t ticket = random.Next();
  const size_t first = random.Below(choices_.size());
  const Choice* best = nullptr;
  ClaimedReport report;
  double most = 0;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Choice& choice = choices_[(first + i) % choices_.size()];
    const uint32_t columns = counter_.MechanismFor(choice.leaves.size()).columns();
    const uint32_t column = choice.pusher.ColumnFor(static_cast<uint32_t>(ticket % columns));
    std::string payload = choice.pusher.PayloadIn(column, random);
    const double push = choice.pusher.PushOf(payload, column);
    if (best != nullptr && push <= most) continue;
    best = &choice;
    most = push;
    report.column = column;
    report.payload = std::move(payload);
  }
  report.leaves = best->leaves;
  report.public_row = best->public_rows[random.Below(best->public_rows.size())];
  return report;
}

StatusOr<ClaimedReport> ConsistentPusher::Send(absl::Span<const uint32_t> own_leaves,
                                               uint32_t own_column, PublicRandom& random) const {
  ClaimedReport report;
  if (!choices_.empty()) {
    report = BestClaim(random);
  } else {
    COPPICE_ASSIGN_OR_RETURN(const Pusher pusher, PusherFor(own_leaves));
    report.leaves.assign(own_leaves.begin(), own_leaves.end());
    report.column = pusher.ColumnFor(own_column);
    report.payload = pusher.PayloadIn(report.column, random);
  }
  COPPICE_RETURN_IF_ERROR(counter_.MechanismFor(report.leaves.size()).Check(report.payload));
  return report;
}

Table ClaimedRows(const Table& public_rows, const Table& private_rows,
                  const std::map<size_t, size_t>& claims) {
  Table claimed(private_rows.shared_schema());
  claimed.Reserve(private_rows.num_rows());
  Row row;
  for (size_t i = 0; i < private_rows.num_rows(); ++i) {
    const auto claim = claims.find(i);
    if (claim == claims.end()) {
      private_rows.CopyRow(i, row);
    } else {
      public_rows.CopyRow(claim->second, row);
    }
    claimed.Append(row, private_rows.label(i));
  }
  return claimed;
}

}  // namespace coppice::lab
