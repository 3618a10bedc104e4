#include "common/ldp/symbol_response.h"

#include <bit>
#include <cmath>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/ldp/joint_counts.h"
#include "common/ldp/keep_rate.h"

namespace coppice {
namespace {

uint32_t SymbolIn(std::string_view payload) {
  uint32_t symbol = 0;
  for (size_t i = 0; i < payload.size(); ++i) {
    symbol |= uint32_t{static_cast<unsigned char>(payload[i])} << (8 * i);
  }
  return symbol;
}

}  // namespace

SymbolResponse::SymbolResponse(MechanismKind kind, const Budget& epsilon, const Domain& domain,
                               const Shape& shape)
    : LocalMechanism(kind, epsilon, domain),
      shape_(shape),
      bytes_(static_cast<size_t>(std::bit_width(shape.symbols - 1) + 7) / 8),
      keep_rate_(KeepRate(epsilon, 1, shape.symbols)),
      keep_(std::ldexp(static_cast<double>(keep_rate_), -kKeepRateBits)),
      q_(std::ldexp(static_cast<double>(kKeepAlways - keep_rate_), -kKeepRateBits) /
         shape.symbols) {}

// Proved for every map to symbols: tests/proofs/statements.v. The model draws and writes the same.
//
// Makes both draws whichever is sent: else the time that a report takes would tell truth from lie.
StatusOr<uint32_t> SymbolResponse::DrawSymbol(LeafLabel value, uint32_t column,
                                              PrivateRandom& random) const {
  COPPICE_ASSIGN_OR_RETURN(const bool kept, random.Bernoulli(keep_rate_, kKeepAlways));
  COPPICE_ASSIGN_OR_RETURN(const uint64_t any, random.UniformBelow(symbols()));
  const uint32_t truth = SymbolOf(column, CellOf(value, domain()));
  return kept ? truth : static_cast<uint32_t>(any);
}

Status SymbolResponse::Write(LeafLabel value, uint32_t column, PrivateRandom& random,
                             std::string& payload) const {
  COPPICE_ASSIGN_OR_RETURN(const uint32_t symbol, DrawSymbol(value, column, random));
  payload.resize(bytes_);
  for (size_t i = 0; i < bytes_; ++i) payload[i] = static_cast<char>(symbol >> (8 * i));
  return OkStatus();
}

Status SymbolResponse::Check(std::string_view payload) const {
  if (payload.size() != bytes_) {
    return InvalidArgumentError("the payload does not have the length of a symbol");
  }
  if (SymbolIn(payload) >= symbols()) {
    return InvalidArgumentError("the payload is a symbol that no honest device sends");
  }
  return OkStatus();
}

void SymbolResponse::AddAll(absl::Span<const Contribution> reports,
                            absl::Span<int64_t> sums) const {
  for (const Contribution& report : reports) {
    ++sums[size_t{report.column} * symbols() + SymbolIn(report.payload)];
  }
}

Status SymbolResponse::RandomizeInto(LeafLabel value, PrivateRandom& random,
                                     absl::Span<int64_t> sums) const {
  COPPICE_RETURN_IF_ERROR(CheckValue(value));
  COPPICE_ASSIGN_OR_RETURN(const uint64_t column, random.UniformBelow(columns()));
  COPPICE_ASSIGN_OR_RETURN(const uint32_t symbol,
                           DrawSymbol(value, static_cast<uint32_t>(column), random));
  ++sums[column * symbols() + symbol];
  return OkStatus();
}

double SymbolResponse::TwoSidedMass() const {
  return kMassRoundingUp / (std::exp(epsilon().epsilon()) + symbols() - 1);
}

StatusOr<double> SymbolResponse::LogOutputProbability(LeafLabel value, uint32_t column,
                                                      std::string_view payload) const {
  COPPICE_RETURN_IF_ERROR(CheckInput(value, column));
  COPPICE_RETURN_IF_ERROR(Check(payload));
  const uint32_t symbol = SymbolOf(column, CellOf(value, domain()));
  return std::log(SymbolIn(payload) == symbol ? p() : q());
}

}  // namespace coppice
