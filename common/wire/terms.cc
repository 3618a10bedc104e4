#include "common/wire/terms.h"

#include <memory>
#include <utility>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/merkle.h"
#include "common/wire/field_error.h"

namespace coppice {
namespace {

StatusOr<Terms> MakeTerms(TermsMessage message) {
  COPPICE_ASSIGN_OR_RETURN(Schema schema, MakeSchema(std::move(message.schema)));
  COPPICE_ASSIGN_OR_RETURN(const MechanismKind mechanism, MakeMechanismKind(message.mechanism));
  const StatusOr<Budget> epsilon = Budget::FromNanos(message.epsilon_nanos);
  if (!epsilon.ok()) return InField("epsilon_nanos", epsilon.status());
  Terms terms{.study = std::move(message.study),
              .schema = std::make_shared<const Schema>(std::move(schema)),
              .trees = message.trees,
              .forest_root = message.forest_root,
              .epsilon = *epsilon,
              .mechanism = mechanism,
              .rounding = message.rounding,
              .joined_by = std::move(message.joined_by),
              .window = message.window};
  COPPICE_RETURN_IF_ERROR(ValidateTerms(terms));
  return terms;
}

}  // namespace

StatusOr<MechanismKind> MakeMechanismKind(int32_t number) {
  for (const MechanismKind kind : AllMechanismKinds()) {
    if (static_cast<int32_t>(kind) == number) return kind;
  }
  return FieldError("mechanism", "must be set, to one that this version knows");
}

StatusOr<Terms> ReadTerms(std::string_view bytes) {
  StatusOr<TermsMessage> message = ReadFields<TermsMessage>(bytes);
  if (!message.ok()) return InField("terms", message.status());
  StatusOr<Terms> terms = MakeTerms(*std::move(message));
  if (!terms.ok()) return InField("terms", terms.status());
  return terms;
}

StatusOr<Tree> ReadStudyTree(std::string_view bytes, const Terms& terms) {
  COPPICE_ASSIGN_OR_RETURN(Tree tree, ReadTree(bytes, *terms.schema));
  COPPICE_RETURN_IF_ERROR(ValidateTree(terms, tree));
  return tree;
}

StatusOr<Tree> ReadProvenTree(const Terms& terms, uint32_t number, std::string_view bytes,
                              std::string_view path) {
  if (!VerifyMerklePath(bytes, number, terms.trees, path, terms.forest_root)) {
    return DataLossError(StrCat("what was sent is not tree ", number, " of the ", terms.trees,
                                " that the terms of study ", terms.study, " stand for"));
  }
  StatusOr<Tree> tree = ReadStudyTree(bytes, terms);
  if (!tree.ok()) return InField(ElementName("forest.trees", number), tree.status());
  return tree;
}

}  // namespace coppice
